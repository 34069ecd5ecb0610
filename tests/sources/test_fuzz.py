"""Parse mutated bodies of every feed: each gives rows or a typed failure, within 2 s and 500 MB.

There are 20,000 bodies, or 100,000 in a thorough run.
"""

from __future__ import annotations

import io
import math
import random
import re
import resource
import signal
import zipfile
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from assets.sources import feeds
from warehouse.errors import FeedError
from warehouse.judge.quality import judge
from warehouse.market.clock import LAST_INSTANT

pytestmark = pytest.mark.slow

SECONDS = 2
"""The limit of CPU time per body."""
MEGABYTES = 500
BODIES, MOST_BODIES = 20_000, 100_000
"""The number of bodies over all feeds, normally and in a thorough run."""
PLACES = 80
"""The number of places in a body at which a number is replaced."""

TOKENS = [
    b"",
    b"0",
    b"-",
    b"9" * 40,
    b"1e999",
    b"NaN",
    b"null",
    b"true",
    b'"',
    b"'",
    b",",
    b"\n",
    b"\r",
    b"{",
    b"[",
    b"}",
    b"]",
    b"<",
    b"&lt;",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xd9\xa1",
    b"_",
    b".",
    b"e5",
    b"2026-03-29T02:30",
    b"03/29/2026 02:30",
    b"10000",
    b"1969-12-31",
    b"9999-12-31T23:59:59Z",
    b"-0.0",
    b"9" * 5000,  # more digits than int() accepts
    b"[" * 3000,
    b"<a>" * 3000,
    "٣".encode(),
    "８８".encode("utf-16"),
]
EDIT = 5
"""The bytes of an edit: operation, position (two bytes, in 65536ths of the body), length, token."""


class Hang(BaseException):
    """A parser takes too long. This is a BaseException, so that no parser catches it."""


def mutated(body: bytes, edits: bytes) -> bytes:
    """Return the body with bytes replaced, inserted, deleted, repeated, or swapped with what follows."""
    for i in range(0, len(edits) - EDIT + 1, EDIT):
        what, high, low, length, which = edits[i : i + EDIT]
        at, length = (high * 256 + low) * len(body) // 65536, length // 3
        token = TOKENS[which] if which < len(TOKENS) else bytes([which])
        head, cut, tail = body[:at], body[at : at + length], body[at + length :]
        middle = (token, token + cut, b"", cut * 3, tail[:length] + cut)[what % 5]
        body = head + middle + (tail[length:] if what % 5 == 4 else tail)
    return body


def inside(body: bytes, edits: bytes) -> bytes:
    """Apply `edits` inside the members of a zip, since a broken zip is rejected before its members are read."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, mutated(old.read(entry), edits))
    return out.getvalue()


def drawn(name: str, count: int) -> Iterator[bytes]:
    """Yield one to five edits at a time, always the same for a name; about half of them use an entry of TOKENS.

    Plain random choice is enough: Hypothesis would take twice as long per example as the parser.
    """
    chance = random.Random(name)
    for _ in range(count):
        edits = bytearray(chance.randbytes(EDIT * chance.randint(1, 5)))
        for last in range(EDIT - 1, len(edits), EDIT):
            if edits[last] % 2:
                edits[last] = chance.randrange(len(TOKENS))
        yield bytes(edits)


@pytest.fixture(autouse=True)
def _clock() -> Iterator[None]:
    """Interrupt a parser that takes too long; `check` resets the timer for each body."""

    def hang(signum: int, frame: FrameType | None) -> None:
        raise Hang(f"over {SECONDS} s")

    before = signal.signal(signal.SIGPROF, hang)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


def check(sample: Any, body: bytes) -> None:
    """Parse a body, and check that it gives rows or a FeedError within the limits."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        rows = sample.parse(body)
    except FeedError:
        return
    for row in rows:
        assert row.zone in sample.feed.zones
        assert math.isfinite(row.value)
        assert type(row.ts) is int
        assert 0 <= row.ts <= LAST_INSTANT
    judge(rows, sample.feed, (), 0)


def attempt(sample: Any, edits: bytes) -> None:
    """Parse the sample's body with these edits."""
    mutate = inside if sample.body[:2] == b"PK" and edits[-1] % 4 else mutated
    check(sample, mutate(sample.body, edits))


def fuzz(sample: Any, count: int) -> None:
    """Parse `count` mutated bodies of a feed."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for edits in drawn(sample.name, count):
        try:
            attempt(sample, edits)
        except (Exception, Hang) as error:
            error.add_note(f"{sample.name} with the edits {edits!r}")
            raise
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES, f"{grown:.0f} MB"


def test_numbers_of_thousands_of_digits_fail_by_type(own: Any) -> None:
    """Check that a parser translates Python's own ValueError for numbers above 4,300 digits."""
    huge, numbers = b"9" * 5000, list(re.finditer(rb"\d+", own.body))
    for digits in numbers[:: -(-len(numbers) // PLACES)]:
        if own.body[:2] != b"PK":
            check(own, own.body[: digits.start()] + huge + own.body[digits.end() :])


@pytest.mark.timeout(1200)
def test_mutated_bodies(own: Any, thorough: bool) -> None:
    fuzz(own, -(-(MOST_BODIES if thorough else BODIES) // len(feeds())))
