"""Publishers' own bytes: kept before they are parsed, so that every later stage can be run again without the network.

A kept body is a zstd file that any zstd reader opens. A skippable frame before it (RFC 8878 section 3.1.2) holds the
head as JSON: the seal (`store.seal`), the warehouse's mode, and the question, so that `parse(body, request)` can be
called again. A file that is damaged is set aside as soon as it is noticed.
"""

from __future__ import annotations

import hashlib
import re
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import orjson
import zstandard

from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.feeds import Request
from warehouse.series import damaged
from warehouse.store import layout, modes, seal
from warehouse.store.storage import Storage

_SKIPPABLE = 0x184D2A50
_LEVEL = 6
"""Of zstd: a tenth larger than level 9 on these bodies, in a third of the time."""
_LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class RawBody:
    """One kept body with the question that it answers."""

    key: str
    request: Request
    packed: bytes

    @property
    def fetched_at(self) -> int:
        """Unix seconds, by the clock of that moment."""
        return _fetched_at(self.key)

    @cached_property
    def body(self) -> bytes:
        """The publisher's bytes. Raises DamagedFile."""
        try:
            return zstandard.ZstdDecompressor().decompress(self.packed)
        except zstandard.ZstdError as error:
            raise DamagedFile(self.key, f"does not decode: {error}") from None


class KeptAnswers:
    """What is kept of a feed around some market days, by the names of one listing. Not for several threads."""

    def __init__(self, storage: Storage, feed: str, first: date | None = None, last: date | None = None) -> None:
        """List what may hold rows of `first..last`, or all. Raises StorageError."""
        self._storage, self._feed = storage, feed
        keys = sorted(_keys(storage, feed, first, last), key=order_of)
        self._newest = {_place(key): key for key in keys}
        self._of_question = {_place(key)[1]: key for key in keys}
        self._last = order_of(keys[-1]) if keys else 0

    def find(self, request: Request) -> RawBody | None:
        """Return the newest answer to a question, whichever day it lies under; None if none is kept undamaged."""
        key = self._of_question.get(_digest_of_question(request))
        stored = None if key is None else _opened_or_set_aside(self._storage, key)
        return stored if stored is not None and _question(stored.request) == _question(request) else None

    def keep(self, request: Request, body: bytes, fetched_at: int, mode: str) -> str | None:
        """Keep a body under its first market day; return its key, None if the newest answer to the question is equal.

        `mode` is that of the transport. Raises WrongMode where it is not the warehouse's, and StorageError.
        """
        modes.ensure(self._storage, mode)
        day = str(request.days[0]) if request.days else clock.utc(fetched_at).date().isoformat()
        name = digest(request, body)
        # No lock: two that keep one answer at once write the same name, or one body twice, which no reader notices.
        if self._newest.get((day, name[:8]), "").partition(f"-{name}.")[1]:
            return None
        order = max(time.time_ns() // 1_000_000, self._last + 1)
        key = layout.raw(self._feed, day, order, fetched_at, name, request.ext)
        packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(body)
        head = orjson.dumps({**seal.members(key), "mode": mode, "request": request, "sha256": seal.BLANK})
        stored = struct.pack("<II", _SKIPPABLE, len(head)) + head + packed
        self._storage.put(key, seal.stamped(stored, 8 + len(head)))
        self._newest[_place(key)], self._last = key, order
        return key


def digest(request: Request, body: bytes) -> str:
    """Return eight hex digits of the question, and eight of question and answer: what a kept body is named by."""
    return _digest_of_question(request) + hashlib.sha256(_question(request) + body).hexdigest()[:8]


def _digest_of_question(request: Request) -> str:
    return hashlib.sha256(_question(request)).hexdigest()[:8]


def find(storage: Storage, feed: str, first: date | None = None, last: date | None = None) -> Iterator[RawBody]:
    """The kept bodies of a feed's rows whose question covers a day of `first..last`, in the order in which they came.

    Raises WrongMode for a body of another mode.
    """
    for key in sorted(_keys(storage, feed, first, last), key=order_of):
        stored = _opened_or_set_aside(storage, key)
        if stored is not None and stored.request.kind == "rows" and _covers(stored.request, first, last):
            yield stored


def _opened_or_set_aside(storage: Storage, key: str) -> RawBody | None:
    """One kept body; None where it is gone, or damaged and therefore set aside."""
    try:
        return opened(storage, key)
    except DamagedFile as error:
        damaged.set_aside(storage, error.key, error.reason)
        return None


def pruned_until(storage: Storage) -> int:
    """Of bodies fetched before this instant (Unix seconds) only the last to each question is kept; 0: all are."""
    stored = storage.get(layout.PRUNED) or b""
    return int(stored) if stored.isdigit() and len(stored) < 16 else 0


def prune(storage: Storage, feed: str, before: int, pruned: int = 0) -> int:
    """Keeps, of bodies fetched before an instant, each market day's last answers; returns how many went.

    Opened are only days with a body that has become old since the instant of the last time, `pruned`.
    """
    days: dict[str, list[str]] = defaultdict(list)
    for key in _bodies(storage, layout.raw_prefix(feed)):
        days[key.rsplit("/", 1)[0]].append(key)
    newly_old = [
        keys for keys in days.values() if len(keys) > 1 and any(pruned <= _fetched_at(key) < before for key in keys)
    ]
    return sum(_prune_day(storage, keys, before) for keys in newly_old)


def _prune_day(storage: Storage, keys: Iterable[str], before: int) -> int:
    newest: dict[bytes, str] = {}
    removed = 0
    for key in sorted(keys, key=order_of):
        stored = _opened_or_set_aside(storage, key)
        if stored is None:
            continue
        question = _question(stored.request)
        older = newest.get(question)
        newest[question] = key
        if older is not None and _fetched_at(older) < before:
            storage.delete(older)
            removed += 1
    return removed


_NAME = re.compile(r"(\d+)-(\d+)-[0-9a-f]{16}\.[^/]*zst")


def is_body(key: str) -> bool:
    """Whether a key is that of a kept body."""
    return _NAME.fullmatch(key.rsplit("/", 1)[1]) is not None


def _bodies(storage: Storage, prefix: str) -> list[str]:
    """The keys of kept bodies below a prefix, without other files."""
    return [key for key in storage.keys(prefix) if is_body(key)]


def _keys(storage: Storage, feed: str, first: date | None, last: date | None) -> Iterator[str]:
    """The keys whose questions may cover a day of `first..last`.

    A question lies under its first day and covers a year at most.
    """
    if first is None or last is None:
        yield from _bodies(storage, layout.raw_prefix(feed))
        return
    reach = range((first - _LONGEST).toordinal(), last.toordinal() + 1)
    days = [str(date.fromordinal(number)) for number in reach]
    yield from (key for key in storage.keys_within(layout.raw_prefix(feed), days) if is_body(key))


def _question(request: Request) -> bytes:
    """What makes two requests the same question: the market day aside, since its folder says it."""
    params = [pair for pair in request.params if pair[0] not in request.nonce]
    return orjson.dumps([request.url, params, request.zone, request.part, request.body])


def opened(storage: Storage, key: str) -> RawBody | None:
    """One kept body, or None where it is gone. Raises DamagedFile, WrongMode and StorageError."""
    stored = storage.get(key)
    if stored is None:
        return None
    try:
        magic, size = struct.unpack_from("<II", stored)
        if magic != _SKIPPABLE:
            raise DamagedFile(key, "does not say what was asked")
        seal.check(stored, key, 8 + size)
        head = orjson.loads(stored[8 : 8 + size])
        seal.check_members(head, key)
        modes.check_file(modes.require(storage), head["mode"], key)
        return RawBody(key, request_of(head["request"]), stored[8 + size :])
    except (struct.error, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DamagedFile(key, f"does not say what was asked: {error}") from None


def request_of(member: dict[str, Any]) -> Request:
    """The request that a head states. Raises KeyError and TypeError."""
    pairs = {name: tuple((a, b) for a, b in member[name]) for name in ("params", "headers")}
    days = tuple(date.fromisoformat(day) for day in member["days"])
    return Request(**{**member, **pairs, "days": days, "nonce": tuple(member["nonce"]), "secrets": ()})


def order_of(key: str) -> int:
    """The place of a kept body among those of its feed: later bodies have higher numbers."""
    return int(key.rsplit("/", 1)[1].split("-", 2)[0])


def _place(key: str) -> tuple[str, str]:
    """Return the market day under which a body is kept, and the digits of its question."""
    _, day, name = key.rsplit("/", 2)
    return day, name.split("-", 2)[2][:8]


def _fetched_at(key: str) -> int:
    return int(key.rsplit("/", 1)[1].split("-", 2)[1])


def _covers(request: Request, first: date | None, last: date | None) -> bool:
    if not request.days:
        return True
    return (last is None or min(request.days) <= last) and (first is None or max(request.days) >= first)
