"""The faults of the campaign: each harms a copy of the warehouse, runs the pipeline over it and says whom it may cost.

A fault takes a copy, the instant of the run and a source of chance, and returns what it did.
"""

from __future__ import annotations

import errno
import logging
import os
import random
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from assets.fetch.session import Fetched
from assets.ingest.context import Fetcher, PipelineContext
from assets.ingest.refresh import refresh_all
from assets.sources import feed
from tests.faults.warehouse import FEEDS, LATER, ingest, opened
from warehouse import layout
from warehouse.errors import FeedUnavailable, MarketError
from warehouse.market import Request
from warehouse.storage import Folder


@dataclass(frozen=True)
class Harm:
    """What a fault did. `zones`: those whose documents may stay as they are; `reported`: whether the run said that
    something is wrong."""

    what: str
    zones: frozenset[str] = frozenset()
    reported: bool = False


Fault = Callable[[Path, random.Random], Harm]


def _run(pipeline: PipelineContext) -> bool:
    """An ingest over a harmed warehouse; whether it reported anything."""
    reports, unpublished = ingest(pipeline, LATER)
    findings = [f for report in reports for f in report.findings if f.severity == "error"]
    return bool(unpublished or findings or any(report.failed for report in reports))


def _zones(key: str) -> frozenset[str]:
    """The zones that a key's loss may cost: that of a month file or document, those of a kept body's feed."""
    first, *rest = key.split("/")
    if first in ("series", "history"):
        return frozenset([next(part for part in rest if "zone=" in part).removeprefix("zone=")])
    if first == "raw":
        return frozenset(feed(".".join(rest[:2])).zones)
    if first == "published" and rest[0] in ("latest", "brief"):
        return frozenset([rest[1].removesuffix(".json")])
    return frozenset()


def _file(home: Path, chance: random.Random, *prefixes: str) -> str:
    """The key of a random file below some folders."""
    keys = [key for prefix in prefixes for key in Folder(home).keys(prefix) if (home / key).stat().st_size]
    return chance.choice(keys)


KEPT = ("series/", "history/", "raw/", "published/")


def kill(home: Path, chance: random.Random) -> Harm:
    """SIGKILL before a random file operation of an ingest."""
    step = chance.randrange(1, 1500)
    pid = os.fork()
    if pid == 0:
        _kill_self_at(step)
        ingest(opened(home, LATER), LATER)
        os._exit(0)
    ended = os.waitpid(pid, 0)[1]
    reported = _run(opened(home, LATER))
    return Harm(f"killed at file operation {step}" if ended else "ended before it was killed", reported=reported)


def _kill_self_at(step: int) -> None:
    operations = ("open", "os.rename", "os.utime", "os.remove", "os.mkdir", "fcntl.flock")
    count = 0

    def hook(event: str, _: object) -> None:
        nonlocal count
        count += event in operations
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def flip(home: Path, chance: random.Random) -> Harm:
    """One bit of a kept file."""
    key = _file(home, chance, *KEPT)
    body = bytearray((home / key).read_bytes())
    at = chance.randrange(len(body) * 8)
    body[at // 8] ^= 1 << at % 8
    _overwrite(home / key, bytes(body))
    return Harm(f"bit {at} of {key}", _zones(key), _run(opened(home, LATER)))


def cut(home: Path, chance: random.Random) -> Harm:
    """A kept file ends early, or is empty."""
    key = _file(home, chance, *KEPT)
    body = (home / key).read_bytes()
    left = chance.choice([0, chance.randrange(len(body))])
    _overwrite(home / key, body[:left])
    return Harm(f"{key} cut to {left} bytes", _zones(key), _run(opened(home, LATER)))


def _overwrite(path: Path, body: bytes) -> None:
    """In place and with its old time, as a disk does it."""
    times = path.stat()
    path.write_bytes(body)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def missing(home: Path, chance: random.Random) -> Harm:
    """A kept file is gone."""
    key = _file(home, chance, *KEPT)
    (home / key).unlink()
    return Harm(f"{key} removed", _zones(key), _run(opened(home, LATER)))


class Refusing(Folder):
    """A folder of which one file cannot be read, as with foreign rights or a bad sector. Works for root too."""

    def __init__(self, root: Path, key: str, number: int) -> None:
        super().__init__(root)
        self.refused, self.number = key, number

    def get(self, key: str) -> bytes | None:
        if key == self.refused:
            raise PermissionError(self.number, os.strerror(self.number), key)
        return super().get(key)


def MarketStorageError(key: str, number: int) -> Exception:
    return PermissionError(number, os.strerror(number), key)


def unreadable(home: Path, chance: random.Random) -> Harm:
    """A kept file refuses to be read."""
    key = _file(home, chance, *KEPT)
    number = chance.choice([errno.EACCES, errno.EIO])
    pipeline = opened(home, LATER)
    reported = _run(replace(pipeline, storage=Refusing(home, key, number)))
    return Harm(f"{key}: {os.strerror(number)}", _zones(key), reported)


def mode(home: Path, chance: random.Random) -> Harm:
    """The file that states the mode is empty, cut, another or gone: no row of another mode is folded in or served."""
    path = home / layout.MODE
    whole, body = path.read_bytes(), chance.choice([b"", b"simu", b"recorded", b"Simulated?", None])
    path.unlink()
    if body is not None:
        path.write_bytes(body)
    try:
        _run(opened(home, LATER))
        reported = False
    except MarketError:
        reported = True
    path.write_bytes(whole)
    _run(opened(home, LATER))
    return Harm(f"mode {body!r}", reported=reported)


def full_disk(home: Path, chance: random.Random) -> Harm:
    """No file may grow beyond some bytes: writes fail in the middle. Nothing is promised but that nothing is lost."""
    most = chance.choice([0, 100, 1000, 10_000])
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        pipeline = opened(home, LATER)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        reported = _run(pipeline)
        os._exit(0 if reported else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 1), f"a full disk ended the run with {status}"
    _run(opened(home, LATER))
    return Harm(f"no file beyond {most} bytes", reported=status == 0)


def clock(home: Path, chance: random.Random) -> Harm:
    """The documents are published by a clock that is hours off, before or after, and then by the right one."""
    off = chance.choice([-1, 1]) * chance.randrange(1, 72) * 3600
    pipeline = opened(home, LATER + off)
    refresh_all(pipeline)
    return Harm(f"a clock off by {off // 3600} hours", reported=_run(opened(home, LATER)))


@dataclass(frozen=True)
class Hostile:
    """A session whose answers for one feed are harmed."""

    session: Fetcher
    feed: str
    harm: Callable[[bytes], bytes]

    def ask(self, request: Request) -> Fetched:
        answer = self.session.ask(request)
        return replace(answer, body=self.harm(answer.body)) if request.feed == self.feed else answer


def publisher(home: Path, chance: random.Random) -> Harm:
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
    pipeline = opened(home, LATER)
    reported = _run(replace(pipeline, session=Hostile(pipeline.session, name, harms[kind])))
    return Harm(f"{name}: answers {kind}", reported=reported)


KINDS: dict[str, Fault] = {
    "kill": kill,
    "flip": flip,
    "cut": cut,
    "missing": missing,
    "unreadable": unreadable,
    "mode": mode,
    "full disk": full_disk,
    "clock": clock,
    "publisher": publisher,
}


@contextmanager
def quiet() -> Iterator[None]:
    """Without the log lines that a campaign writes by the thousand."""
    log = logging.getLogger("emds")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
