"""The faults of the campaign that only a bucket has: kills at a request, refused objects, a bad line, two writers."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from urllib.parse import unquote

from tests.faults import kinds
from tests.faults.kinds import Harm, random_file, reported, zones_of
from tests.faults.places import BucketCopy
from tests.faults.writers import Writer, forked
from tests.stand_ins.bad_line import Fault, bad_line
from warehouse.errors import MarketError

_REQUESTS = 1250
"""About so many requests an ingest takes."""


def _writer(copy: BucketCopy) -> Writer:
    """An ingest in a process of its own, over the endpoint that it will be told."""
    return forked(lambda endpoint: reported(copy, copy.opened(endpoint=endpoint)))


def _killed(
    copy: BucketCopy, victim: Writer, chance: random.Random, meanwhile: Callable[[], object] = lambda: None
) -> str:
    """Lets a writer work until it is killed at a random request of its own; how that is told."""
    step, after = chance.randrange(1, _REQUESTS), chance.random() < 0.5
    with bad_line(copy.server) as line:
        line.kill = lambda number: (victim.pid, after) if number == step else None
        victim.start(line.url)
        meanwhile()
        code = victim.ended()
    assert code in (0, 1, -9), f"the writer ended with {code}"
    return f"killed {'after' if after else 'before'} request {step}" if code < 0 else "ended before it was killed"


def kill(copy: BucketCopy, chance: random.Random) -> Harm:
    """SIGKILL before a random request of an ingest is forwarded, or before its answer comes back."""
    what = _killed(copy, _writer(copy), chance)
    return Harm(what, reported=reported(copy))


def two_writers(copy: BucketCopy, chance: random.Random) -> Harm:
    """Two ingests of one warehouse at once, of which one is killed; the other's report counts."""
    victim, other = _writer(copy), _writer(copy)
    what = _killed(copy, victim, chance, lambda: other.start(copy.server))
    code = other.ended()
    assert code in (0, 1), f"the other writer ended with {code}"
    return Harm(f"one of two {what}", reported=bool(code))


def unreadable(copy: BucketCopy, chance: random.Random) -> Harm:
    """A kept object is refused (403), or its store fails at it again and again (500)."""
    key = random_file(copy, chance)
    fault: Fault = chance.choice(["refused", "broken"])
    with bad_line(copy.server) as line:
        line.plan = lambda _, request: fault if unquote(request).partition("?")[0].endswith(f"/{key}") else ""
        said = reported(copy, copy.opened(endpoint=line.url))
    return Harm(f"{key}: {fault}", zones_of(key), said)


def _bad_line(faults: tuple[Fault, ...], copy: BucketCopy, chance: random.Random) -> Harm:
    """The line fails in these ways: at single requests, or at some in a row, more than a client bears.

    Nothing is promised of a run that this ends, but that nothing is lost; the next one makes all good.
    """
    failing, what = _failing(chance, 4 if "stall" in faults else 40)
    plan = {number: chance.choice(faults) for number in sorted(failing)}
    with bad_line(copy.server) as line:
        line.stall_s = 3.0
        line.plan = lambda number, _: plan.get(number, "")
        try:
            said = reported(copy, copy.opened(endpoint=line.url))
        except MarketError:
            said = True
        carried = len(line.requests)
    if said:
        reported(copy)
    return Harm(f"{' or '.join(faults)} at {what} of {carried}", reported=said)


def _failing(chance: random.Random, most: int) -> tuple[frozenset[int], str]:
    """The numbers of the requests that fail, and how that is told."""
    count = chance.randrange(1, most + 1)
    if chance.random() < 0.5:
        return frozenset(chance.sample(range(1, _REQUESTS), count)), f"{count} requests"
    first = chance.randrange(1, _REQUESTS)
    return frozenset(range(first, first + count)), f"requests {first} to {first + count - 1}"


_LINE: tuple[Fault, ...] = ("lost", "unanswered", "cut", "stall", "repeat", "late_repeat", "slow_down")

KINDS: dict[str, Callable[[BucketCopy, random.Random], Harm]] = {
    "kill": kill,
    "flip": kinds.flip,
    "cut": kinds.cut,
    "missing": kinds.missing,
    "unreadable": unreadable,
    "mode": kinds.mode,
    "clock": kinds.clock,
    "publisher": kinds.publisher,
    "two writers": two_writers,
    **{f"line {fault.replace('_', ' ')}": partial(_bad_line, (fault,)) for fault in _LINE},
    "line": partial(_bad_line, _LINE),
}
