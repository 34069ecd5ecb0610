"""Run random faults in turn, each on its own copy: `make faults` runs all kinds over folders for an hour by default.

    python -m tests.campaigns.faults [SECONDS [SEED [folder|bucket [KIND...]]]]

After each fault the pipeline runs once over the damaged copy; then the copy is repaired, rebuilt from the raw archive
and ingested again. **lost** counts rows that are no longer served. **wrong** counts rows served at either moment that
are not true, although the run reported nothing. **stale** counts zones that the fault does not affect and whose
documents were not renewed. The exit code is 1 after a bad case.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestration.work import verify
from tests.campaigns.copies import Copy, copied, into_bucket
from tests.campaigns.kinds import KINDS, MOST_S, Harm
from tests.campaigns.small import LATER, Truth, built, ingest, renewed, reparse, served, with_documents


@dataclass(frozen=True)
class Verdict:
    """The result of a case."""

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


def counts(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line per kind, each bad case, and the sum."""
    for kind in dict.fromkeys(verdict.kind for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.kind == kind]
        said, bad = sum(verdict.reported for verdict in own), sum(not verdict.good for verdict in own)
        yield f"{kind:16} {len(own):6} cases, {said:6} reported by the run, {bad:4} bad"
    yield from (str(verdict) for verdict in verdicts if not verdict.good)
    lost, wrong = sum(v.lost for v in verdicts), sum(v.wrong for v in verdicts)
    stale, died = sum(len(v.stale) for v in verdicts), sum(bool(v.error) for v in verdicts)
    yield f"{len(verdicts)} faults: lost {lost}, silently wrong {wrong}, other zones not renewed {stale}, died {died}"


def run(folder: Path, seconds: float, seed: int, place: str = "folder", only: Collection[str] = ()) -> list[Verdict]:
    """Run every kind, or those in `only`, at least once, then in turn until the time is up.

    Over a bucket it needs its own process, because a process that has opened a client cannot fork the cases.
    """
    kinds = {kind: fault for kind, fault in KINDS[place].items() if not only or kind in only}
    truth, verdicts = built(folder), list[Verdict]()
    base = truth.home
    if place == "bucket":
        base = folder / "objects"
        into_bucket(truth.home, base)
    ends = time.monotonic() + seconds
    while len(verdicts) < len(kinds) or time.monotonic() < ends:
        kind, number = list(kinds)[len(verdicts) % len(kinds)], seed * 1_000_003 + len(verdicts)
        verdicts.append(in_child(truth, kinds[kind], copied(place, base, str(number)), kind, number))
        if not verdicts[-1].good:
            print(verdicts[-1], file=sys.stderr, flush=True)
        for left in folder.glob(f"{number}*"):
            shutil.rmtree(left, ignore_errors=True)
    return verdicts


def in_child(truth: Truth, fault: Callable[[Any, random.Random], Harm], copy: Copy, kind: str, number: int) -> Verdict:
    """Run a case in a separate process, which takes its settings, patches and open files with it."""
    answer = truth.home.parent / "verdict"
    answer.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        signal.alarm(2 * MOST_S)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        try:
            verdict = case(truth, fault, copy, kind, number)
        except BaseException as error:  # every error is the case's verdict
            verdict = Verdict(kind, number, "died", error=f"{type(error).__name__}: {error}"[:300])
        answer.write_bytes(pickle.dumps(verdict))
        os._exit(0)
    os.waitpid(pid, 0)
    return pickle.loads(answer.read_bytes()) if answer.exists() else Verdict(kind, number, "died", error="killed")  # type: ignore[no-any-return]


def case(truth: Truth, fault: Callable[[Any, random.Random], Harm], copy: Copy, kind: str, number: int) -> Verdict:
    """Damage a copy, compare it, repair it, and compare it again."""
    harm = fault(copy, random.Random(number))
    pipeline = copy.opened()
    wrong = 0 if harm.reported else truth.wrong(served(pipeline)[0])
    stale = with_documents(truth) - harm.zones - set(renewed(pipeline, LATER))
    copy.opened()  # also sets the copy in the environment
    verify.repair()
    pipeline = copy.opened()
    reparse(pipeline, LATER)
    ingest(pipeline, LATER)
    rows, unreadable = served(copy.opened())
    wrong += truth.wrong(rows)
    found = (*sorted(stale), *unreadable)
    return Verdict(kind, number, harm.what, truth.lost(rows), wrong, found, reported=harm.reported)


if __name__ == "__main__":
    seconds, seed, place, *only = (*sys.argv[1:], *("3600", "1", "folder")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        verdicts = run(Path(folder), float(seconds), int(seed), place, only)
    print(*counts(verdicts), sep="\n")
    sys.exit(0 if all(verdict.good for verdict in verdicts) else 1)
