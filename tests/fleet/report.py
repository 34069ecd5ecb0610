"""What a run of the fleet told: answers, errors, rows, charges, times; as text and as JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from tests.fleet.kills import Kill
from tests.fleet.rows import Difference
from tests.fleet.traffic import Done, Tally

GRACE_S = 5.0
"""Calls that were due so long after a part was back still met what its absence had left."""


@dataclass(frozen=True)
class Charges:
    """The keys' counts against the answers that they got."""

    keys: int
    answers: int
    """That cost."""
    counted: int
    too_few: int
    """Answers that were not counted."""
    unanswered: int
    """Counted calls without an answer of their own, each under way where something was killed."""
    too_many: int
    """Counted calls beyond those."""
    over_quota: int
    """Answers beyond a key's quota."""


@dataclass(frozen=True)
class Report:
    """One run. Times in seconds, rates in calls a second."""

    seconds: float
    capacity: float
    rate: float
    calls: Sequence[Done]
    errors: Sequence[Done]
    kills: Sequence[Kill]
    rows: Difference
    charges: Charges
    runs: Counter[str]
    asked_again: int
    """Market days that were not done at the end and were asked for again."""
    backfill_days: int

    def beyond(self) -> list[Done]:
        """Errors of calls that no restart explains."""
        return [done for done in self.errors if not self._in_restart(done)]

    def _in_restart(self, done: Done) -> bool:
        return any(kill.at - done.seconds <= done.at <= kill.back_at + GRACE_S for kill in self.kills)

    def p99_ms(self, restarts: bool) -> float:
        """Of answered calls; with those that were due in a restart, or without."""
        times = sorted(d.seconds for d in self.calls if d.status and (restarts or not self._in_restart(d)))
        return times[int(len(times) * 0.99)] * 1e3 if times else 0.0

    def back(self) -> dict[str, list[float]]:
        """Seconds from kill to work, by part."""
        found: dict[str, list[float]] = defaultdict(list)
        for kill in self.kills:
            found[kill.part].append(round(kill.seconds, 1))
        return dict(found)

    def sound(self) -> bool:
        """Whether no row is lost, doubled or wrong, no charge, and every part came back."""
        rows, charges = self.rows, self.charges
        return all(kill.back for kill in self.kills) and not any(
            (rows.lost, rows.doubled, rows.wrong, charges.too_few, charges.too_many, charges.over_quota)
        )

    def as_json(self) -> dict[str, Any]:
        """All figures, and every error beyond a restart."""
        return {
            "seconds": round(self.seconds, 1),
            "capacity": round(self.capacity, 1),
            "rate": round(self.rate, 1),
            "answers": len(self.calls) - len(self.errors),
            "by_kind": Counter(f"{done.kind} {done.status}" for done in self.calls),
            "errors": len(self.errors),
            "errors_beyond_restarts": [asdict(done) for done in self.beyond()],
            "p99_ms": round(self.p99_ms(restarts=False), 1),
            "p99_ms_with_restarts": round(self.p99_ms(restarts=True), 1),
            "seconds_to_recover": self.back(),
            "not_back": [kill.part for kill in self.kills if not kill.back],
            "rows": asdict(self.rows),
            "charges": asdict(self.charges),
            "runs": self.runs,
            "days_backfilled": self.backfill_days,
            "days_asked_for_again": self.asked_again,
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        beyond, rows, charges = self.beyond(), self.rows, self.charges
        yield f"{self.rate:.0f} calls a second for {self.seconds:.0f} s; capacity {self.capacity:.0f}"
        yield f"answers            {len(self.calls) - len(self.errors)}"
        yield f"errors             {len(self.errors)}, of them {len(beyond)} beyond the seconds of a restart"
        yield f"p99                {self.p99_ms(False):.0f} ms; {self.p99_ms(True):.0f} ms with the seconds of restarts"
        for part, times in self.back().items():
            each = f"killed {len(times)} times, back after {median(times):.1f} s (at most {max(times):.1f})"
            never = sum(kill.part == part and not kill.back for kill in self.kills)
            yield f"{part:18} {each}{f'; {never} times not at all' if never else ''}"
        yield f"rows               {rows.rows}: lost {rows.lost}, doubled {rows.doubled}, wrong {rows.wrong}"
        yield (
            f"charges            {charges.answers} answers that cost by {charges.keys} keys: not counted "
            f"{charges.too_few}, over a quota {charges.over_quota}, counted without an answer {charges.unanswered} "
            f"under way at a kill and {charges.too_many} otherwise"
        )
        yield f"runs               {', '.join(f'{number} {name}' for name, number in self.runs.items())}"
        yield from (f"not taken up       {kill.why}" for kill in self.kills if kill.why)
        yield f"backfill           {self.backfill_days} days; {self.asked_again} asked for again"
        for done in beyond[:20]:
            yield f"  {done.kind} {done.status} {done.what}"


def charges(
    tally: Tally, counts: dict[int, int], passed_on: Counter[int], quotas: dict[int, int], kills: Sequence[Kill]
) -> Charges:
    """`counts`: what the database says, by key. `passed_on`: calls that nginx sent to a second replica, by key.

    `quotas`: of keys with a small one. A call that was under way when the database was killed may be counted twice: its
    statement is sent again where nobody knows whether it held.
    """
    twice = Counter(
        done.key
        for kill in kills
        if kill.part == "database"
        for done in tally.calls
        if done.at <= kill.at + 1 and done.at + done.seconds >= kill.at
    )
    few = unanswered = many = over = 0
    for key, count in counts.items():
        answered, unknown = tally.cost[key], tally.open[key] + passed_on[key] + twice[key]
        few += max(0, answered - count)
        unanswered += min(max(0, count - answered), unknown)
        many += max(0, count - answered - unknown)
        over += max(0, answered - quotas.get(key, 500))
    return Charges(len(counts), tally.cost.total(), sum(counts.values()), few, unanswered, many, over)
