"""Check the horizon against a table of quarter hours: midnights, clock changes, mixed resolutions, ties, gaps."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from warehouse.figures import horizon
from warehouse.market.clock import HOUR, instant
from warehouse.rows.versions import RowLabels
from warehouse.series.row_columns import RowColumns

QUARTER = 900
MIDNIGHTS = [
    instant(text)
    for text in (
        "2026-03-27T23:00:00Z",  # in Brussels; the next day has 23 hours
        "2026-10-23T22:00:00Z",  # the next day has 25
        "2026-12-30T23:00:00Z",
        "2026-06-14T22:00:00Z",
    )
]
STEPS = {"15m": QUARTER, "30m": 2 * QUARTER, "1h": HOUR}


def columns(rows: list[tuple[int, float, str, str]]) -> RowColumns:
    """Return the columns of rows of ts, value, resolution and source."""
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
"""Runs of one resolution, each followed by a number of missing quarter hours."""


QUARTERS = st.one_of(st.none(), st.integers(0, 200))
CLOCK = st.integers(0, 95).map(lambda n: n * 15)


@settings(deadline=None)
@given(
    st.sampled_from(MIDNIGHTS),
    PIECES,
    st.integers(0, 30 * HOUR),
    st.sampled_from([1, 4, 5, 8, 12, 16, 24, 32, 96]),
    st.one_of(st.none(), st.integers(1, 12)),
    QUARTERS,
    st.tuples(QUARTERS, st.booleans()),
    st.one_of(st.none(), st.tuples(CLOCK, CLOCK).filter(lambda pair: pair[0] != pair[1])),
    st.sampled_from(["lowest", "highest"]),
)
@example(MIDNIGHTS[1], [("1h", [0.1] * 49, 0)], 100, 12, None, None, (None, False), (1320, 420), "lowest")
@example(MIDNIGHTS[3], [("1h", [0.1] * 60, 0)], 100, 96, None, None, (None, False), (1320, 420), "lowest")
@example(MIDNIGHTS[0], [("30m", [0.1, 0.2, 0.3] * 30, 0)], 100, 5, 3, 7, (90, False), (150, 180), "lowest")
@example(MIDNIGHTS[0], [("1h", [9.0, 2.0, 2.0, 1.0, 1.0, 9.0], 0)], 0, 8, None, None, (None, False), None, "lowest")
def test_agrees_with_brute_force_over_quarter_hours(
    start: int,
    pieces: list[tuple[str, list[float], int]],
    later: int,
    quarters: int,
    slots: int | None,
    after: int | None,
    ends: tuple[int | None, bool],
    between: tuple[int, int] | None,
    kind: Any,
) -> None:
    """Find every block and slot in a table of quarter hours, with exact fractions and the civil time of day."""
    rows, at = [], start
    for resolution, values, missing in pieces:
        for value in values:
            rows.append((at, value, resolution, "north"))
            at += STEPS[resolution]
        at += missing * QUARTER
    now = start + later
    steps = {ts: STEPS[resolution] for ts, _, resolution, _ in rows}
    table = {ts + n: (ts, Fraction(repr(v))) for ts, v, r, _ in rows for n in range(0, STEPS[r], QUARTER)}
    ahead = horizon.known_ahead(columns([row for row in rows if now - HOUR <= row[0] < now + horizon.AHEAD]), now)
    if now - now % QUARTER not in table:
        assert ahead is None
        return
    assert ahead is not None
    running = table[now - now % QUARTER][0]
    begin = running if after is None else running + after * QUARTER
    end = None if ends[0] is None else begin + (ends[0] + 1) * QUARTER
    within = None if end is None or ends[1] else end - running
    wanted = horizon.WindowQuery(
        kind, quarters * QUARTER, slots, None if after is None else begin, None if within else end, within, between
    )
    found = horizon.find(ahead, wanted, "Europe/Brussels")

    until = running
    while until in table and (end is None or until < end):
        until += QUARTER
    last = max(table) + QUARTER
    assert (found.start, found.until, found.last) == (begin, until, last)
    assert found.complete == (begin < until == (last if end is None else end))
    assert now < ahead.valid_until
    assert {table[ahead.valid_until - QUARTER][0]} == {running}

    searched = {ts for ts in range(begin, until, QUARTER) if between is None or is_between(ts, between)}
    sign = 1 if kind == "lowest" else -1
    if slots is None:
        begins = [ts for ts in searched if table[ts][0] == ts or ts - QUARTER not in searched]
        options = {ts: list(range(ts, ts + quarters * QUARTER, QUARTER)) for ts in begins}
    else:
        options = {ts: list(range(ts, ts + steps[ts], QUARTER)) for ts in searched if ts in steps}
    options = {ts: parts for ts, parts in options.items() if searched.issuperset(parts)}
    means = {ts: sum(table[part][1] for part in parts) / len(parts) for ts, parts in options.items()}
    order = sorted(means, key=lambda ts: (sign * means[ts], ts))
    if len(order) < (slots or 1):
        assert found.members is None
        assert not (found.nothing_yet and searched)
        return
    assert found.members is not None
    part_takers = searched if slots is None else {part for parts in options.values() for part in parts}
    whole = sum(table[ts][1] for ts in part_takers) / len(part_takers)
    best = [part for ts in order[: slots or 1] for part in options[ts]]
    exact = sum(table[part][1] for part in best) / len(best)
    assert found.exact == exact
    if slots is None:
        assert (found.members["start"], found.members["end"]) == (order[0], order[0] + quarters * QUARTER)
        assert found.members["blocks"] == len(order)
        chosen: list[int] = []
        for ts in order:
            if all(abs(ts - other) >= quarters * QUARTER for other in chosen):
                chosen.append(ts)
        assert [block["start"] for block in found.members["alternatives"]] == chosen[1:4]
        for block in [found.members, *found.members["alternatives"]]:
            mean = means[block["start"]]
            assert block["mean"] == float(round(mean, 4))
            assert block["rank"] == 1 + sum(sign * other < sign * mean for other in means.values())
    else:
        assert [slot["start"] for slot in found.members["slots"]] == sorted(order[:slots])
    names = ("mean", "min", "max", "mean_of_horizon", "vs_horizon_mean", "vs_horizon_mean_pct")
    figures = {name: found.members[name] for name in names}
    values = [table[part][1] for part in best]
    assert figures == {
        "mean": float(round(exact, 4)),
        "min": float(min(values)),
        "max": float(max(values)),
        "mean_of_horizon": float(round(whole, 4)),
        "vs_horizon_mean": float(round(exact - whole, 4)),
        "vs_horizon_mean_pct": float(round(100 * (exact - whole) / whole, 1)) if whole >= 1 and exact >= 0 else None,
    }
    rank = 1 + sum(sign * mean < sign * means[running] for mean in means.values()) if running in means else None
    assert found.members["now"] == {"in_best": running in best, "rank": rank}


def is_between(ts: int, between: tuple[int, int]) -> bool:
    """Return whether a clock in Brussels shows a time of the range, from a list of the day's minutes."""
    shown = datetime.fromtimestamp(ts, ZoneInfo("Europe/Brussels"))
    first, second = between
    minutes = {(first + n) % 1440 for n in range((second - first) % 1440)}
    return shown.hour * 60 + shown.minute in minutes


def test_sources_and_unit_are_those_of_the_rows_from_the_running_one_on() -> None:
    """Exclude the row before the current interval, which would drop out of the window before that interval ends."""
    start = MIDNIGHTS[0]
    rows = [(start - HOUR, 1.0, "1h", "old"), (start, 2.0, "1h", "north"), (start + 9 * HOUR, 2.0, "1h", "east")]
    ahead = horizon.known_ahead(columns(rows), start)
    assert ahead is not None
    assert ahead.sources == ("east", "north")
    assert horizon.find(ahead, horizon.WindowQuery("lowest", HOUR), "UTC").until == start + HOUR


def test_every_clock_of_the_running_interval_finds_the_same() -> None:
    start = MIDNIGHTS[0]
    rows = [(start + n * HOUR, float(n), "1h", "north") for n in range(-2, 120)]

    def at(now: int) -> horizon.KnownAhead | None:
        window = horizon.window(now)
        return horizon.known_ahead(columns([row for row in rows if window.start <= row[0] < window.end]), now)

    assert at(start) is not None
    assert at(start) == at(start + 1) == at(start + HOUR - 1) != at(start + HOUR)
