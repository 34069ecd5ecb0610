"""The log of changes to what is served: numbered entries in segments, read by any cursor.

An entry's number is its place: segment and line follow by arithmetic, whatever was pruned. A reader goes on after the
last number that it saw. An entry is appended once its month file is in place, and says which file that is; a writer
that is killed in between appends none. A publication compares the files with the entries and appends what is missing
(`warehouse.documents.manifest`).
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import Any, NamedTuple

import orjson

from warehouse.errors import CallerError, DamagedFile
from warehouse.market.clock import DAY, month_of
from warehouse.series.changes import Change
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage, Stored

SEGMENT = 256
"""Entries of a segment, which is put anew with each entry."""
KEPT_S = 30 * DAY
CLOCK_S = 7200
"""An entry so far ahead of the clock was written by a wrong one: it neither waits nor holds up those behind it."""
MOST_SEGMENTS = 64
"""So many one reading looks at, and one writing prunes."""
BEGINNING = "0"
"""The cursor before the first entry of a log that has none yet."""
CURSOR_PATTERN = "(0|[0-9a-f]{8}-[0-9]{1,12})"
_LOG = logging.getLogger("emds.warehouse")
_CURSOR = re.compile(r"([0-9a-f]{8})-([0-9]{1,12})")
_MEMBERS = tuple(field.name for field in fields(Change))
Members = dict[str, Any]
"""An entry, or a change, as JSON."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A change as the log holds it."""

    number: int
    """Ascending from 1."""
    at: int
    """When the rows were in place: Unix seconds, true time; not before the entry ahead, unless that one's clock was
    wrong."""
    file: str
    """The month file that the change made (`warehouse.series.monthfile.digest`); empty for one that is gone."""
    change: Change


class Head(NamedTuple):
    """The log's own record; made from the segments where it is lost."""

    name: str
    """Another one in another warehouse: cursors of one open nothing in the other."""
    first: int
    """The oldest number kept."""
    tail: int
    """A segment that is there: the newest, or one before it."""


class UnknownCursor(CallerError):
    """The cursor is of another log, or entries after it are kept no more; `oldest` is the cursor of all that are."""

    def __init__(self, oldest: str) -> None:
        super().__init__("this cursor is unknown, or entries that followed it are no longer kept")
        self.oldest = oldest


class Page(NamedTuple):
    """Entries after a cursor. `next` goes on behind the last one looked at; `more`: others may follow already."""

    entries: list[Entry]
    next: str
    more: bool
    oldest: str


def append(storage: Storage, change: Change, file: str, now: int) -> None:
    """Puts a change at the end of the log, on the disk before this returns; `now` is true time. Raises StorageError."""
    begun = _head(storage)
    head = begun or Head(secrets.token_hex(4), 1, 0)
    segment, at, placed = head.tail, now, False
    while not placed:
        may_begin = begun is None or segment > head.tail
        placed, last_at = _append_to(storage, head.name, segment, Entry(0, at, file, change), may_begin)
        if not placed:
            segment, at = segment + 1, _not_before(last_at, now)
    if begun is None or segment != head.tail:
        _set_tail(storage, head, segment, at)


def _append_to(storage: Storage, log: str, segment: int, entry: Entry, may_begin: bool) -> tuple[bool, int | None]:
    """Whether a segment took an entry, and when the one before it came.

    A full one takes none, nor one that is damaged or lost: no cursor into it may meet other entries.
    """
    placed, last_at = False, None

    def add(stored: Stored | None) -> bytes | None:
        nonlocal placed, last_at
        placed, name = False, log
        try:
            name, entries = (log, []) if stored is None else _decoded(stored.body, layout.change_segment(segment))
        except DamagedFile as error:
            _LOG.error("the log goes on behind it: %s", error)
            return None
        last_at = entries[-1]["at"] if entries else None
        if len(entries) == SEGMENT or (stored is None and not may_begin):
            return None
        placed, number = True, segment * SEGMENT + len(entries) + 1
        own = replace(entry, number=number, at=_not_before(last_at, entry.at))
        return artefact.sealed(orjson.dumps({"log": name, "entries": [*entries, own]}))

    storage.update(layout.change_segment(segment), add)
    return placed, last_at


def _not_before(last_at: int | None, now: int) -> int:
    """True time, but not before the entry ahead, unless that one's clock was wrong."""
    return max(now, last_at) if last_at is not None and last_at <= now + CLOCK_S else now


def newest_number(storage: Storage) -> int:
    """The number of the newest entry; 0 where there is none yet. Raises StorageError."""
    return int(newest(storage).rpartition("-")[2])


def files_since(storage: Storage, number: int) -> dict[tuple[str, str, str], str]:
    """Of each metric, zone and month with an entry after a number the file that its last entry names.

    Entries that cannot be read count as none; of more than MOST_SEGMENTS the newest. Raises StorageError.
    """
    head = _head(storage)
    named: dict[tuple[str, str, str], str] = {}
    if head is None:
        return named
    newest = _newest_segment(storage, head)
    for segment in range(max(number // SEGMENT, head.first // SEGMENT, newest - MOST_SEGMENTS), newest + 1):
        try:
            entries = _entries(storage, head, segment)
        except UnknownCursor:
            continue
        for stored in entries:
            if stored["number"] > number:
                change = stored["change"]
                named[change["metric"], change["zone"], month_of(change["first"])] = stored["file"]
    return named


def read(
    storage: Storage,
    since: str | None,
    limit: int,
    wanted: Callable[[Change], bool] = lambda _: True,
    until: int | None = None,
) -> Page:
    """Entries after a cursor that are wanted and not later than `until`; where it is None, from the oldest kept on.

    Raises UnknownCursor, and StorageError.
    """
    head = _head(storage)
    if head is None:
        if since not in (None, BEGINNING):
            raise UnknownCursor(BEGINNING)
        return Page([], BEGINNING, False, BEGINNING)
    oldest = _cursor(head, head.first - 1)
    start = at = _number(head, since, oldest)
    found: list[Entry] = []
    more, last = False, 0
    for looked, (segment, entries) in enumerate(_from(storage, head, at // SEGMENT)):
        settled = _settled(entries, until)
        for stored in settled:
            if stored["number"] > at and len(found) < limit:
                at, entry = stored["number"], _entry(stored)
                found += [entry] if wanted(entry.change) else []
        more = bool(settled) and settled[-1]["number"] > at
        last = entries[-1]["number"] if entries else last
        if more or len(settled) < len(entries) or len(found) == limit or looked + 1 == MOST_SEGMENTS:
            more = more or (len(settled) == len(entries) and _exists(storage, segment + 1))
            break
    if at == start and start > last and start > newest_number(storage):
        raise UnknownCursor(oldest)
    return Page(found, _cursor(head, at), more, oldest)


def newest(storage: Storage, until: int | None = None) -> str:
    """The cursor behind all entries that are not later than `until`, or behind a damaged end. Raises StorageError."""
    head = _head(storage)
    if head is None:
        return BEGINNING
    try:
        return _cursor_behind(storage, head, lambda entries: _settled(entries, until)) or _cursor(head, head.first - 1)
    except UnknownCursor as damaged_end:
        return damaged_end.oldest


def cursor_before(storage: Storage, at: int) -> str:
    """Return the cursor behind all entries older than an instant.

    Raises UnknownCursor where entries of that time are no longer kept, and StorageError.
    """
    head = _head(storage)
    if head is None:
        return BEGINNING
    found = _cursor_behind(storage, head, lambda entries: [entry for entry in entries if entry["at"] < at])
    if found is None and head.first > 1:
        raise UnknownCursor(_cursor(head, head.first - 1))
    return found or _cursor(head, 0)


def _cursor_behind(storage: Storage, head: Head, choose: Callable[[list[Members]], list[Members]]) -> str | None:
    """The cursor behind the newest entry that `choose` leaves of a segment; None where it leaves none of any."""
    for segment in range(_newest_segment(storage, head), head.first // SEGMENT - 1, -1):
        if chosen := choose(_entries(storage, head, segment)):
            return _cursor(head, chosen[-1]["number"])
    return None


def check(storage: Storage, key: str) -> None:
    """Raises DamagedFile and StorageError for a segment, or a head, that cannot be read."""
    artefact.unsealed(storage.get(key) or b"", key)


def _number(head: Head, since: str | None, oldest: str) -> int:
    """The number after which a cursor goes on. Raises UnknownCursor."""
    if since is None:
        return head.first - 1
    match = _CURSOR.fullmatch(since)
    asked = 0 if since == BEGINNING else int(match[2]) if match is not None and match[1] == head.name else -1
    if asked < head.first - 1:
        raise UnknownCursor(oldest)
    return asked


def _cursor(head: Head, number: int) -> str:
    return f"{head.name}-{number}"


def _from(storage: Storage, head: Head, segment: int) -> Iterator[tuple[int, list[Members]]]:
    """Every segment from a number on. Raises UnknownCursor where one on the way is missing."""
    while segment <= head.tail or _exists(storage, segment):
        yield segment, _entries(storage, head, segment)
        segment += 1


def _exists(storage: Storage, segment: int) -> bool:
    return storage.stat(layout.change_segment(segment)) is not None


def _entries(storage: Storage, head: Head, segment: int) -> list[Members]:
    """The entries of a segment. Raises UnknownCursor for one that is damaged or gone: go on behind it.

    As they are stored: of 256 a reader mostly wants the last few.
    """
    key = layout.change_segment(segment)
    try:
        stored = storage.get(key)
        if stored is not None:
            return _decoded(stored, key)[1]
    except DamagedFile as error:
        _LOG.error("followers are sent past it: %s", error)
    raise UnknownCursor(_cursor(head, (segment + 1) * SEGMENT))


def _decoded(stored: bytes, key: str) -> tuple[str, list[Members]]:
    """Name of the log and entries of a segment. Raises DamagedFile."""
    members = orjson.loads(artefact.unsealed(stored, key))
    return members["log"], members["entries"]


def _entry(stored: Members) -> Entry:
    return Entry(stored["number"], stored["at"], stored["file"], change_of(stored["change"]))


def change_of(stored: Members) -> Change:
    """A change from its JSON members."""
    return Change(*[stored[name] for name in _MEMBERS])


def _settled(entries: list[Members], until: int | None) -> list[Members]:
    """The entries before the first young one: later than `until`, but not by so much that its clock was wrong."""
    if until is None:
        return entries
    return list(takewhile(lambda entry: not until < entry["at"] <= until + CLOCK_S, entries))


def _newest_segment(storage: Storage, head: Head) -> int:
    segment = head.tail
    while _exists(storage, segment + 1):
        segment += 1
    return segment


def _head(storage: Storage) -> Head | None:
    """The log's own record; None for one that was never begun. Raises StorageError."""
    return _head_of(storage, storage.get(layout.CHANGE_LOG))


def _head_of(storage: Storage, stored: bytes | None) -> Head | None:
    """The same of the bytes of its file; made again from the segments where it is damaged or lost."""
    try:
        if stored is not None:
            members = orjson.loads(artefact.unsealed(stored, layout.CHANGE_LOG))
            return Head(members["log"], members["first"], members["tail"])
    except DamagedFile as error:
        _LOG.error("made again from the segments: %s", error)
    return _head_of_segments(storage)


def _head_of_segments(storage: Storage) -> Head | None:
    numbers = sorted(layout.of_change_segment(key) for key in storage.keys(layout.change_segments()))
    for number in reversed(numbers):
        key = layout.change_segment(number)
        try:
            members = orjson.loads(artefact.unsealed(storage.get(key) or b"", key))
        except DamagedFile:
            continue
        return Head(members["log"], numbers[0] * SEGMENT + 1, numbers[-1])
    return Head(secrets.token_hex(4), (numbers[-1] + 1) * SEGMENT + 1, numbers[-1] + 1) if numbers else None


def _set_tail(storage: Storage, head: Head, tail: int, now: int) -> None:
    """Record the newest segment, and prune what is older than KEPT_S: first out of reach of cursors, then for good."""
    old = _prunable(storage, head, now)

    def advance(stored: Stored | None) -> bytes:
        there = _head_of(storage, stored.body if stored else None) or head
        first = max(there.first, (old[-1] + 1) * SEGMENT + 1 if old else 0)
        return artefact.sealed(orjson.dumps({"log": there.name, "first": first, "tail": max(there.tail, tail)}))

    storage.update(layout.CHANGE_LOG, advance)
    for segment in old:
        storage.delete(layout.change_segment(segment))


def _prunable(storage: Storage, head: Head, now: int) -> list[int]:
    old = []
    for segment in range(head.first // SEGMENT, min(head.tail, head.first // SEGMENT + MOST_SEGMENTS)):
        try:
            if _entries(storage, head, segment)[-1]["at"] > now - KEPT_S:
                break
        except UnknownCursor:
            pass
        old.append(segment)
    return old
