"""Publishers' own bytes: kept before they are parsed, so that every later stage can be run again without the network.

A kept body is a zstd file that any zstd reader opens; a skippable frame before it (RFC 8878 section 3.1.2) holds the
question that was asked, so that `parse(body, request)` can be called again.
"""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import orjson
import zstandard

from warehouse import clock, layout
from warehouse.errors import StorageError
from warehouse.market import Request
from warehouse.storage import Storage

_SKIPPABLE = 0x184D2A50
LEVEL = 6
"""Of zstd: a tenth larger than level 9 on these bodies, in a third of the time."""
_LONGEST = timedelta(days=366)
_MOST_BYTES = 1 << 30
"""No kept body unfolds beyond this."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One kept body with the question that it answers."""

    key: str
    fetched_at: int
    request: Request
    body: bytes


def keep(storage: Storage, request: Request, body: bytes, fetched_at: int) -> str | None:
    """Keeps a body under its first market day; None if the newest answer to the same question was equal."""
    day = str(request.days[0]) if request.days else clock.utc(fetched_at).date().isoformat()
    sha8 = digest(request, body)
    # No lock: two that keep one answer at once write the same name, or one body twice, which changes nothing that is read.
    if _is_newest(storage, request, day, sha8):
        return None
    key = layout.raw(request.feed, day, fetched_at, sha8, request.ext)
    storage.put(key, _frame(request) + zstandard.ZstdCompressor(level=LEVEL).compress(body), durable=False)
    return key


def digest(request: Request, body: bytes) -> str:
    """Eight hex digits of question and answer."""
    return hashlib.sha256(_question(request) + body).hexdigest()[:8]


def find(storage: Storage, feed: str, first: date | None = None, last: date | None = None) -> Iterator[Kept]:
    """The kept bodies of a feed whose question covers a day of `first..last`, in the order in which they came."""
    for _, key in sorted((_stamp(key), key) for key in _keys(storage, feed, first, last)):
        stored = storage.get(key)
        if stored is None:
            continue
        request, rest = _unframe(stored, key)
        if _covers(request, first, last):
            yield Kept(key, _stamp(key), request, _unpacked(rest, key))


def opened(storage: Storage, key: str) -> Kept | None:
    """One kept body, or None where it is gone. Raises StorageError for one that does not decode."""
    stored = storage.get(key)
    if stored is None:
        return None
    request, rest = _unframe(stored, key)
    return Kept(key, _stamp(key), request, _unpacked(rest, key))


def questions(storage: Storage, feed: str, first: date | None = None, last: date | None = None) -> Iterator[Request]:
    """What was asked, of each kept body of rows; the bodies are not unpacked."""
    for key in _keys(storage, feed, first, last):
        stored = storage.get(key)
        if stored is not None:
            request, _ = _unframe(stored, key)
            if request.kind == "rows" and _covers(request, first, last):
                yield request


def prune(storage: Storage, feed: str, before: int, pruned: int = 0) -> int:
    """Of bodies fetched before an instant keeps, per market day, the last answer to each question; returns how many went.

    Opened are only days with a body that has become old since the instant of the last time, `pruned`.
    """
    days: dict[str, list[str]] = defaultdict(list)
    for key in storage.keys(layout.raw_prefix(feed)):
        days[key.rsplit("/", 1)[0]].append(key)
    newly_old = [
        keys for keys in days.values() if len(keys) > 1 and any(pruned <= _stamp(key) < before for key in keys)
    ]
    return sum(_prune_day(storage, keys, before) for keys in newly_old)


def _prune_day(storage: Storage, keys: Iterable[str], before: int) -> int:
    newest: dict[bytes, str] = {}
    removed = 0
    for key in sorted(keys, key=_stamp):
        stored = storage.get(key)
        if stored is None:
            continue
        question = _question(_unframe(stored, key)[0])
        older = newest.get(question)
        newest[question] = key
        if older is not None and _stamp(older) < before:
            storage.delete(older)
            removed += 1
    return removed


def _keys(storage: Storage, feed: str, first: date | None, last: date | None) -> Iterator[str]:
    """The keys whose questions may cover a day of `first..last`: a question lies under its first day and covers a year at most."""
    if first is None or last is None:
        yield from storage.keys(layout.raw_prefix(feed))
        return
    for number in range((first - _LONGEST).toordinal(), last.toordinal() + 1):
        yield from storage.keys(layout.raw_prefix(feed, str(date.fromordinal(number))))


def _is_newest(storage: Storage, request: Request, day: str, sha8: str) -> bool:
    """Whether the newest kept answer to this question carries that hash. Only bodies newer than the equal one are opened."""
    keys = storage.keys(layout.raw_prefix(request.feed, day))
    if not any(f"-{sha8}." in key for key in keys):
        return False
    question = _question(request)
    for key in sorted(keys, key=_stamp, reverse=True):
        if f"-{sha8}." in key:
            return True
        stored = storage.get(key)  # None where it was pruned meanwhile
        if stored is not None and _question(_unframe(stored, key)[0]) == question:
            return False
    return False


def _question(request: Request) -> bytes:
    """What makes two requests the same question: the market day aside, since its folder says it."""
    params = [pair for pair in request.params if pair[0] not in request.nonce]
    return orjson.dumps([request.url, params, request.zone, request.part, request.body])


def _frame(request: Request) -> bytes:
    head = orjson.dumps(request)
    return struct.pack("<II", _SKIPPABLE, len(head)) + head


def _unframe(stored: bytes, key: str) -> tuple[Request, bytes]:
    try:
        magic, size = struct.unpack_from("<II", stored)
        if magic != _SKIPPABLE:
            raise StorageError(f"{key} does not say what was asked")
        return _request(orjson.loads(stored[8 : 8 + size])), stored[8 + size :]
    except (struct.error, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise StorageError(f"{key} does not decode: {error}") from None


def _request(member: dict[str, Any]) -> Request:
    pairs = {name: tuple((a, b) for a, b in member[name]) for name in ("params", "headers")}
    days = tuple(date.fromisoformat(day) for day in member["days"])
    return Request(**{**member, **pairs, "days": days, "nonce": tuple(member["nonce"]), "secrets": ()})


def _unpacked(rest: bytes, key: str) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompress(rest, max_output_size=_MOST_BYTES)
    except zstandard.ZstdError as error:
        raise StorageError(f"{key} does not decode: {error}") from None


def _stamp(key: str) -> int:
    return int(key.rsplit("/", 1)[1].split("-", 1)[0])


def _covers(request: Request, first: date | None, last: date | None) -> bool:
    if not request.days:
        return True
    return (last is None or min(request.days) <= last) and (first is None or max(request.days) >= first)
