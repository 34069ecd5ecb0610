"""Log the changes to the served data as numbered entries in segments, which any cursor can read.

The number of an entry gives its segment and line, whatever was deleted. A reader continues after the last number that
it saw. An entry is appended after its monthly file is in place, and names that file. A writer that is killed in between
appends no entry. A publication compares the files with the entries and appends the missing ones
(`warehouse.documents.manifest`).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

import orjson

from warehouse.errors import CallerError, DamagedFile
from warehouse.market.clock import DAY, month_of, month_window
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Stored

SEGMENT = 256
"""The number of entries per segment. Each new entry rewrites its segment."""
KEPT_S = 30 * DAY
CLOCK_S = 7200
"""An entry further ahead of the clock than this comes from a wrong clock. It neither waits nor delays later entries."""
MOST_SEGMENTS = 64
"""The most segments that a read examines, and that a write deletes."""
BEGINNING = "0"
"""The cursor before the first entry of a log without entries."""
CURSOR_PATTERN = "(0|[0-9a-f]{8}-[0-9]{1,12})"
_LOG = logging.getLogger("emds.warehouse")
Members = dict[str, Any]
"""An entry as JSON. Readers mostly need the last few of the 256 entries of a segment."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to the served rows of a zone's metric within a UTC month."""

    zone: str
    metric: str
    feed: str | None
    """The feed behind the change. None if ranks or permissions were resolved again or a damaged month was rebuilt."""
    first: int
    last: int
    """`ts` of the first and the last affected row."""
    added: int
    changed: int
    withdrawn: int | None
    """The numbers of rows. `withdrawn` is None if they are unknown; the range is then the whole month."""


def whole_month(metric: str, zone: str, month: str) -> Change:
    """Return an unspecified change to a month. Readers of the month read it again."""
    window = month_window(month)
    return Change(zone, metric, None, window.start, window.end - 1, 0, 0, None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A change as the log stores it."""

    number: int
    """Numbers ascend from 1."""
    at: int
    """When the rows were in place: Unix seconds, true time. Times ascend unless a clock was wrong."""
    change: Change


class Head(NamedTuple):
    """The log's own record. If it is lost, a new log begins after the existing segments."""

    log: str
    """A random name per log. The cursors of other logs are not valid in this log."""
    first: int
    """The oldest number that is retained."""
    tail: int
    """The newest segment or an existing one before it. In an empty log, the number before the first segment."""


class UnknownCursor(CallerError):
    """The cursor is of another log, or later entries were deleted. `oldest` is the cursor of all retained entries."""

    def __init__(self, oldest: str) -> None:
        super().__init__("this cursor is unknown, or entries that followed it are no longer kept")
        self.oldest = oldest


class ChangePage(NamedTuple):
    """Entries after a cursor. `next` continues after the last examined entry; `more` reports that others may follow."""

    entries: list[Entry]
    next: str
    more: bool
    oldest: str


def append(storage: Storage, change: Change, file: str, now: int) -> None:
    """Append a change to the log. The entry is on the disk when this function returns. Raises StorageError.

    `file` is the digest of the new monthly file (`series.monthfile.digest`), empty without a file. `now` is true time.
    """
    head = _head(storage) or _begin(storage)
    segment, entry = max(head.tail, head.first // SEGMENT), {"at": now, "file": file, "change": change}
    while not _append_to(storage, head, segment, entry):
        segment += 1
    if segment > head.tail:
        _set_tail(storage, head, segment, now)


def _begin(storage: Storage) -> Head:
    """Create the record of a new log and return it."""
    segments = _segments(storage)
    begin = segments[-1] + 1 if segments else 0
    new = Head(secrets.token_hex(4), begin * SEGMENT + 1, begin - 1)
    storage.update(
        layout.CHANGE_LOG,
        lambda stored: artefact.sealed(orjson.dumps((_decoded_head(stored) or new)._asdict()), layout.CHANGE_LOG),
    )
    return _head(storage) or new


def _append_to(storage: Storage, head: Head, segment: int, entry: Members) -> bool:
    """Append an entry to a segment; return False if the segment is full, damaged or lost.

    A cursor into such a segment must not lead to other entries.
    """
    placed, key = False, layout.change_segment(segment)

    def add(stored: Stored | None) -> bytes | None:
        nonlocal placed
        placed, entries = False, []
        try:
            if stored is not None:
                entries = _decoded(stored.body, key)
        except DamagedFile as error:
            _LOG.error("the log goes on behind it: %s", error)
            return None
        last = entries[-1]["at"] if entries else 0
        if entry["at"] < last <= entry["at"] + CLOCK_S:
            entry["at"] = last  # also if the segment is full: the first entry of the next segment must not be older
        if len(entries) == SEGMENT or (stored is None and segment <= head.tail):
            return None
        placed, own = True, {**entry, "number": segment * SEGMENT + len(entries) + 1}
        return artefact.sealed(orjson.dumps({"entries": [*entries, own]}), key)

    storage.update(key, add)
    return placed


def newest_number(storage: Storage) -> int:
    """Return the number of the newest entry, 0 if the log is empty. Raises StorageError."""
    return int(newest(storage).rpartition("-")[2])


def files_since(storage: Storage, number: int) -> dict[tuple[str, str, str], str]:
    """Return, for each metric, zone and month with an entry after `number`, the file that its last entry names.

    Skips unreadable entries and reads the newest MOST_SEGMENTS segments at most. Raises StorageError.
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
) -> ChangePage:
    """Return up to `limit` entries after `since` (None: all) that match `wanted` and are not later than `until`.

    Raises UnknownCursor and StorageError.
    """
    head = _head(storage)
    if head is None:
        if since not in (None, BEGINNING):
            raise UnknownCursor(BEGINNING)
        return ChangePage([], BEGINNING, False, BEGINNING)
    oldest = _cursor(head, head.first - 1)
    start = at = _number(head, since, oldest)
    found: list[Entry] = []
    more, last = False, 0
    for segment in range(at // SEGMENT, at // SEGMENT + MOST_SEGMENTS):
        if not _exists(storage, head, segment):
            break
        entries = _entries(storage, head, segment)
        settled = _settled(entries, until)
        for stored in settled:
            if stored["number"] > at and len(found) < limit:
                at, change = stored["number"], Change(**stored["change"])
                found += [Entry(at, stored["at"], change)] if wanted(change) else []
        last, is_settled = entries[-1]["number"], len(settled) == len(entries)
        more = (bool(settled) and settled[-1]["number"] > at) or (is_settled and _exists(storage, head, segment + 1))
        if not is_settled or len(found) == limit:
            break
    if at == start and start > last and start > newest_number(storage):
        raise UnknownCursor(oldest)
    return ChangePage(found, _cursor(head, at), more, oldest)


def newest(storage: Storage, until: int | None = None) -> str:
    """Return the cursor after all entries not later than `until`, or after a damaged end. Raises StorageError."""
    head = _head(storage)
    if head is None:
        return BEGINNING
    try:
        return _cursor_behind(storage, head, lambda entries: _settled(entries, until)) or _cursor(head, head.first - 1)
    except UnknownCursor as damaged_end:
        return damaged_end.oldest


def cursor_before(storage: Storage, at: int) -> str:
    """Return the cursor after all entries older than `at` (Unix seconds).

    Raises UnknownCursor if entries of that time are no longer retained, and StorageError.
    """
    head = _head(storage)
    if head is None:
        return BEGINNING
    found = _cursor_behind(storage, head, lambda entries: [entry for entry in entries if entry["at"] < at])
    if found is None and head.first > 1:
        raise UnknownCursor(_cursor(head, head.first - 1))
    return found or _cursor(head, 0)


def _cursor_behind(storage: Storage, head: Head, choose: Callable[[list[Members]], list[Members]]) -> str | None:
    """Return the cursor after the newest entry that `choose` selects from any segment, None if it selects none."""
    for segment in range(_newest_segment(storage, head), head.first // SEGMENT - 1, -1):
        if chosen := choose(_entries(storage, head, segment)):
            return _cursor(head, chosen[-1]["number"])
    return None


def _number(head: Head, since: str | None, oldest: str) -> int:
    """Return the number after which a cursor continues. Raises UnknownCursor."""
    if since is None:
        return head.first - 1
    log, _, number = since.rpartition("-")
    asked = int(number) if since == BEGINNING or (log == head.log and number.isdecimal()) else -1
    if asked < head.first - 1:
        raise UnknownCursor(oldest)
    return asked


def _cursor(head: Head, number: int) -> str:
    return f"{head.log}-{number}"


def _segments(storage: Storage) -> list[int]:
    """Return the numbers of the existing segments."""
    keys = storage.keys(layout.CHANGE_SEGMENTS)
    names = (key.removeprefix(layout.CHANGE_SEGMENTS).removesuffix(".json") for key in keys)
    return [int(name) for name in names if name.isdecimal()]


def _exists(storage: Storage, head: Head, segment: int) -> bool:
    """Return whether a segment exists or did exist and is lost."""
    return segment <= head.tail or storage.stat(layout.change_segment(segment)) is not None


def _entries(storage: Storage, head: Head, segment: int) -> list[Members]:
    """Return the entries of a segment. For a damaged or lost one, raises UnknownCursor with the cursor after it."""
    key = layout.change_segment(segment)
    try:
        stored = storage.get(key)
        if stored is not None:
            return _decoded(stored, key)
    except DamagedFile as error:
        _LOG.error("followers are sent past it: %s", error)
    raise UnknownCursor(_cursor(head, (segment + 1) * SEGMENT))


def _decoded(stored: bytes, key: str) -> list[Members]:
    """Decode the entries of a segment. Raises DamagedFile."""
    entries: list[Members] = orjson.loads(artefact.unsealed(stored, key))["entries"]
    return entries


def _settled(entries: list[Members], until: int | None) -> list[Members]:
    """Return the entries before the first one later than `until`, not counting those with a wrong clock (CLOCK_S)."""
    if until is None:
        return entries
    return list(takewhile(lambda entry: not until < entry["at"] <= until + CLOCK_S, entries))


def _newest_segment(storage: Storage, head: Head) -> int:
    segment = head.tail
    while _exists(storage, head, segment + 1):
        segment += 1
    return segment


def _head(storage: Storage) -> Head | None:
    """Return the log's own record, None if it does not exist or is damaged. Raises StorageError."""
    return _decoded_head(storage.read(layout.CHANGE_LOG))


def _decoded_head(stored: Stored | None) -> Head | None:
    try:
        return None if stored is None else Head(**orjson.loads(artefact.unsealed(stored.body, layout.CHANGE_LOG)))
    except DamagedFile as error:
        _LOG.error("another log begins: %s", error)
        return None


def _set_tail(storage: Storage, head: Head, tail: int, now: int) -> None:
    """Record the newest segment and delete those older than KEPT_S, after moving `first` past them."""
    old = _prunable(storage, head, now)

    def advance(stored: Stored | None) -> bytes:
        there = _decoded_head(stored) or head
        first = max(there.first, (old[-1] + 1) * SEGMENT + 1 if old else 0)
        advanced = there._replace(first=first, tail=max(there.tail, tail))
        return artefact.sealed(orjson.dumps(advanced._asdict()), layout.CHANGE_LOG)

    storage.update(layout.CHANGE_LOG, advance)
    for segment in old:
        storage.delete(layout.change_segment(segment))


def _prunable(storage: Storage, head: Head, now: int) -> list[int]:
    old = []
    for segment in [segment for segment in _segments(storage) if segment < head.tail][:MOST_SEGMENTS]:
        try:
            if _entries(storage, head, segment)[-1]["at"] > now - KEPT_S:
                break
        except UnknownCursor:
            pass
        old.append(segment)
    return old
