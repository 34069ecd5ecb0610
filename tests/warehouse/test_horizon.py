"""The horizon of stored rows against a table of quarter hours: midnights, clock changes, mixed steps, ties, gaps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from warehouse.figures import horizon
from warehouse.market.clock import HOUR, MarketDay, instant, local_date
from warehouse.rows.versions import RowLabels
from warehouse.series.reader import RowColumns

QUARTER = 900
MIDNIGHTS = [
    instant(text)
    for text in (
        "2026-03-27T23:00:00Z",  # in Brussels; the day after has 23 hours
        "2026-10-23T22:00:00Z",  # the day after has 25
        "2026-12-30T23:00:00Z",
        "2026-06-14T22:00:00Z",
    )
]
STEPS = {"15m": QUARTER, "30m": 2 * QUARTER, "1h": HOUR}


def columns(rows: list[tuple[int, float, str, str]]) -> RowColumns:
    """Rows of ts, value, resolution, source."""
    labels = tuple(RowLabels("", "", "", "EUR/MWh", step, code, f"{code}.price") for _, _, step, code in rows)
    return RowColumns(
        labels,
        np.arange(len(rows), dtype=np.int32),
        np.array([ts for ts, *_ in rows], np.int64),
        np.array([value for _, value, *_ in rows], np.float64),
    )


VALUES = st.one_of(st.sampled_from([-20.5, -0.1, 0.0, 0.1, 0.2, 0.3, 50.0]), st.integers(-500, 4000).map(float))
PIECES = st.lists(
    st.tuples(
        st.sampled_from(sorted(STEPS)),
        st.lists(VALUES, min_size=1, max_size=26),
        st.sampled_from([0, 0, 0, 0, 1, 5]),
    ),
    min_size=1,
    max_size=5,
)
"""Runs of one resolution, and the quarter hours missing behind each."""


@settings(deadline=None)
@given(
    st.sampled_from(MIDNIGHTS),
    PIECES,
    st.integers(0, 30 * HOUR),
    st.sampled_from([1, 4, 5, 8, 12, 16, 24, 32, 96]),
    st.one_of(st.none(), st.integers(1, 200)),
    st.sampled_from(["lowest", "highest"]),
)
@example(MIDNIGHTS[1], [("1h", [0.1] * 49, 0)], 100, 12, None, "lowest")
def test_agrees_with_a_table_of_quarter_hours(
    start: int, pieces: list[tuple[str, list[float], int]], later: int, quarters: int, within: int | None, kind: Any
) -> None:
    rows, at = [], start
    for resolution, values, missing in pieces:
        for value in values:
            rows.append((at, value, resolution, "north"))
            at += STEPS[resolution]
        at += missing * QUARTER
    now = start + later
    table = {ts + n: (ts, Fraction(repr(v))) for ts, v, r, _ in rows for n in range(0, STEPS[r], QUARTER)}
    given_rows = [row for row in rows if now - HOUR <= row[0] < now + horizon.AHEAD]
    ahead = horizon.known_prices(columns(given_rows), now)
    slot = now - now % QUARTER
    if slot not in table:
        assert ahead is None
        return
    assert ahead is not None
    running = table[slot][0]
    found = horizon.best_blocks(ahead, quarters * QUARTER, None if within is None else within * QUARTER, kind)
    asked_until = None if within is None else running + within * QUARTER
    until = running
    while until in table and (asked_until is None or until < asked_until):
        until += QUARTER
    last = max(table) + QUARTER
    assert (found.start, found.until, found.last) == (running, until, last)
    assert found.complete == (until == (last if asked_until is None else asked_until))
    assert now < found.valid_until
    assert {table[found.valid_until - QUARTER][0]} == {running}
    begins = sorted({table[ts][0] for ts in range(running, until, QUARTER)})
    size = quarters * QUARTER
    means = {
        begin: sum(table[ts][1] for ts in range(begin, begin + size, QUARTER)) / quarters
        for begin in begins
        if begin + size <= until
    }
    if not means:
        assert found.blocks is None
        return
    assert found.blocks is not None
    sign = 1 if kind == "lowest" else -1
    order = sorted(means, key=lambda begin: (sign * means[begin], begin))
    assert (found.blocks["start"], found.blocks["end"]) == (order[0], order[0] + size)
    assert found.blocks["mean"] == float(round(means[order[0]], 4))
    assert found.blocks["blocks"] == len(order)
    assert found.blocks["now"]["rank"] == 1 + sum(sign * mean < sign * means[running] for mean in means.values())
    chosen: list[int] = []
    for begin in order:
        if all(abs(begin - other) >= size for other in chosen):
            chosen.append(begin)
    assert [block["start"] for block in found.blocks["alternatives"]] == chosen[1:4]
    for block in found.blocks["alternatives"]:
        mean = means[block["start"]]
        assert block["rank"] == 1 + sum(sign * other < sign * mean for other in means.values())


def test_a_block_across_midnight_and_the_hour_that_comes_twice() -> None:
    """Brussels, 25 October 2026: five hours from 23:00 on the day before are cheap in absolute time."""
    first = instant("2026-10-24T21:00:00Z")
    rows = [(first + n * HOUR, 1.0 if n < 5 else 9.0, "1h", "north") for n in range(26)]
    ahead = horizon.known_prices(columns(rows), first)
    assert ahead is not None
    found = horizon.best_blocks(ahead, 5 * HOUR, None, "lowest")
    assert found.blocks is not None
    assert (found.blocks["start"], found.blocks["end"]) == (first, instant("2026-10-25T02:00:00Z"))
    ends = [local_date(found.blocks[edge], "Europe/Brussels") for edge in ("start", "end")]
    assert [day.day for day in ends] == [24, 25]
    assert MarketDay(ends[1], "Europe/Brussels").window.seconds == 25 * HOUR


def test_sources_and_unit_are_those_of_the_rows_from_the_running_one_on() -> None:
    """What ran before is no part of the answer: it would leave it within the interval."""
    start = MIDNIGHTS[0]
    rows = [(start - HOUR, 1.0, "1h", "old"), (start, 2.0, "1h", "north"), (start + 9 * HOUR, 2.0, "1h", "east")]
    ahead = horizon.known_prices(columns(rows), start)
    assert ahead is not None
    assert (ahead.sources, ahead.feeds) == (("east", "north"), ("east.price", "north.price"))
    assert horizon.best_blocks(ahead, HOUR, None, "lowest").until == start + HOUR


def test_every_clock_of_the_running_interval_finds_the_same() -> None:
    start = MIDNIGHTS[0]
    rows = [(start + n * HOUR, float(n), "1h", "north") for n in range(-2, 120)]

    def at(now: int) -> horizon.KnownPrices | None:
        window = horizon.window(now)
        return horizon.known_prices(columns([row for row in rows if window.start <= row[0] < window.end]), now)

    assert at(start) is not None
    assert at(start) == at(start + 1) == at(start + HOUR - 1) != at(start + HOUR)
