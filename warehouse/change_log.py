"""The log of changes to what is served: numbered entries in segments, put by one writer at a time, read by any cursor.

An entry's number is its place: segment and line follow by arithmetic, whatever was pruned. A reader goes on after the
last number that it saw. Which changes are written, and that a kill loses none: `warehouse.untold`.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import Any, NamedTuple

import orjson

from warehouse import artefact, layout
from warehouse.changes import Change
from warehouse.clock import DAY
from warehouse.errors import CallerError, DamagedFile
from warehouse.storage import Storage

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
Stored = dict[str, Any]
"""An entry, or a change, as JSON members."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A change as the log holds it."""

    number: int
    """Ascending from 1."""
    at: int
    """When the rows were in place: Unix seconds, true time; not before the entry ahead, unless that one's clock was
    wrong."""
    token: str
    """Of the one write that made the change."""
    change: Change


class Head(NamedTuple):
    """What the log says of itself; made from the segments where it is lost."""

    name: str
    """Another one in another warehouse: cursors of one open nothing in the other."""
    first: int
    """The oldest number kept."""
    tail: int
    """A segment that is there: the newest, or the one before it."""


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


def append(storage: Storage, change: Change, token: str, now: int, since: int | None = None) -> None:
    """Puts a change at the end of the log, on the disk before this returns; `now` is true time.

    With `since`, a segment: not where an entry of that token lies in it or behind it. Raises StorageError.
    """
    with storage.locked([layout.CHANGE_LOG]):
        begun = _head(storage)
        head = begun or Head(secrets.token_hex(4), 1, 0)
        if since is not None and _holds(storage, head, since, token):
            return
        segment, entries, head = _end(storage, head) if begun else (0, [], head)
        at = max(now, entries[-1]["at"]) if entries and entries[-1]["at"] <= now + CLOCK_S else now
        if len(entries) == SEGMENT:
            segment, entries = segment + 1, []
        entry = Entry(segment * SEGMENT + len(entries) + 1, at, token, change)
        _put_segment(storage, head, segment, [*entries, entry])
        if segment != head.tail or begun is None:
            _put_head(storage, head._replace(tail=segment), at)


def break_off(storage: Storage, now: int) -> None:
    """Sends every follower back to the beginning: a change is missing that nobody can name. Raises StorageError.

    What is logged from now on stands in a new segment, which no older cursor reaches.
    """
    with storage.locked([layout.CHANGE_LOG]):
        head = _head(storage) or Head(secrets.token_hex(4), 1, 0)
        old = segments(storage)
        segment = _newest_segment(storage, head) + 1
        _put_segment(storage, head, segment, [])
        _put_head(storage, head._replace(first=segment * SEGMENT + 1, tail=segment), now)
        for key in old:
            storage.delete(key)


def tail(storage: Storage) -> int:
    """A segment that is not behind the end of the log: entries to come lie in it or after it. Raises StorageError."""
    head = _head(storage)
    return 0 if head is None else head.tail


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
        shown = _settled(entries, until)
        for stored in shown:
            if stored["number"] > at and len(found) < limit:
                at, entry = stored["number"], _entry(stored)
                found += [entry] if wanted(entry.change) else []
        more = bool(shown) and shown[-1]["number"] > at
        last = entries[-1]["number"] if entries else last
        if more or len(shown) < len(entries) or len(found) == limit or looked + 1 == MOST_SEGMENTS:
            more = more or (len(shown) == len(entries) and _exists(storage, segment + 1))
            break
    if at == start and start > last and start > _last(storage, head):
        raise UnknownCursor(oldest)
    return Page(found, _cursor(head, at), more, oldest)


def newest(storage: Storage, until: int | None = None) -> str:
    """The cursor behind all entries that are not later than `until`, or behind a damaged end. Raises StorageError."""
    head = _head(storage)
    if head is None:
        return BEGINNING
    segment = _newest_segment(storage, head)
    for number in range(segment, head.first // SEGMENT - 1, -1):
        try:
            seen = _settled(_entries(storage, head, number), until)
        except UnknownCursor as behind:
            return behind.oldest
        if seen:
            return _cursor(head, seen[-1]["number"])
    return _cursor(head, head.first - 1)


def segments(storage: Storage) -> list[str]:
    """The key of every kept segment."""
    return storage.keys(layout.change_segments())


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


def _from(storage: Storage, head: Head, segment: int) -> Iterator[tuple[int, list[Stored]]]:
    """Every segment from a number on. Raises UnknownCursor where one on the way is missing."""
    while segment <= head.tail or _exists(storage, segment):
        yield segment, _entries(storage, head, segment)
        segment += 1


def _exists(storage: Storage, segment: int) -> bool:
    return storage.stat(layout.change_segment(segment)) is not None


def _entries(storage: Storage, head: Head, segment: int) -> list[Stored]:
    """The entries of a segment. Raises UnknownCursor for one that is damaged or gone: go on behind it.

    As they are stored: of 256 a reader mostly wants the last few.
    """
    key = layout.change_segment(segment)
    try:
        stored = storage.get(key)
        if stored is not None:
            entries: list[Stored] = orjson.loads(artefact.unsealed(stored, key))["entries"]
            return entries
    except DamagedFile as error:
        _LOG.error("followers are sent past it: %s", error)
    raise UnknownCursor(_cursor(head, (segment + 1) * SEGMENT))


def _entry(stored: Stored) -> Entry:
    return Entry(stored["number"], stored["at"], stored["token"], change_of(stored["change"]))


def change_of(stored: Stored) -> Change:
    """A change from its JSON members."""
    return Change(*[stored[name] for name in _MEMBERS])


def _settled(entries: list[Stored], until: int | None) -> list[Stored]:
    """The entries before the first young one: later than `until`, but not by so much that its clock was wrong."""
    if until is None:
        return entries
    return list(takewhile(lambda entry: not until < entry["at"] <= until + CLOCK_S, entries))


def _put_segment(storage: Storage, head: Head, segment: int, entries: Sequence[Stored | Entry]) -> None:
    stored = {"log": head.name, "entries": entries}
    storage.put(layout.change_segment(segment), artefact.sealed(orjson.dumps(stored)))


def _newest_segment(storage: Storage, head: Head) -> int:
    segment = head.tail
    while _exists(storage, segment + 1):
        segment += 1
    return segment


def _last(storage: Storage, head: Head) -> int:
    """The highest number given."""
    segment = _newest_segment(storage, head)
    try:
        entries = _entries(storage, head, segment)
    except UnknownCursor:
        return (segment + 1) * SEGMENT
    return int(entries[-1]["number"]) if entries else segment * SEGMENT


def _end(storage: Storage, head: Head) -> tuple[int, list[Stored], Head]:
    """The newest segment and its entries; behind a damaged or lost one a new segment, which no older cursor reaches."""
    segment = _newest_segment(storage, head)
    try:
        return segment, _entries(storage, head, segment), head
    except UnknownCursor:
        return segment + 1, [], head._replace(first=(segment + 1) * SEGMENT + 1)


def _holds(storage: Storage, head: Head, segment: int, token: str) -> bool:
    """Whether a token stands in a segment or behind it; what cannot be read holds none."""
    while segment <= head.tail or _exists(storage, segment):
        try:
            if any(entry["token"] == token for entry in _entries(storage, head, segment)):
                return True
        except UnknownCursor:
            pass
        segment += 1
    return False


def _head(storage: Storage) -> Head | None:
    """What the log says of itself; None for one that was never begun. Raises StorageError."""
    stored = storage.get(layout.CHANGE_LOG)
    try:
        if stored is not None:
            said = orjson.loads(artefact.unsealed(stored, layout.CHANGE_LOG))
            return Head(said["log"], said["first"], said["tail"])
    except DamagedFile as error:
        _LOG.error("made again from the segments: %s", error)
    return _head_of_segments(storage)


def _head_of_segments(storage: Storage) -> Head | None:
    numbers = sorted(layout.of_change_segment(key) for key in segments(storage))
    for number in reversed(numbers):
        key = layout.change_segment(number)
        try:
            said = orjson.loads(artefact.unsealed(storage.get(key) or b"", key))
        except DamagedFile:
            continue
        return Head(said["log"], numbers[0] * SEGMENT + 1, numbers[-1])
    return Head(secrets.token_hex(4), (numbers[-1] + 1) * SEGMENT + 1, numbers[-1] + 1) if numbers else None


def _put_head(storage: Storage, head: Head, now: int) -> None:
    """Notes the tail, and prunes what is older than KEPT_S: first out of reach of cursors, then for good."""
    old = []
    for segment in range(head.first // SEGMENT, min(head.tail, head.first // SEGMENT + MOST_SEGMENTS)):
        try:
            if _entries(storage, head, segment)[-1]["at"] > now - KEPT_S:
                break
        except UnknownCursor:
            pass
        old.append(segment)
    if old:
        head = head._replace(first=(old[-1] + 1) * SEGMENT + 1)
    said = {"log": head.name, "first": head.first, "tail": head.tail}
    storage.put(layout.CHANGE_LOG, artefact.sealed(orjson.dumps(said)))
    for segment in old:
        storage.delete(layout.change_segment(segment))
