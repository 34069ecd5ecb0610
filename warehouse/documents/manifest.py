"""Publish which monthly files are served and what they contain: a document per metric and zone, and a summary.

A publication lists the files by stamp and opens only new and replaced ones. It writes only the documents of their
metrics and zones, so that the cost of a change does not grow with the years of other series. It also completes the
change log: a file that is not the one in its month's last entry is logged as a whole month.
"""

from __future__ import annotations

import hashlib
import io
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from warehouse.bookkeeping import logged
from warehouse.documents.manifest_entries import CountedFile, CountedMonths, Manifest, NetRows, Place, Summary
from warehouse.errors import DamagedFile, StorageError
from warehouse.market.further_zones import ID_OF_OUTSIDE
from warehouse.market.metrics import define
from warehouse.series import change_log, damaged, monthfile
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

_LOG = logging.getLogger("emds.warehouse")

T = TypeVar("T")


def publish(storage: Storage, now: int, final_after_days: Callable[[Place], int]) -> dict[Place, Summary]:
    """Bring the manifest up to date as of `now` (Unix seconds); return its summaries. Raises StorageError.

    Months that were counted and are gone are marked before the manifest drops them.
    """
    version, number = artefact.new_version(), change_log.newest_number(storage)
    before, logged_until = _summaries(storage)
    named = cache(lambda: change_log.files_since(storage, logged_until))
    summaries: dict[Place, Summary] = {}
    for place, stamps in _stamps(storage, before).items():
        known, final_after = before.get(place), final_after_days(place)
        if known is not None and known.mark == _mark(stamps):
            summaries[place] = replace(known, final_after_days=final_after)
            continue
        entries = load(storage, *place)
        counted = _count(storage, place, stamps, entries, now)
        with logged(layout.CHANGES) as following:
            _complete_log(storage, place, entries, counted, named)
        _mark_gone(storage, place, stamps, entries)
        if counted != entries and following.error is None:
            body = artefact.encode(CountedMonths(counted))
            artefact.put(storage, layout.manifest(*place), body, version)
        if counted:
            whole = {month: entry.stamp for month, entry in counted.items()} == stamps
            mark = _mark(stamps) if whole and following.error is None else ""
            summaries[place] = _summary(counted, mark, final_after)
    document = Manifest(now, number, {"/".join(place): summary for place, summary in summaries.items()})
    artefact.put(storage, layout.MANIFEST, artefact.encode(document), version)
    return summaries


def list_stamps(storage: Storage) -> dict[Place, dict[str, str]]:
    """Return the stamp of each monthly file by metric and zone, then month, from one listing. Raises StorageError."""
    found: dict[Place, dict[str, str]] = defaultdict(dict)
    for key, stamp in storage.listing(layout.series_prefix()).items():
        if layout.is_month_file(key):
            metric, zone, month, _ = layout.of_series(key)
            found[metric, zone][month] = stamp
    return found


def _stamps(storage: Storage, before: Mapping[Place, Summary]) -> dict[Place, dict[str, str]]:
    """Return `list_stamps`, with an empty entry for each metric and zone that had files before but has none now."""
    found = list_stamps(storage)
    return {place: found[place] for place in sorted({*found, *before})}


def _mark(stamps: Mapping[str, str]) -> str:
    return hashlib.sha256("".join(f"{month} {stamp}\n" for month, stamp in stamps.items()).encode()).hexdigest()[:16]


def _count(
    storage: Storage, place: Place, stamps: Mapping[str, str], before: Mapping[str, CountedFile], now: int
) -> dict[str, CountedFile]:
    """Return the entries of the readable files. Files that were counted before are not opened again."""
    counted: dict[str, CountedFile] = {}
    for month, stamp in stamps.items():
        entry = known = before.get(month)
        if entry is None or entry.stamp != stamp:
            try:
                entry = _count_file(storage, layout.series(*place, month), stamp, now)
                if entry is not None and known is not None and known.sha256 == entry.sha256:
                    entry = replace(entry, changed_at=known.changed_at)
            except DamagedFile as error:
                entry = None
                _LOG.error("not in the catalogue: %s", error)
            except StorageError as error:
                _LOG.error("counted as before: %s", error)
        if entry is not None:
            counted[month] = entry
    return counted


def _mark_gone(storage: Storage, place: Place, stamps: Mapping[str, str], before: Mapping[str, CountedFile]) -> None:
    for month in sorted(before.keys() - stamps.keys()):
        if before[month].rows:
            with logged(layout.DAMAGED):
                damaged.mark_gone(storage, layout.series(*place, month))


def _count_file(storage: Storage, key: str, stamp: str, now: int) -> CountedFile | None:
    """Count the contents of a file; return None if it is gone. A replaced file is counted by the next publication."""
    body = monthfile.whole(storage, key)
    if body is None:
        return None
    table = pq.ParquetFile(io.BytesIO(body)).read(columns=["ts", "feed", "counterparty", "link"], use_threads=False)
    is_net = pc.and_(pc.is_null(table.column("counterparty")), pc.is_null(table.column("link")))
    net, ends = table.column("ts").filter(is_net), pc.min_max(table.column("ts")).as_py()
    borders = table.filter(pc.invert(is_net))
    return CountedFile(
        stamp=stamp,
        file=monthfile.digest(body),
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        rows=table.num_rows,
        first=ends["min"],
        last=ends["max"],
        feeds=tuple(sorted(pc.unique(table.column("feed")).to_pylist())),
        net=NetRows(len(net), net[0].as_py(), net[-1].as_py()) if len(net) else NetRows(),
        borders=_last_of_each(borders) if len(borders) else {},
        changed_at=now,
    )


def _last_of_each(borders: pa.Table) -> dict[str, int]:
    """Return the newest `ts` of the rows of each counterparty."""
    rows = borders.select(["ts", "counterparty"]).group_by("counterparty").aggregate([("ts", "max")])
    pairs = zip(rows.column("counterparty").to_pylist(), rows.column("ts_max").to_pylist(), strict=True)
    return {name: ts for name, ts in sorted(pairs, key=str) if name is not None}


def _summary(entries: Mapping[str, CountedFile], mark: str, final_after_days: int) -> Summary:
    extents = [entry.net for _, entry in sorted(entries.items())]
    borders: dict[str, int] = {}
    for entry in entries.values():
        for written, ts in entry.borders.items():
            name = ID_OF_OUTSIDE.get(written, written)
            borders[name] = max(ts, borders.get(name, 0))
    return Summary(
        mark,
        len(entries),
        sum(net.rows for net in extents),
        next((net.first for net in extents if net.first is not None), None),
        next((net.last for net in reversed(extents) if net.last is not None), None),
        borders,
        final_after_days,
        min(entries),
    )


def _complete_log(
    storage: Storage,
    place: Place,
    before: Mapping[str, CountedFile],
    now: Mapping[str, CountedFile],
    named: Callable[[], Mapping[tuple[str, str, str], str]],
) -> None:
    """Log each month whose file differs from the last one that was logged. Raises StorageError.

    `named` returns the file in the newest entry of each month. The log covers actual values, not forecasts.
    """
    if define(place[0]).merge == "vintages":
        return
    for month in sorted({*before, *now}):
        former, file = (entries[month].file if month in entries else "" for entries in (before, now))
        if file != former and named().get((*place, month), former) != file:
            change_log.append(storage, change_log.whole_month(*place, month), file, int(time.time()))


def _summaries(storage: Storage) -> tuple[dict[Place, Summary], int]:
    """Return the summaries of the last publication, and the number up to which the log was compared with the files."""
    document = _load_or_none(storage, layout.MANIFEST, Manifest)
    return ({}, 0) if document is None else (document.summaries, document.logged_until)


def _load_or_none(storage: Storage, name: str, kind: type[T]) -> T | None:
    """Return a document of the manifest, None if it cannot be read: it only saves time."""
    try:
        return artefact.load_as(storage, name, kind)
    except StorageError as error:
        _LOG.warning("month files are counted again: %s", error)
        return None


def first_months(storage: Storage) -> dict[Place, str]:
    """Return the month of the earliest file of each metric and zone, as of the last publication."""
    return {place: summary.first_month for place, summary in _summaries(storage)[0].items()}


def load(storage: Storage, metric: str, zone: str) -> dict[str, CountedFile]:
    """Return the entry of each monthly file of a metric and zone, empty if the entries cannot be read."""
    document = _load_or_none(storage, layout.manifest(metric, zone), CountedMonths)
    return {} if document is None else dict(document.months)


def counted(storage: Storage) -> Iterator[tuple[str, CountedFile]]:
    """Yield key and entry of every monthly file that the last publication counted."""
    for place in _summaries(storage)[0]:
        for month, entry in load(storage, *place).items():
            yield layout.series(*place, month), entry


def missing(storage: Storage) -> list[str]:
    """Return the keys of served monthly files that are gone although their rows were counted or they have a history.

    The list is empty if the counts cannot be read or the files cannot be listed.
    """
    try:
        wanted = {key for key, entry in counted(storage) if entry.rows}
        for key in filter(layout.is_month_file, storage.keys(layout.history_prefix())):
            wanted.add(layout.series(*layout.of_series(key)[:3]))
        lost = wanted - set(storage.keys(layout.series_prefix())) - set(damaged.waiting(storage))
    except StorageError:
        return []
    return [key for key in sorted(lost) if damaged.is_gone(storage, key)]


def uncounted(storage: Storage) -> list[str]:
    """Return the keys of the served monthly files that the last publication could not count. Raises StorageError."""
    summaries = _summaries(storage)[0]
    keys: list[str] = []
    for place, stamps in _stamps(storage, summaries).items():
        known = summaries.get(place)
        if stamps and (known is None or not known.mark):
            entries = load(storage, *place)
            keys += [layout.series(*place, month) for month in stamps if month not in entries]
    return keys
