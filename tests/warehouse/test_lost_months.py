"""Month files that are gone are found by the last catalogue; what never was, or is there without rows, is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sources import sources
from warehouse import artefact, catalogue, damaged, layout, lost_months, series
from warehouse.market import Metric
from warehouse.schema import Rows
from warehouse.storage import Folder

START = 1_793_491_200
"""2026-11-01."""
RANKS = {"elexon.demand": 1}


def _publish(folder: Folder) -> None:
    catalogue.publish(folder, sources(), "simulated", (), tuple(sources()), START)


def _fold(folder: Folder, zone: str, border: str | None = None) -> None:
    rows = Rows()
    rows.add(zone, Metric.DEMAND, START, 30000.0, "MW", "30m", counterparty=border)
    series.fold(folder, "elexon.demand", rows, {}, RANKS, START, "simulated")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A month of GB with net rows, and one of France with a border's alone."""
    made = Folder(tmp_path)
    _fold(made, "GB")
    _fold(made, "FR", "GB")
    _publish(made)
    return made


GB, FR = (layout.series("demand", zone, "2026-11") for zone in ("GB", "FR"))


def test_what_lies_there_and_what_never_did_is_not_gone(folder: Folder, tmp_path: Path) -> None:
    assert lost_months.find(folder) == []
    assert lost_months.find(Folder(tmp_path / "empty")) == []


@pytest.mark.parametrize("key", [GB, FR])
def test_a_month_file_that_is_gone_is_found_and_noted_once(folder: Folder, key: str) -> None:
    folder.delete(key)
    assert lost_months.find(folder) == [key]
    assert lost_months.note(folder) == [key]
    assert lost_months.find(folder) == lost_months.note(folder) == []
    assert [damage.key for damage in damaged.pending(folder)] == [key]


def test_the_next_catalogue_notes_what_it_counts_no_more(folder: Folder) -> None:
    folder.delete(GB)
    _publish(folder)
    assert GB not in (artefact.load(folder, layout.SPANS) or {})
    assert [damage.key for damage in damaged.pending(folder)] == [GB]


def test_a_month_whose_rows_are_withheld_leaves_an_empty_file_that_nobody_misses(folder: Folder) -> None:
    assert series.resolve_again(folder, "demand", "GB", "2026-11", {})
    assert folder.stat(GB) is not None
    assert lost_months.find(folder) == []
    _publish(folder)
    folder.delete(GB)
    assert lost_months.find(folder) == [], "no row was served of it"


def test_a_file_that_was_set_aside_waits_for_its_repair_and_is_not_gone(folder: Folder) -> None:
    damaged.set_aside(folder, GB, "spoilt")
    assert lost_months.find(folder) == []


def test_what_lies_in_a_files_place_or_cannot_be_counted_is_not_gone(folder: Folder) -> None:
    folder.delete(GB)
    folder.path(GB).mkdir()
    assert lost_months.find(folder) == []
    folder.put(layout.published(layout.SPANS), b"torn")
    folder.delete(FR)
    assert lost_months.find(folder) == []
