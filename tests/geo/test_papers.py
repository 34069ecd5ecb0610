"""geo_data/README.md agrees with the tables and the code: counts, files, commands, attribution."""

from __future__ import annotations

import re
from pathlib import Path

import geo_data
from geo_data import build, records
from geo_data.recipe import INPUTS
from geo_data.terms import ATTRIBUTION

README = (Path(geo_data.__file__).parent / "README.md").read_text()


def test_counts_are_those_of_the_tables() -> None:
    plants = records.plants()
    assert f"{len(plants):,} plants of 250 MW and above" in README
    for source, heading in (
        ("EIA-860M", "U.S. EIA Form 860M"),
        ("powerplantmatching", "powerplantmatching"),
        ("OpenNEM", "OpenElectricity"),
    ):
        [row] = [line for line in README.splitlines() if line.startswith(f"| {heading}")]
        assert int(re.findall(r"\d+", row)[-1]) == sum(plant.source.startswith(source) for plant in plants)
    assert f"{len(records.mends())} corrections" in README
    assert f"{len(records.outside())} plants stand elsewhere" in README
    lines = records.interconnectors()
    inside = [line for line in lines if line.pair]
    assert f"{len(lines)} ties: {len(inside)} of {len({line.pair for line in inside})} zone pairs" in README
    assert f"{len(lines) - len(inside)} to areas outside" in README
    assert f"{sum(line.geometry_quality == 'approximate' for line in lines)} point-to-point links" in README


def test_every_table_verb_and_input_is_named() -> None:
    for path in records.TABLES.iterdir():
        assert path.name in README
    for verb in ("check", *build.VERBS):
        assert f"geo_data.build {verb}" in README
        assert f"geo_data.build {verb}" in str(build.__doc__)
    for source in INPUTS.values():
        package = re.fullmatch(r"(?:npm|PyPI) ([\w-]+) ([\d.]+): .*", source.package)
        assert package
        assert package[1] in README
        assert package[2] in README


def test_the_attribution_is_the_one_that_every_collection_carries() -> None:
    for text in ATTRIBUTION.values():
        assert f"> {text}" in README
