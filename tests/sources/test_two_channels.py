"""Test ENTSO-E's two channels of a mix: a partial interval in one does not hide the complete one in the other."""

from __future__ import annotations

from pathlib import Path

from assets.parsing.mix import Code, MixByCode, extend_mix
from warehouse.market.clock import HOUR, Window, instant
from warehouse.market.vocabulary import Fuel
from warehouse.rows.schema import Rows
from warehouse.series import folding, month_versions
from warehouse.series.month_versions import Month
from warehouse.store import modes
from warehouse.store.storage import Folder

START = instant("2026-06-10T00:00Z")
RANKS = {"entsoe.mix": 1, "entsoe_files.mix": 2}


def response(hours: int, coal_hours: int) -> Rows:
    """Return the rows of a response in which coal has values for its first hours only."""
    rows, by_code = Rows(), MixByCode()
    for code, fuel, count, mw in (
        ("B05", Fuel.COAL, coal_hours, 100.0),
        ("B04", Fuel.GAS, hours, 200.0),
        ("B14", Fuel.NUCLEAR, hours, 600.0),
        ("B19", Fuel.WIND_ONSHORE, hours, 100.0),
    ):
        starts = [START + HOUR * number for number in range(count)]
        by_code.extend(Code("AT", fuel, code, "1h"), starts, [mw] * count)
    extend_mix(rows, by_code)
    return rows


def served(folder: Folder) -> dict[int, tuple[str, float]]:
    """Return the feed and value of each served estimate, by hour."""
    found = month_versions.read(folder, Month("carbon_estimate", "AT", "2026-06"))
    alive = found.take(found.superseded_at == -1)
    best: dict[int, tuple[str, float]] = {}
    for code, ts, value in zip(alive.label.tolist(), alive.ts.tolist(), alive.value.tolist(), strict=True):
        feed = alive.labels[code].feed
        if ts not in best or RANKS[feed] < RANKS[best[ts][0]]:
            best[ts] = feed, value
    return {(ts - START) // HOUR: own for ts, own in best.items()}


def fold(folder: Folder, feed: str, rows: Rows, hours: int) -> None:
    """Fold a response as a run does, and withdraw what the response refuses."""
    spans = {pair: [Window(ts, ts + 1) for ts in sorted(stamps)] for pair, stamps in rows.refused.items()}
    folding.fold(folder, feed, rows, spans, RANKS, START + hours * HOUR, "live")


def test_half_an_interval_of_one_channel_leaves_the_estimate_of_the_other(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    modes.ensure(folder, "live")
    fold(folder, "entsoe_files.mix", response(10, 10), 11)
    fold(folder, "entsoe.mix", response(10, 9), 12)
    found = served(folder)
    assert {hour: feed for hour, (feed, _) in found.items()} == {
        **dict.fromkeys(range(9), "entsoe.mix"),
        9: "entsoe_files.mix",
    }
    assert {value for _, value in found.values()} == {177.0}


def test_an_estimate_that_is_refused_later_is_withdrawn(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    modes.ensure(folder, "live")
    fold(folder, "entsoe.mix", response(10, 10), 11)
    assert len(served(folder)) == 10
    fold(folder, "entsoe.mix", response(10, 9), 12)
    assert set(served(folder)) == set(range(9))
