"""Model the series store in plain Python, and draw rows of GB's demand to fold into both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import strategies as st

from tests.stand_ins import stored_rows
from warehouse.market.clock import RESOLUTIONS, Window, month_of
from warehouse.rows.schema import SCHEMA, Row, Rows, SeriesKey
from warehouse.series import folding, month_versions
from warehouse.series.month_versions import Month

BASE = int(datetime(2026, 10, 31, 20, tzinfo=UTC).timestamp())
EVERYTHING = Window(BASE - 86400, BASE + 86400)
WIDE = Window(BASE - 30 * 86400, BASE + 86400)
FEEDS = ("one.fast", "two.slow", "two.daily", "three.back")
RANKS = {"one.fast": 1, "two.slow": 2, "two.daily": 2, "three.back": 9}
NET = (None, None, None)


@dataclass
class Version:
    """One version of a value, as the model knows it."""

    feed: str
    key: tuple
    ts: int
    value: float
    unit: str
    known_at: int
    estimate: tuple = (None, None, None)
    """The lower bound, the upper bound and the factor set."""
    superseded_at: int | None = None

    @property
    def end(self) -> int:
        return self.ts + RESOLUTIONS[self.key[3]]

    def row(self) -> tuple:
        fuel, counterparty, link, resolution = self.key
        return (
            self.ts,
            fuel,
            counterparty,
            link,
            self.value,
            self.unit,
            resolution,
            self.feed,
            self.known_at,
            *self.estimate,
        )


class Model:
    """All versions of one zone's metric in a list, with explicit rules for folding and resolving."""

    def __init__(self) -> None:
        self.versions: list[Version] = []

    def fold(self, feed, rows, spans, known_at) -> None:
        stated = {}
        for r in rows:
            stated[(r.fuel, r.counterparty, r.link, r.resolution), r.ts] = (r.value, r.unit, (r.low, r.high, r.factors))
        live = {(v.key, v.ts): v for v in self.versions if v.feed == feed and v.superseded_at is None}
        for place, old in live.items():
            if place not in stated and any(span.start <= old.ts < span.end for span in spans):
                old.superseded_at = known_at
        for (key, ts), (value, unit, estimate) in stated.items():
            old = live.get((key, ts))
            if old is not None and (old.value, old.unit, old.estimate) == (value, unit, estimate):
                continue
            if old is not None:
                old.superseded_at = known_at
            self.versions.append(Version(feed, key, ts, value, unit, known_at, estimate))
        self.versions = [v for v in self.versions if v.superseded_at is None or v.superseded_at > v.known_at]

    def served(self, ranks, at=None):
        """Return the rows that `read` returns, as known at `at`."""
        then = (
            [v for v in self.versions if v.superseded_at is None]
            if at is None
            else [v for v in self.versions if v.known_at <= at and (v.superseded_at is None or v.superseded_at > at)]
        )
        chosen = []
        for month in {month_of(v.ts) for v in then}:
            for border in (False, True):
                side = [v for v in then if month_of(v.ts) == month and (v.key[1:3] != (None, None)) is border]
                chosen += self.resolved(side, ranks)
        return sorted((v.row() for v in chosen), key=lambda row: (row[0], *(part or "" for part in row[1:4])))

    def resolved(self, side, ranks):
        taken: list[Version] = []
        for feed in sorted({v.feed for v in side if v.feed in ranks}, key=lambda f: (ranks[f], f)):
            own = finest([v for v in side if v.feed == feed])
            taken += [v for v in own if not any(overlap(v, other) for other in taken)]
        return taken


def finest(own):
    kept: list[Version] = []
    for v in sorted(own, key=lambda v: RESOLUTIONS[v.key[3]]):
        if not any(o.key[:3] == v.key[:3] and o.key[3] != v.key[3] and overlap(v, o) for o in kept):
            kept.append(v)
    return kept


def overlap(a, b):
    return a.ts < b.end and b.ts < a.end


def tuples(table: pa.Table) -> list[tuple]:
    """Return the rows of `table` in the form of `Version.row`."""
    assert table.schema.equals(SCHEMA)
    rows = table.to_pylist()
    assert all(r["source"] == r["feed"].split(".")[0] and r["superseded_at"] is None for r in rows)
    return [
        (
            r["ts"],
            r["fuel"],
            r["counterparty"],
            r["link"],
            r["value"],
            r["unit"],
            r["resolution"],
            r["feed"],
            r["known_at"],
            r["low"],
            r["high"],
            r["factors"],
        )
        for r in rows
    ]


identities = st.sampled_from(
    [NET, NET, ("wind", None, None), (None, "FR", None), (None, "FR", "ifa"), (None, "BE", None)]
)


@st.composite
def feed_rows(draw):
    """Draw the rows of a response: runs of one or two series, sometimes with gaps, repeats or another unit."""
    rows = []
    for _ in range(draw(st.integers(0, 3))):
        fuel, counterparty, link = draw(identities)
        resolution = draw(st.sampled_from(["15m", "15m", "30m", "1h"]))
        step = RESOLUTIONS[resolution]
        first = BASE + draw(st.integers(0, 8)) * 3600
        unit = draw(st.sampled_from(["MW", "MW", "MW", "GW"]))
        factors = draw(st.sampled_from([None, None, "set-1", "set-2"]))
        low, high = draw(st.sampled_from([(0.0, 4.0), (0.0, 5.0), (-1.0, 4.0)])) if factors else (None, None)
        stated = enumerate(draw(st.lists(st.sampled_from([None, 0.0, 1.0, 2.0, 3.5]), max_size=10)))
        rows += [
            Row(
                "GB",
                "demand",
                fuel,
                counterparty,
                link,
                first + i * step,
                v,
                unit,
                resolution,
                None,
                None,
                low,
                high,
                factors,
            )
            for i, v in stated
            if v is not None
        ]
    return rows


@st.composite
def spans(draw):
    """Draw up to two ranges that the responses cover, in whole hours around the turn of the month."""
    return [
        Window(BASE + first * 3600, BASE + (first + hours) * 3600)
        for first, hours in draw(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), max_size=2))
    ]


def fold(folder, feed, start, values, resolution="1h", known_at=1, spans=(), ranks=RANKS, metric="demand", **key):
    """Fold consecutive values of one series of GB, and withdraw the stored values that `spans` cover and `values`
    omits.
    """
    step = RESOLUTIONS[resolution]
    rows = Rows()
    rows.extend(
        SeriesKey("GB", metric, "MW", resolution, **key),
        [start + i * step for i in range(len(values))],
        [float(v) for v in values],
    )
    return folding.fold(folder, feed, rows, {("GB", metric): spans} if spans else {}, ranks, known_at, "live")


def values(folder, window=EVERYTHING):
    """Return the served values of GB's demand."""
    return stored_rows.read(folder, "GB", "demand", window).column("value").to_pylist()


def spelled(month):
    """Return the versions of `month` in a form to compare, whatever their order and label numbers."""
    return sorted(
        (tuple(part or "" for part in month.labels[s]), *rest)
        for s, *rest in zip(
            month.label.tolist(),
            month.ts.tolist(),
            month.value.tolist(),
            month.known_at.tolist(),
            month.superseded_at.tolist(),
            [None] * len(month) if month.bounds is None else [str(pair) for pair in month.bounds.tolist()],
            strict=True,
        )
    )


def resolve_again(folder, place, ranks, terms=None):
    """Resolve the month again after a change of ranks or redistribution permissions."""
    month_versions.update(folder, Month(*place), lambda stored: stored.versions, ranks, "live", terms=terms)
