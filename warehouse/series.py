"""The series store: `fold` rows into month files, `read` a window back.

Ranks and finest intervals are `warehouse.resolve`'s business, the two files of a month `warehouse.vintages`'.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse import layout, monthfile, resolve, vintages
from warehouse.clock import DAY, SPREAD, Window, month_window, months
from warehouse.monthfile import LIVE, Flags, Ints, RowLabels, Versions
from warehouse.schema import SCHEMA, Readings, Rows, SeriesKey
from warehouse.storage import Storage
from warehouse.vintages import Month


@dataclass(frozen=True, slots=True)
class Folded:
    """What one fold did to one month of a zone's metric; counts of rows."""

    zone: str
    metric: str
    month: str
    added: int
    changed: int
    evicted: int
    unchanged: int
    healed: bool = False
    """Whether a killed fold had left the month half written."""

    @property
    def wrote(self) -> bool:
        return bool(self.added or self.changed or self.evicted or self.healed)


def fold(
    storage: Storage,
    feed: str,
    rows: Rows,
    covered: Mapping[tuple[str, str], Sequence[Window]],
    ranks: Mapping[str, int],
    known_at: int,
) -> list[Folded]:
    """Puts a feed's rows into the month files; returns what it did, month by month.

    `covered` names, per (zone, metric), the spans that the answers cover whole: there the feed's own rows that are no
    longer stated are superseded. Elsewhere rows are only added or corrected. Nothing of another feed changes. A month
    whose rows are all known already is not written. Raises StorageError when a lock is not had.
    """
    work: dict[tuple[str, str, str], list[tuple[SeriesKey, Ints, np.ndarray]]] = defaultdict(list)
    for key, strip in rows.strips.items():
        for month, ts, values in _by_month(strip):
            work[key.metric, key.zone, month].append((key, ts, values))
    for (zone, metric), spans in covered.items():
        for span in spans:
            for month in months(span):
                work.setdefault((metric, zone, month), [])
    done = []
    for (metric, zone, month), strips in sorted(work.items()):
        new = _versions(feed, strips, known_at)
        place = Month(metric, zone, month)
        done.append(_fold_month(storage, feed, place, new, covered.get((zone, metric), ()), ranks, known_at))
    return done


def _by_month(strip: Readings) -> Iterable[tuple[str, Ints, np.ndarray]]:
    ts = np.asarray(strip.ts, np.int64)
    values = np.asarray(strip.values, np.float64)
    if not len(ts):
        return
    for month in months(Window(int(ts.min()), int(ts.max()) + 1)):
        window = month_window(month)
        inside = (ts >= window.start) & (ts < window.end)
        if inside.any():
            yield month, ts[inside], values[inside]


def _versions(feed: str, strips: Sequence[tuple[SeriesKey, Ints, np.ndarray]], known_at: int) -> Versions:
    """The strips as live versions; of two readings of one slot and instant the later stated stays."""
    if not strips:
        return monthfile.empty()
    source = feed.split(".", 1)[0]
    labels = tuple(RowLabels(k.fuel, k.counterparty, k.link, k.unit, k.resolution, source, feed) for k, _, _ in strips)
    label = np.repeat(np.arange(len(strips)), [len(ts) for _, ts, _ in strips])
    ts = np.concatenate([ts for _, ts, _ in strips])
    value = np.concatenate([values for _, _, values in strips])
    lanes = _lanes(labels)[label] * SPREAD + ts
    _, last = np.unique(lanes[::-1], return_index=True)
    chosen = np.sort(len(ts) - 1 - last)
    count = len(chosen)
    return Versions(labels, label[chosen], ts[chosen], value[chosen], np.full(count, known_at), np.full(count, LIVE))


def _lanes(labels: Sequence[RowLabels]) -> Ints:
    """A number per slot, equal where only the unit differs: a new currency replaces the old value."""
    found: dict[tuple[str | None, ...], int] = {}
    return np.array(
        [found.setdefault((s.fuel, s.counterparty, s.link, s.resolution, s.feed), len(found)) for s in labels], np.int64
    )


def _fold_month(
    storage: Storage,
    feed: str,
    place: Month,
    new: Versions,
    spans: Sequence[Window],
    ranks: Mapping[str, int],
    known_at: int,
) -> Folded:
    with storage.locked([layout.series(*place)]):
        old, torn = vintages.all_of(storage, place)
        merged, counts = _merge(old, new, feed, spans, known_at)
        if torn or any(counts[:3]):
            vintages.store(storage, place, merged, ranks)
    return Folded(place.zone, place.metric, place.month, *counts, healed=torn)


def _merge(
    old: Versions, new: Versions, feed: str, spans: Sequence[Window], known_at: int
) -> tuple[Versions, tuple[int, int, int, int]]:
    """Old and new versions together, and how many were added, changed, evicted and unchanged."""
    both = monthfile.concat([old, new])
    count = len(old)
    lane = _lanes(both.labels)[both.label] * SPREAD + both.ts
    own = np.array([s.feed == feed for s in both.labels] or [False])[both.label[:count]]
    live = np.flatnonzero(own & (old.superseded_at == LIVE))
    match = _matches(lane, live, count)
    found = match >= 0
    same = found.copy()
    same[found] = (both.value[match[found]] == new.value[found]) & (
        both.label[match[found]] == both.label[count:][found]
    )
    gone = live[~np.isin(live, match) & _within(both.ts[live], spans)]
    superseded = both.superseded_at.copy()
    superseded[match[found & ~same]] = known_at
    superseded[gone] = known_at
    # A version replaced within the second in which it came was never anybody's answer.
    seen = (superseded == LIVE) | (superseded > both.known_at)
    chosen = seen & np.concatenate([np.ones(count, np.bool_), ~same])
    merged = Versions(both.labels, both.label, both.ts, both.value, both.known_at, superseded).take(chosen)
    return merged, (int((~found).sum()), int((found & ~same).sum()), len(gone), int(same.sum()))


def _matches(lane: Ints, live: Ints, count: int) -> Ints:
    """Per new version (those from `count` on), the index of the live old version of its lane and instant, or -1."""
    live = live[np.argsort(lane[live], kind="stable")]
    match = np.full(len(lane) - count, -1)
    if len(live):
        place = np.minimum(np.searchsorted(lane[live], lane[count:]), len(live) - 1)
        hit = lane[live[place]] == lane[count:]
        match[hit] = live[place[hit]]
    return match


def _within(ts: Ints, spans: Sequence[Window]) -> Flags:
    inside = np.zeros(len(ts), np.bool_)
    for span in spans:
        inside |= (ts >= span.start) & (ts < span.end)
    return inside


def resolve_again(storage: Storage, metric: str, zone: str, month: str, ranks: Mapping[str, int]) -> bool:
    """Resolves a month anew, after ranks or rights changed; whether what is served changed."""
    key = layout.series(metric, zone, month)
    with storage.locked([key]):
        before = storage.stat(key)
        place = Month(metric, zone, month)
        vintages.store(storage, place, vintages.all_of(storage, place)[0], ranks)
        return storage.stat(key) != before


def read(storage: Storage, zone: str, metric: str, window: Window) -> pa.Table:
    """The rows served in `[start, end)` by `ts`, in SCHEMA's columns, ascending by ts, fuel, counterparty, link.

    Opens only the month files that the window touches. Net and border rows both; `net` and `borders` part them.
    """
    tables = (monthfile.read(storage, layout.series(metric, zone, month)) for month in months(window))
    return cut(_joined([table for table in tables if table is not None]), window)


def read_as_of(storage: Storage, zone: str, metric: str, window: Window, at: int, ranks: Mapping[str, int]) -> pa.Table:
    """The rows of a window as this warehouse knew them at an instant."""
    parts = []
    for month in months(window):
        then = resolve.known(vintages.witnessed(storage, Month(metric, zone, month)), at)
        chosen = then.take(resolve.served(then, ranks))
        if len(chosen):
            parts.append(monthfile.decode(monthfile.encode(chosen, zone, metric), layout.series(metric, zone, month)))
    return cut(_joined(parts), window)


def _joined(parts: list[pa.Table]) -> pa.Table:
    """One table of plain string columns: dictionaries differ from file to file."""
    if not parts:
        return SCHEMA.empty_table()
    return pa.concat_tables([part.cast(SCHEMA) for part in parts]) if len(parts) > 1 else parts[0].cast(SCHEMA)


def cut(table: pa.Table, window: Window) -> pa.Table:
    """The rows of a table sorted by ts that lie in a window; no copy."""
    ts = table.column("ts").to_numpy()
    first, last = np.searchsorted(ts, [window.start, window.end])
    return table.slice(int(first), int(last - first))


def net(table: pa.Table) -> pa.Table:
    """Only a zone's own rows: no border, no tie."""
    return table.filter(pc.and_(pc.is_null(table.column("counterparty")), pc.is_null(table.column("link"))))


def borders(table: pa.Table) -> pa.Table:
    """Only the rows of borders and ties."""
    return table.filter(pc.or_(pc.is_valid(table.column("counterparty")), pc.is_valid(table.column("link"))))


def newest(storage: Storage, zone: str, metric: str, at: int, back_days: int = 62) -> pa.Table:
    """The net rows of the last interval that has begun at an instant (one row; all fuels of a mix); empty where none in `back_days`."""
    for month in reversed(months(Window(max(0, at - back_days * DAY), at + 1))):
        table = monthfile.read(storage, layout.series(metric, zone, month))
        if table is None:
            continue
        begun = net(cut(table, Window(0, at + 1)))
        if begun.num_rows:
            last = begun.column("ts")[begun.num_rows - 1].as_py()
            return cut(begun, Window(last, last + 1)).cast(SCHEMA)
    return SCHEMA.empty_table()


def held(storage: Storage, metric: str = "", zone: str = "") -> list[tuple[str, str, str]]:
    """Every (metric, zone, month) that has a file, served or history."""
    keys = storage.keys(layout.series_prefix(metric, zone))
    return sorted({layout.of_series(key)[:3] for key in keys if key.endswith(".parquet")})
