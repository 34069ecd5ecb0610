"""The faults of the campaign that hold for a folder and a bucket alike: each harms a copy, runs the pipeline over it
and says whom it may cost.

A fault takes a copy and a source of chance, and returns what it did. Those of one place alone: `folder_kinds` and
`bucket_kinds`.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from assets.fetch.session import Fetched
from assets.ingest.context import Fetcher, PipelineContext
from assets.ingest.refresh import refresh_all
from assets.sources import feed
from tests.faults.places import Copy
from tests.faults.warehouse import FEEDS, LATER, ingest
from warehouse.errors import FeedUnavailable, MarketError
from warehouse.market.market import Request
from warehouse.store import layout


@dataclass(frozen=True)
class Harm:
    """What a fault did. `zones`: those whose documents may stay as they are; `reported`: whether the run said that
    something is wrong."""

    what: str
    zones: frozenset[str] = frozenset()
    reported: bool = False


Fault = Callable[[Copy, random.Random], Harm]


def reported(copy: Copy, pipeline: PipelineContext | None = None) -> bool:
    """An ingest over a harmed copy, by `pipeline` or one that starts; whether it reported anything."""
    reports, unpublished = ingest(pipeline or copy.opened(), LATER)
    findings = [f for report in reports for f in report.findings if f.severity == "error"]
    return bool(unpublished or findings or any(report.failed for report in reports))


def zones_of(key: str) -> frozenset[str]:
    """The zones that a key's loss may cost: that of a month file or document, those of a kept body's feed."""
    first, *rest = key.split("/")
    if first in ("series", "history"):
        return frozenset([next(part for part in rest if "zone=" in part).removeprefix("zone=")])
    if first == "raw":
        return frozenset(feed(".".join(rest[:2])).zones)
    if first == "published" and rest[0] in ("latest", "brief"):
        return frozenset([rest[1].removesuffix(".json")])
    return frozenset()


def random_file(copy: Copy, chance: random.Random) -> str:
    """The key of a random kept file."""
    return chance.choice([key for prefix in KEPT for key in copy.keys(prefix)])


KEPT = ("series/", "history/", "raw/", "published/")


def flip(copy: Copy, chance: random.Random) -> Harm:
    """One bit of a kept file."""
    key = random_file(copy, chance)
    body = bytearray(copy.read(key))
    at = chance.randrange(len(body) * 8)
    body[at // 8] ^= 1 << at % 8
    copy.overwrite(key, bytes(body))
    return Harm(f"bit {at} of {key}", zones_of(key), reported(copy))


def cut(copy: Copy, chance: random.Random) -> Harm:
    """A kept file ends early, or is empty."""
    key = random_file(copy, chance)
    body = copy.read(key)
    left = chance.choice([0, chance.randrange(len(body))])
    copy.overwrite(key, body[:left])
    return Harm(f"{key} cut to {left} bytes", zones_of(key), reported(copy))


def missing(copy: Copy, chance: random.Random) -> Harm:
    """A kept file is gone."""
    key = random_file(copy, chance)
    copy.remove(key)
    return Harm(f"{key} removed", zones_of(key), reported(copy))


def mode(copy: Copy, chance: random.Random) -> Harm:
    """The file that states the mode is empty, cut, another or gone: no row of another mode is folded in or served."""
    whole, body = copy.read(layout.MODE), chance.choice([b"", b"simu", b"recorded", b"Simulated?", None])
    if body is None:
        copy.remove(layout.MODE)
    else:
        copy.write(layout.MODE, body)
    try:
        reported(copy)
        refused = False
    except MarketError:
        refused = True
    copy.write(layout.MODE, whole)
    reported(copy)
    return Harm(f"mode {body!r}", reported=refused)


def clock(copy: Copy, chance: random.Random) -> Harm:
    """The documents are published by a clock that is hours off, before or after, and then by the right one."""
    off = chance.choice([-1, 1]) * chance.randrange(1, 72) * 3600
    refresh_all(copy.opened(LATER + off))
    return Harm(f"a clock off by {off // 3600} hours", reported=reported(copy))


@dataclass(frozen=True)
class Hostile:
    """A session whose answers for one feed are harmed."""

    session: Fetcher
    feed: str
    harm: Callable[[bytes], bytes]

    def ask(self, request: Request) -> Fetched:
        answer = self.session.ask(request)
        return replace(answer, body=self.harm(answer.body)) if request.feed == self.feed else answer


def publisher(copy: Copy, chance: random.Random) -> Harm:
    """One feed's answers are cut, empty, garbage, of another year or an error page; or the request itself breaks."""
    name = chance.choice(FEEDS)
    share = chance.random()

    def breaks(body: bytes) -> bytes:
        raise chance.choice([FeedUnavailable("503"), RuntimeError("a defect"), RecursionError("deep")])

    harms: dict[str, Callable[[bytes], bytes]] = {
        "cut": lambda body: body[: int(len(body) * share)],
        "empty": lambda body: b"",
        "garbage": lambda body: chance.randbytes(len(body)),
        "an error page": lambda body: b"<html><body>503 Service Unavailable</body></html>",
        "of 2062": lambda body: body.replace(b"2026", b"2062"),
        "of 1962": lambda body: body.replace(b"2026", b"1962"),
        "twice": lambda body: body + body,
        "broken": breaks,
        "deep": lambda body: b"[" * 100_000,
    }
    kind = chance.choice(sorted(harms))
    pipeline = copy.opened()
    hostile = replace(pipeline, session=Hostile(pipeline.session, name, harms[kind]))
    return Harm(f"{name}: answers {kind}", reported=reported(copy, hostile))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the log lines that a campaign writes by the thousand."""
    log = logging.getLogger("emds")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
