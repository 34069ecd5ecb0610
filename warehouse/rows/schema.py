"""Define the schema of a series row, and `Rows`, the columns that a parser fills.

The choice between two rows is in `rows.resolve`, the validation of values in `judge.quality`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from warehouse.errors import FeedChanged
from warehouse.market.clock import RESOLUTIONS
from warehouse.rows.versions import Flags, Ints

SCHEMA = pa.schema(
    [
        pa.field("zone", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("fuel", pa.string()),
        pa.field("counterparty", pa.string()),
        pa.field("link", pa.string()),
        pa.field("ts", pa.int64(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("unit", pa.string(), nullable=False),
        pa.field("resolution", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("feed", pa.string(), nullable=False),
        pa.field("known_at", pa.int64(), nullable=False),
        pa.field("superseded_at", pa.int64()),
        pa.field("published_at", pa.int64()),
        pa.field("basis", pa.string()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("factors", pa.string()),
    ]
)
"""A row of a series. `ts` is the interval's start in Unix seconds UTC. `counterparty` is null for the zone's net.

Only forecasts have `published_at` and its `basis` (`warehouse.rows.forecasts`). Only estimates have `low`, `high` (the
bounds of `value`, in its unit) and `factors` (the ID of the set of factors). For other rows, these are null.
"""

Bounds = tuple[float, float]
"""The `low` and `high` of an estimate."""


Basis = Literal["body", "name", "fetched"]
"""The source of a forecast's publication time: a field of the response, the file's name, or the response's time."""


class SeriesKey(NamedTuple):
    """The values that all rows of a series, or of a forecast's vintage, share. None means that one does not apply."""

    zone: str
    metric: str
    unit: str
    resolution: str
    fuel: str | None = None
    counterparty: str | None = None
    link: str | None = None
    published_at: int | None = None
    """The publication time of a forecast, if its publisher states it, in Unix seconds."""
    basis: str | None = None
    factors: str | None = None
    """The ID of the set of factors behind an estimate."""


class Row(NamedTuple):
    """A canonical reading from a parser."""

    zone: str
    metric: str
    fuel: str | None
    counterparty: str | None
    link: str | None
    ts: int
    value: float
    unit: str
    resolution: str
    published_at: int | None = None
    basis: str | None = None
    low: float | None = None
    high: float | None = None
    factors: str | None = None


@dataclass(slots=True)
class Readings:
    """The readings of a key: parallel columns of interval starts and values, in the order of the response.

    `bounds` is an additional column of estimates, whose key names `factors`. It is None for all other series.
    """

    ts: list[int]
    values: list[float]
    bounds: list[Bounds] | None = None

    def take(self, chosen: Flags) -> Readings:
        """Return the chosen readings."""
        among = chosen.tolist()
        bounds = None if self.bounds is None else list(compress(self.bounds, among))
        return Readings(list(compress(self.ts, among)), list(compress(self.values, among)), bounds)

    def extend(self, ts: Sequence[int], values: Sequence[float], bounds: Sequence[Bounds] | None) -> None:
        """Append readings of the same series; -0.0 becomes 0.0."""
        self.ts.extend(ts)
        self.values.extend([value + 0.0 for value in values] if 0.0 in values else values)
        if bounds is not None:
            self.bounds = [*(self.bounds or ()), *bounds]

    def newest(self) -> Readings:
        """Return the readings; of several readings of an interval, only the last one stays."""
        places = {ts: place for place, ts in enumerate(self.ts)}
        bounds = None if self.bounds is None else [self.bounds[place] for place in places.values()]
        return Readings([*places], [self.values[place] for place in places.values()], bounds)


class Member(NamedTuple):
    """A member of a growing list (an interconnector, a fuel, a region, a provider) that this service does not know."""

    zone: str
    """Empty if the response does not name the zone."""
    metric: str
    name: str
    """The type of member and the publisher's name for it: `interface 'SCH - HQ_CHPE'`."""


class Rows:
    """The contents of a response: readings by series, dropped readings counted by reason, and `refused` times.

    At a refused time, the reading of a zone's metric is known to be wrong, or a sum lacks an unknown member. The rows
    of an earlier version of the parser are then withdrawn. `unknown` has the times of the readings of unknown members,
    which are not rows (`assets.parsing.members`).

    Two readings of a key and time with equal values become one. If the values differ, both stay, and
    `warehouse.judge.quality` quarantines them. A value that is not finite means a broken response, never a row.
    """

    __slots__ = ("dropped", "notices", "readings", "refused", "unknown")

    def __init__(self) -> None:
        self.readings: dict[SeriesKey, Readings] = {}
        self.dropped: Counter[str] = Counter()
        self.refused: dict[tuple[str, str], set[int]] = {}
        """By zone and metric."""
        self.unknown: dict[Member, set[int]] = {}
        self.notices: set[str] = set()
        """Announcements of a publisher for the operator, such as the end of an interface."""

    def add(
        self,
        zone: str,
        metric: str,
        ts: int,
        value: float,
        unit: str,
        resolution: str,
        fuel: str | None = None,
        counterparty: str | None = None,
        link: str | None = None,
    ) -> None:
        """Add a reading. Raises FeedChanged for a value that is not finite."""
        if not math.isfinite(value):
            raise FeedChanged(f"{zone} {metric}: invalid value {value} at {ts}")
        readings = self._of(SeriesKey(zone, metric, unit, resolution, fuel, counterparty, link))
        readings.ts.append(ts)
        readings.values.append(value + 0.0)  # -0.0 becomes 0.0

    def extend(
        self, key: SeriesKey, ts: Sequence[int], values: Sequence[float], bounds: Sequence[Bounds] | None = None
    ) -> None:
        """Add many readings of one key at once. Raises FeedChanged for a value or a bound that is not finite.

        Estimates have `bounds`, one pair for each value, and their key names the `factors`.
        """
        if len(ts) != len(values) or (bounds is not None and len(bounds) != len(ts)):
            raise ValueError("ts, values and bounds differ in length")
        if (bounds is None) != (key.factors is None):
            raise ValueError(f"{key.zone} {key.metric}: an estimate has both bounds and factors")
        if not all(map(math.isfinite, values)) or not all(map(math.isfinite, chain.from_iterable(bounds or ()))):
            raise FeedChanged(f"{key.zone} {key.metric}: a value is not finite")
        self._of(key).extend(ts, values, bounds)

    def extend_vintage(
        self, key: SeriesKey, published_at: int, basis: Basis, ts: Sequence[int], values: Sequence[float]
    ) -> None:
        """Add a forecast published at `published_at`; count and drop the intervals that were over by then.

        Raises FeedChanged for a value that is not finite.
        """
        step = RESOLUTIONS[key.resolution]
        ahead = [(at, value) for at, value in zip(ts, values, strict=True) if at + step > published_at]
        if len(ahead) < len(ts):
            self.dropped["forecast of an interval that is over"] += len(ts) - len(ahead)
        if ahead:
            dated = key._replace(published_at=published_at, basis=basis)
            self.extend(dated, [at for at, _ in ahead], [value for _, value in ahead])

    def refuse(self, zone: str, metric: str, instants: Iterable[int]) -> None:
        """Record that the response's readings at these times are known to be wrong."""
        if stamps := set(instants):
            self.refused.setdefault((zone, metric), set()).update(stamps)

    def note_unknown(self, member: Member, instants: Iterable[int]) -> None:
        """Record that the response has readings of a member that this service does not know."""
        self.unknown.setdefault(member, set()).update(instants)

    def merge(self, other: Rows) -> None:
        """Add the rows, drop counts, refusals, unknown members and notices of another response."""
        self.merge_notes(other)
        for key, readings in other.readings.items():
            self._of(key).extend(readings.ts, readings.values, readings.bounds)

    def merge_notes(self, other: Rows) -> None:
        """Add what another response states besides rows: drop counts, refusals, unknown members and notices."""
        for (zone, metric), stamps in other.refused.items():
            self.refuse(zone, metric, stamps)
        for member, stamps in other.unknown.items():
            self.note_unknown(member, stamps)
        self.dropped.update(other.dropped)
        self.notices |= other.notices

    def _of(self, key: SeriesKey) -> Readings:
        readings = self.readings.get(key)
        if readings is None:
            if key.resolution not in RESOLUTIONS:
                raise FeedChanged(f"unknown resolution {key.resolution!r}")
            readings = self.readings[key] = Readings([], [])
        return readings

    def __len__(self) -> int:
        return sum(len(s.ts) for s in self.readings.values())

    def __iter__(self) -> Iterator[Row]:
        for k, readings in self.readings.items():
            bounds: Iterable[tuple[float | None, float | None]] = readings.bounds or repeat(
                (None, None), len(readings.ts)
            )
            for ts, value, (low, high) in zip(readings.ts, readings.values, bounds, strict=True):
                labels = (k.unit, k.resolution, k.published_at, k.basis, low, high, k.factors)
                yield Row(k.zone, k.metric, k.fuel, k.counterparty, k.link, ts, value, *labels)

    def split(self, wrong: Callable[[SeriesKey, Ints], Flags]) -> tuple[Rows, Rows]:
        """Return two parts: rows for which `wrong` (by key and starts) is false, with all notes, and the other rows."""
        right, aside = Rows(), Rows()
        right.merge_notes(self)
        for key, readings in self.readings.items():
            bad = wrong(key, np.asarray(readings.ts, np.int64))
            for rows, chosen in ((right, ~bad), (aside, bad)):
                if chosen.any():
                    rows.readings[key] = readings.take(chosen)
        return right, aside

    def sorted(self) -> list[Row]:
        """Return the distinct rows in canonical order: zone, metric, ts, fuel, counterparty, link, published_at."""
        return sorted(set(self), key=_canonical)


def _canonical(r: Row) -> tuple[str, str, int, str, str, str, int, str, float]:
    place = (r.fuel or "", r.counterparty or "", r.link or "")
    return r.zone, r.metric, r.ts, *place, r.published_at or 0, r.resolution, r.value
