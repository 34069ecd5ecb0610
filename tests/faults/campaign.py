"""The fault campaign: random faults in turn, each on a copy of its own, until the time is up; counts by kind.

After each fault the pipeline runs once over the harmed copy, then the copy is repaired, rebuilt from kept bytes and
ingested anew. **lost**: rows served before and no more. **wrong**: rows served, at either moment, that are not true,
while the run reported nothing. **stale**: zones that the fault does not concern and whose documents were not renewed.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestration.work import repair
from tests.faults import bucket_kinds, folder_kinds
from tests.faults.kinds import Harm, quiet
from tests.faults.places import Copy, FolderPlace, Place, bucket_place
from tests.faults.warehouse import LATER, Truth, built, ingest, renewed, reparse, served, with_documents
from tests.faults.writers import MOST_S

KINDS: Mapping[str, Mapping[str, Callable[[Any, random.Random], Harm]]] = {
    "folder": folder_kinds.KINDS,
    "bucket": bucket_kinds.KINDS,
}
"""The faults of each place: each takes a copy there."""


@dataclass(frozen=True)
class Verdict:
    """What became of one case."""

    kind: str
    number: int
    what: str
    lost: int = 0
    wrong: int = 0
    stale: tuple[str, ...] = ()
    error: str = ""
    reported: bool = False

    @property
    def good(self) -> bool:
        return not (self.lost or self.wrong or self.stale or self.error)

    def __str__(self) -> str:
        stale = f", not renewed: {' '.join(self.stale)}" if self.stale else ""
        return (
            f"{self.kind} {self.number}: {self.what}: lost {self.lost}, wrong {self.wrong}{stale} {self.error}".rstrip()
        )


@dataclass
class Result:
    """The verdicts so far."""

    cases: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)
    bad: list[Verdict] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        self.cases[verdict.kind] += 1
        self.reported[verdict.kind] += verdict.reported
        if not verdict.good:
            self.bad.append(verdict)

    def lines(self) -> Iterator[str]:
        """A line a kind, each bad case, and the sum."""
        for kind, count in self.cases.items():
            bad = sum(verdict.kind == kind for verdict in self.bad)
            yield f"{kind:16} {count:6} cases, {self.reported[kind]:6} reported by the run, {bad:4} bad"
        yield from map(str, self.bad)
        lost, wrong = sum(v.lost for v in self.bad), sum(v.wrong for v in self.bad)
        stale, errors = sum(len(v.stale) for v in self.bad), sum(bool(v.error) for v in self.bad)
        yield (
            f"{self.cases.total()} faults: lost {lost}, silently wrong {wrong}, other zones not renewed {stale}, "
            f"runs that died {errors}"
        )


def run(
    folder: Path,
    seconds: float,
    seed: int,
    place: str = "folder",
    only: Collection[str] = (),
    say: Callable[[str], object] = lambda line: None,
) -> Result:
    """Every kind, or `only` these, at least once, then in turn until the time is up.

    `say` gets a line a bad case and a round. Over a bucket in a process of its own alone: one that has ever opened
    a client cannot fork the cases.
    """
    kinds = {kind: fault for kind, fault in KINDS[place].items() if not only or kind in only}
    with quiet(), ExitStack() as served_meanwhile:
        truth, result = built(folder), Result()
        copies: Place = FolderPlace(truth.home)
        if place == "bucket":
            copies = served_meanwhile.enter_context(bucket_place(truth.home))
        ends, number = time.monotonic() + seconds, 0
        while number < len(kinds) or time.monotonic() < ends:
            kind = list(kinds)[number % len(kinds)]
            verdict = in_child(truth, kinds[kind], copies, kind, seed * 1_000_003 + number)
            result.add(verdict)
            number += 1
            if not verdict.good:
                say(str(verdict))
            if number % len(kinds) == 0:
                say(f"{number} faults, {len(result.bad)} bad")
    return result


def in_child(
    truth: Truth, fault: Callable[[Any, random.Random], Harm], copies: Place, kind: str, number: int
) -> Verdict:
    """One case in a process of its own: what it sets, patches or leaves open goes with it."""
    answer = truth.home.parent / f"{number}.verdict"
    copy = copies.copy(str(number))
    pid = os.fork()
    if pid == 0:
        signal.alarm(2 * MOST_S)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        try:
            verdict = case(truth, fault, copy, kind, number)
        except BaseException as error:  # the case's verdict, whatever it is
            verdict = Verdict(kind, number, "died", error=f"{type(error).__name__}: {error}"[:300])
        answer.write_bytes(pickle.dumps(verdict))
        os._exit(0)
    os.waitpid(pid, 0)
    verdict = pickle.loads(answer.read_bytes()) if answer.exists() else Verdict(kind, number, "died", error="killed")
    answer.unlink(missing_ok=True)
    copy.clear()
    return verdict  # type: ignore[no-any-return]


def case(truth: Truth, fault: Callable[[Any, random.Random], Harm], copy: Copy, kind: str, number: int) -> Verdict:
    """Harms a copy, looks, repairs, looks again."""
    harm = fault(copy, random.Random(number))
    pipeline = copy.opened()
    wrong = 0 if harm.reported else truth.wrong(served(pipeline)[0])
    stale = with_documents(truth) - harm.zones - set(renewed(pipeline, LATER))
    _repaired(copy)
    rows, unreadable = served(copy.opened())
    wrong += truth.wrong(rows)
    return Verdict(
        kind, number, harm.what, truth.lost(rows), wrong, (*sorted(stale), *unreadable), reported=harm.reported
    )


def _repaired(copy: Copy) -> None:
    """`emds repair`, `emds rebuild` and a clean ingest."""
    copy.opened()  # which also names the copy in the environment
    repair.main()
    pipeline = copy.opened()
    reparse(pipeline, LATER)
    ingest(pipeline, LATER)
