"""Ids agree across the project: each tie id of a publisher becomes the link of its line on the map."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from geo_data import records
from warehouse.market import Fuel
from warehouse.zones import ZONES

SOURCES = Path(__file__).resolve().parents[2] / "assets" / "sources"
LINES = {line.id: line for line in records.interconnectors()}
COLUMNS = {"elexon": "elexon_name", "aemo": "aemo_id", "nyiso": "nyiso_id", "isone": "isone_id", "ercot": "ercot_id"}
TIES = [
    (source, getattr(line, column), line.id)
    for line in LINES.values()
    for source, column in COLUMNS.items()
    if getattr(line, column)
]


def entries(source: str) -> Iterator[tuple[str, set[str]]]:
    """Every key of a dict literal in a source's files, with the strings in its value."""
    for path in (*SOURCES.glob(f"{source}.py"), *SOURCES.glob(f"{source}/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield (
                            key.value,
                            {
                                n.value
                                for n in ast.walk(value)
                                if isinstance(n, ast.Constant) and isinstance(n.value, str)
                            },
                        )


@pytest.mark.parametrize(("source", "tie", "link"), TIES, ids=lambda value: str(value))
def test_a_publishers_tie_becomes_the_link_of_its_line(source: str, tie: str, link: str) -> None:
    assert any(key == tie and link in strings for key, strings in entries(source)), (
        f"{source} does not turn {tie!r} into {link}"
    )


@pytest.mark.parametrize("source", COLUMNS)
def test_a_source_writes_no_link_between_our_zones_that_the_map_lacks(source: str) -> None:
    """A link in a source's table beside one of our zones is an id of the map."""
    for key, strings in entries(source):
        links = {
            text
            for text in strings
            if text.count("-") >= 2 and text == text.lower() and not text[0].isdigit() and " " not in text
        }
        if strings & set(ZONES):
            assert links <= set(LINES), f"{source}: {key}"


def test_pairs_join_flows_that_are_published_by_border() -> None:
    for line in LINES.values():
        assert line.pair.split("_") == sorted((line.from_zone, line.to_zone))


def test_plants_speak_the_fuels_of_generation_and_capacity() -> None:
    used = {fuel for plant in records.plants() for fuel, _ in plant.shares()}
    assert used <= {str(fuel) for fuel in Fuel} - {"imports"}
    assert {plant.zone for plant in records.plants()} == set(ZONES)
