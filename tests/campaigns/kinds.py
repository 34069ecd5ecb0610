"""Define the campaign's faults: each damages a copy, runs the pipeline over it, and reports the damage and its reach.

A fault takes a copy and a source of random numbers. Processes that ingest are forked before a copy's server or client
is used.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from assets.fetch.session import Fetched
from assets.ingest.context import Fetcher, PipelineContext
from assets.ingest.refresh import refresh_all
from assets.sources import feed
from tests.campaigns.copies import BucketCopy, Copy, FolderCopy
from tests.campaigns.small import FEEDS, LATER, ingest
from tests.stand_ins.bad_line import Fault, bad_line
from warehouse.errors import FeedUnavailable, MarketError
from warehouse.market.feeds import Request
from warehouse.store import layout
from warehouse.store.storage import Folder

KEPT = ("series/", "history/", "raw/", "published/")
MOST_S = 900
"""The seconds after which a process counts as hanging and is killed."""
REQUESTS = 1250
"""The approximate number of requests of an ingest over a bucket."""


@dataclass(frozen=True)
class Harm:
    """The effect of a fault: the `zones` whose documents may stay old, and whether the run `reported` an error."""

    what: str
    zones: frozenset[str] = frozenset()
    reported: bool = False


def reported(copy: Copy, pipeline: PipelineContext | None = None) -> bool:
    """Ingest over a damaged copy, by `pipeline` or a new one; return whether the run reported anything."""
    reports, unpublished = ingest(pipeline or copy.opened(), LATER)
    findings = [f for report in reports for f in report.findings if f.severity == "error"]
    return bool(unpublished or findings or any(report.failed for report in reports))


def zones_of(key: str) -> frozenset[str]:
    """Return the zones that a key's loss affects: those of a monthly file or document, or of a raw response's feed."""
    first, *rest = key.split("/")
    if first in ("series", "history"):
        return frozenset([next(part for part in rest if "zone=" in part).removeprefix("zone=")])
    if first == "raw":
        return frozenset(feed(".".join(rest[:2])).zones)
    if first == "published" and rest[0] in ("latest", "brief"):
        return frozenset([rest[1].removesuffix(".json")])
    return frozenset()


def random_file(copy: Copy, chance: random.Random) -> str:
    """Return the key of a random stored file."""
    return chance.choice([key for prefix in KEPT for key in copy.keys(prefix)])


def flip(copy: Copy, chance: random.Random) -> Harm:
    """Flip a bit of a stored file."""
    key = random_file(copy, chance)
    body = bytearray(copy.read(key))
    at = chance.randrange(len(body) * 8)
    body[at // 8] ^= 1 << at % 8
    copy.overwrite(key, bytes(body))
    return Harm(f"bit {at} of {key}", zones_of(key), reported(copy))


def cut(copy: Copy, chance: random.Random) -> Harm:
    """Cut or empty a stored file."""
    key = random_file(copy, chance)
    body = copy.read(key)
    left = chance.choice([0, chance.randrange(len(body))])
    copy.overwrite(key, body[:left])
    return Harm(f"{key} cut to {left} bytes", zones_of(key), reported(copy))


def missing(copy: Copy, chance: random.Random) -> Harm:
    """Remove a stored file."""
    key = random_file(copy, chance)
    copy.remove(key)
    return Harm(f"{key} removed", zones_of(key), reported(copy))


def mode(copy: Copy, chance: random.Random) -> Harm:
    """Empty, cut, change or remove the file of the mode; no row of another mode may be folded or served."""
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
    """Publish the documents by a clock that is hours ahead or behind, and then by the right one."""
    off = chance.choice([-1, 1]) * chance.randrange(1, 72) * 3600
    refresh_all(copy.opened(LATER + off))
    return Harm(f"a clock off by {off // 3600} hours", reported=reported(copy))


@dataclass(frozen=True)
class Hostile:
    """A session whose responses for one feed are damaged."""

    session: Fetcher
    feed: str
    harm: Callable[[bytes], bytes]

    def ask(self, request: Request) -> Fetched:
        answer = self.session.ask(request)
        return replace(answer, body=self.harm(answer.body)) if request.feed == self.feed else answer


def publisher(copy: Copy, chance: random.Random) -> Harm:
    """Cut, empty or garble one feed's responses, send another year or an error page, or break the request itself."""
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


# The following faults are only for a folder.


def kill_at_operation(copy: FolderCopy, chance: random.Random) -> Harm:
    """Send SIGKILL before a random file operation of an ingest."""
    step, count = chance.randrange(1, 1500), 0
    operations = ("open", "os.rename", "os.utime", "os.remove", "os.mkdir", "fcntl.flock")

    def hook(event: str, _: object) -> None:
        nonlocal count
        count += event in operations
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        sys.addaudithook(hook)
        reported(copy)
        os._exit(0)
    ended = os.waitpid(pid, 0)[1]
    what = f"killed at file operation {step}" if ended else "ended before it was killed"
    return Harm(what, reported=reported(copy))


class Refusing(Folder):
    """A folder with one unreadable file, as with another owner's permissions or a bad sector. Works for root too."""

    def __init__(self, root: Path, key: str, number: int) -> None:
        super().__init__(root)
        self.refused, self.number = key, number

    def get(self, key: str) -> bytes | None:
        if key == self.refused:
            raise PermissionError(self.number, os.strerror(self.number), key)
        return super().get(key)


def unreadable_file(copy: FolderCopy, chance: random.Random) -> Harm:
    """Make a stored file unreadable."""
    key, number = random_file(copy, chance), chance.choice([errno.EACCES, errno.EIO])
    refusing = replace(copy.opened(), storage=Refusing(copy.home, key, number))
    return Harm(f"{key}: {os.strerror(number)}", zones_of(key), reported(copy, refusing))


def full_disk(copy: FolderCopy, chance: random.Random) -> Harm:
    """Limit the size of files, so that writes fail in the middle; the only guarantee is that nothing is lost."""
    most = chance.choice([0, 100, 1000, 10_000])
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        pipeline = copy.opened()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        os._exit(0 if reported(copy, pipeline) else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 1), f"a full disk ended the run with {status}"
    reported(copy)
    return Harm(f"no file beyond {most} bytes", reported=status == 0)


# The following faults are only for a bucket.


@dataclass(frozen=True)
class Writer:
    """A child that waits for an endpoint, ingests over it, and exits with 1 if the ingest reported anything."""

    copy: BucketCopy
    pid: int
    pipe: int

    @classmethod
    def forked(cls, copy: BucketCopy) -> Writer:
        waits, pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(MOST_S)
            os.close(pipe)
            code = 2
            try:
                endpoint = os.read(waits, 4096).decode()
                code = int(reported(copy, copy.opened(endpoint=endpoint))) if endpoint else 3
            finally:
                os._exit(code)
        os.close(waits)
        return cls(copy, pid, pipe)

    def start(self, endpoint: str) -> None:
        os.write(self.pipe, endpoint.encode())
        os.close(self.pipe)

    def ended(self) -> int:
        """Return the exit code, negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def killed(self, chance: random.Random, meanwhile: Callable[[], object] = lambda: None) -> str:
        """Let the child work until it is killed at a random request of its own, before or after forwarding."""
        step, after = chance.randrange(1, REQUESTS), chance.random() < 0.5
        with bad_line(self.copy.server) as line:
            line.kill = lambda number: (self.pid, after) if number == step else None
            self.start(line.url)
            meanwhile()
            code = self.ended()
        assert code in (0, 1, -9), f"the writer ended with {code}"
        return f"killed {'after' if after else 'before'} request {step}" if code < 0 else "ended before it was killed"


def kill_at_request(copy: BucketCopy, chance: random.Random) -> Harm:
    """Send SIGKILL before a random request of an ingest is forwarded, or before its response returns."""
    what = Writer.forked(copy).killed(chance)
    return Harm(what, reported=reported(copy))


def two_writers(copy: BucketCopy, chance: random.Random) -> Harm:
    """Run two ingests of one warehouse at once and kill one; the report of the other counts."""
    victim, other = Writer.forked(copy), Writer.forked(copy)
    what = victim.killed(chance, lambda: other.start(copy.server))
    code = other.ended()
    assert code in (0, 1), f"the other writer ended with {code}"
    return Harm(f"one of two {what}", reported=bool(code))


def unreadable_object(copy: BucketCopy, chance: random.Random) -> Harm:
    """Reject reads of a stored object (403), or let its store fail repeatedly (500)."""
    key, fault = random_file(copy, chance), chance.choice(["refused", "broken"])
    with bad_line(copy.server) as line:
        line.plan = lambda _, request: fault if unquote(request).partition("?")[0].endswith(f"/{key}") else ""
        said = reported(copy, copy.opened(endpoint=line.url))
    return Harm(f"{key}: {fault}", zones_of(key), said)


def _bad_line(faults: tuple[Fault, ...], copy: BucketCopy, chance: random.Random) -> Harm:
    """Let the connection fail at single requests, or at more consecutive ones than a client retries.

    The only guarantee for a run that fails is that nothing is lost; the next run repairs everything.
    """
    count, first = chance.randrange(1, 5 if "stall" in faults else 41), chance.randrange(1, REQUESTS)
    in_a_row = chance.random() < 0.5
    failing = range(first, first + count) if in_a_row else sorted(chance.sample(range(1, REQUESTS), count))
    plan = {number: chance.choice(faults) for number in failing}
    with bad_line(copy.server) as line:
        line.stall_s = 3.0
        line.plan = lambda number, _: plan.get(number, "")
        try:
            said = reported(copy, copy.opened(endpoint=line.url))
        except MarketError:
            said = True
    if said:
        reported(copy)
    return Harm(f"{' or '.join(faults)} at {count} requests{' in a row' if in_a_row else ''}", reported=said)


LINE: tuple[Fault, ...] = ("lost", "unanswered", "cut", "stall", "repeat", "late_repeat", "slow_down")
_ANYWHERE = {"flip": flip, "cut": cut, "missing": missing, "mode": mode, "clock": clock, "publisher": publisher}
KINDS: Mapping[str, Mapping[str, Callable[[Any, random.Random], Harm]]] = {
    "folder": {"kill": kill_at_operation, **_ANYWHERE, "unreadable": unreadable_file, "full disk": full_disk},
    "bucket": {
        "kill": kill_at_request,
        **_ANYWHERE,
        "unreadable": unreadable_object,
        "two writers": two_writers,
        **{f"line {fault.replace('_', ' ')}": partial(_bad_line, (fault,)) for fault in LINE},
        "line": partial(_bad_line, LINE),
    },
}
"""The faults of a folder and of a bucket."""
