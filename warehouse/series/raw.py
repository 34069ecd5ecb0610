"""Store raw responses before they are parsed, so that every later stage can be repeated without the network.

A raw response is a zstd file that any zstd reader opens. A skippable frame before it (RFC 8878 section 3.1.2) has the
head as JSON: the seal (`store.seal`), the warehouse's mode and the request, so that `parse(body, request)` can be
called again. A damaged file is quarantined as soon as it is noticed.
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
"""The zstd level. Files are a tenth larger than at level 9, in a third of the time."""
_LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class RawBody:
    """A raw response with its request."""

    key: str
    request: Request
    packed: bytes

    @property
    def fetched_at(self) -> int:
        """Return the time of the fetch in Unix seconds, by the clock of that moment."""
        return _fetched_at(self.key)

    @cached_property
    def body(self) -> bytes:
        """The publisher's bytes. Raises DamagedFile."""
        try:
            return zstandard.ZstdDecompressor().decompress(self.packed)
        except zstandard.ZstdError as error:
            raise DamagedFile(self.key, f"cannot be decoded: {error}") from None


class KeptAnswers:
    """The raw responses of a feed around some market days, from one listing of their names. Not thread-safe."""

    def __init__(self, storage: Storage, feed: str, first: date | None = None, last: date | None = None) -> None:
        """List the files that may contain rows of `first..last`, or all files. Raises StorageError."""
        self._storage, self._feed = storage, feed
        keys = sorted(_keys(storage, feed, first, last), key=order_of)
        self._newest = {_place(key): key for key in keys}
        self._of_question = {_place(key)[1]: key for key in keys}
        self._last = order_of(keys[-1]) if keys else 0

    def find(self, request: Request) -> RawBody | None:
        """Return the newest response to a request, whichever day it is stored under, None without an undamaged one."""
        key = self._of_question.get(_digest_of_question(request))
        stored = None if key is None else _opened_or_set_aside(self._storage, key)
        return stored if stored is not None and _question(stored.request) == _question(request) else None

    def keep(self, request: Request, body: bytes, fetched_at: int, mode: str) -> str | None:
        """Store a body under its first market day; return its key, None if the newest response to the request is equal.

        `mode` is that of the transport. Raises WrongMode if the warehouse has another one, and StorageError.
        """
        modes.ensure(self._storage, mode)
        day = str(request.days[0]) if request.days else clock.utc(fetched_at).date().isoformat()
        name = digest(request, body)
        # No lock: two writers of one response use the same name, or store it twice, which readers do not notice.
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
    """Return eight hex digits of the request and eight of request and response, which name a raw response."""
    return _digest_of_question(request) + hashlib.sha256(_question(request) + body).hexdigest()[:8]


def _digest_of_question(request: Request) -> str:
    return hashlib.sha256(_question(request)).hexdigest()[:8]


def find(storage: Storage, feed: str, first: date | None = None, last: date | None = None) -> Iterator[RawBody]:
    """Yield the raw responses with a feed's rows whose request covers a day of `first..last`, in order of arrival.

    Raises WrongMode for a response of another mode.
    """
    for key in sorted(_keys(storage, feed, first, last), key=order_of):
        stored = _opened_or_set_aside(storage, key)
        if stored is not None and stored.request.kind == "rows" and _covers(stored.request, first, last):
            yield stored


def _opened_or_set_aside(storage: Storage, key: str) -> RawBody | None:
    """Return a raw response, None if it is gone, or damaged and now quarantined."""
    try:
        return opened(storage, key)
    except DamagedFile as error:
        damaged.set_aside(storage, error.key, error.reason)
        return None


def pruned_until(storage: Storage) -> int:
    """Return the time (Unix seconds) before which only the last response to each request is retained, 0 if all are."""
    stored = storage.get(layout.PRUNED) or b""
    return int(stored) if stored.isdigit() and len(stored) < 16 else 0


def prune(storage: Storage, feed: str, before: int, pruned: int = 0) -> int:
    """Delete responses fetched before `before` (Unix seconds) that a later response to the same request replaces.

    Returns their number. Opens only the days with a response that has become old since the last deletion, at `pruned`.
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
    """Return whether a key names a raw response."""
    return _NAME.fullmatch(key.rsplit("/", 1)[1]) is not None


def _bodies(storage: Storage, prefix: str) -> list[str]:
    """Return the keys of the raw responses below a prefix, without other files."""
    return [key for key in storage.keys(prefix) if is_body(key)]


def _keys(storage: Storage, feed: str, first: date | None, last: date | None) -> Iterator[str]:
    """Yield the keys whose requests may cover a day of `first..last`.

    A request is stored under its first day and covers a year at most.
    """
    if first is None or last is None:
        yield from _bodies(storage, layout.raw_prefix(feed))
        return
    reach = range((first - _LONGEST).toordinal(), last.toordinal() + 1)
    days = [str(date.fromordinal(number)) for number in reach]
    yield from (key for key in storage.keys_within(layout.raw_prefix(feed), days) if is_body(key))


def _question(request: Request) -> bytes:
    """Return the bytes that identify a request, without the market day, which the folder states."""
    params = [pair for pair in request.params if pair[0] not in request.nonce]
    return orjson.dumps([request.url, params, request.zone, request.part, request.body])


def opened(storage: Storage, key: str) -> RawBody | None:
    """Return a raw response, None if it is gone. Raises DamagedFile, WrongMode and StorageError."""
    stored = storage.get(key)
    if stored is None:
        return None
    try:
        magic, size = struct.unpack_from("<II", stored)
        if magic != _SKIPPABLE:
            raise DamagedFile(key, "does not record the request it belongs to")
        seal.check(stored, key, 8 + size)
        head = orjson.loads(stored[8 : 8 + size])
        seal.check_members(head, key)
        modes.check_file(modes.require(storage), head["mode"], key)
        return RawBody(key, request_of(head["request"]), stored[8 + size :])
    except (struct.error, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DamagedFile(key, f"does not record the request it belongs to: {error}") from None


def request_of(member: dict[str, Any]) -> Request:
    """Return the request that a head states. Raises KeyError and TypeError."""
    pairs = {name: tuple((a, b) for a, b in member[name]) for name in ("params", "headers")}
    days = tuple(date.fromisoformat(day) for day in member["days"])
    return Request(**{**member, **pairs, "days": days, "nonce": tuple(member["nonce"]), "secrets": ()})


def order_of(key: str) -> int:
    """Return the sequence number of a raw response within its feed. Later responses have higher numbers."""
    return int(key.rsplit("/", 1)[1].split("-", 2)[0])


def _place(key: str) -> tuple[str, str]:
    """Return the market day under which a response is stored, and the digits of its request."""
    _, day, name = key.rsplit("/", 2)
    return day, name.split("-", 2)[2][:8]


def _fetched_at(key: str) -> int:
    return int(key.rsplit("/", 1)[1].split("-", 2)[1])


def _covers(request: Request, first: date | None, last: date | None) -> bool:
    if not request.days:
        return True
    return (last is None or min(request.days) <= last) and (first is None or max(request.days) >= first)
