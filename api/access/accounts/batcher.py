"""Questions that threads ask at the same moment, answered by one of them in one go. What is asked is not known here."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Question = TypeVar("Question")
Result = TypeVar("Result")

_CROWD = 3
"""From so many questions on, a batch tells that threads come close behind each other."""
_SELDOM = 64
"""After smaller batches it is tried ever more seldom whether others are about to ask, at last before one in so many."""
_TAKEN_S = 0.001
"""Another program that had the core for so long took a time slice, and is likely to take the next too."""
_WORTH_IT = 8
"""So many questions in one batch are worth such a time slice."""


@dataclass(slots=True, eq=False)
class _Turn:
    """One thread's question, and what became of it."""

    question: Any
    result: Any = None
    fault: BaseException | None = None
    over: bool = False
    asleep: threading.Lock | None = None
    """Held until its thread is to go on: where another thread was at work when it came."""


class Batcher(Generic[Question, Result]):
    """Combines the questions of threads that wait at the same moment into one call of `answer`.

    The first thread to find nobody at work answers everything that waits by then, its own question included. It then
    wakes the first of those that came meanwhile, which answers them in turn, and each of its own: one lock that all of
    them wait for would pass from thread to thread, and the next answer wait for threads that have theirs. A thread that
    asks alone waits for nobody. `answer` gets at least one question and returns one result for each, in order; what it
    raises reaches every thread of that call.

    Where threads come close behind each other, the one that is to answer first lets those run that can: they have a
    question too, or none, and its batch takes along what they ask. It is no pause: where nobody can run, it goes on.
    But a program beside this one may take the core for a time slice. Where too few asked meanwhile, the next _SELDOM
    batches do without.
    """

    def __init__(self, answer: Callable[[Sequence[Question]], Sequence[Result]]) -> None:
        self._answer = answer
        self._waiting: list[_Turn] = []
        self._at_work = False
        self._changing = threading.Lock()
        self._small_batches = 0
        """How many in a row had fewer than _CROWD questions."""
        self._alone_for = 0
        """Before how many batches nobody is let run: another program took the core."""

    def ask(self, question: Question) -> Result:
        """The result of one question."""
        turn = _Turn(question)
        if asleep := self._join(turn):
            asleep.acquire()
        if not turn.over:
            self._answer_all(turn)
        if turn.fault is not None:
            raise turn.fault
        result: Result = turn.result
        return result

    def _join(self, turn: _Turn) -> threading.Lock | None:
        """What a turn waits for; None where nobody is at work."""
        with self._changing:
            self._waiting.append(turn)
            if self._at_work:
                turn.asleep = threading.Lock()
                turn.asleep.acquire()
            self._at_work = True
        return turn.asleep

    def _answer_all(self, own: _Turn) -> None:
        turns = [own]
        try:
            taken = self._let_others_run()
            with self._changing:
                turns, self._waiting = self._waiting, []
            if taken and len(turns) < _WORTH_IT:
                self._alone_for = _SELDOM
            self._small_batches = 0 if len(turns) >= _CROWD else self._small_batches + 1
            for turn, result in zip(turns, self._answer([turn.question for turn in turns]), strict=True):
                turn.result = result
        except BaseException as fault:  # no thread may take a failure for a result
            for turn in turns:
                turn.fault = fault
            raise
        finally:
            for turn in turns:
                turn.over = True
            self._pass_on()
            for turn in turns[1:]:  # the first is this thread's own
                assert turn.asleep is not None
                turn.asleep.release()

    def _let_others_run(self) -> bool:
        """Lets them where that is likely to pay. Tells whether another program took the core."""
        if self._alone_for:
            self._alone_for -= 1
            return False
        if not _is_due(self._small_batches):
            return False
        began, worked = time.perf_counter(), time.process_time()
        with contextlib.suppress(AttributeError, OSError):  # not every system has it, and a sandbox may forbid it
            os.sched_yield()
        unused = time.perf_counter() - began - (time.process_time() - worked)  # by this process
        return unused > _TAKEN_S

    def _pass_on(self) -> None:
        with self._changing:
            if self._waiting and self._waiting[0].over:  # this thread's own, where it failed before it took any
                del self._waiting[0]
            self._at_work = bool(self._waiting)
            following = self._waiting[0].asleep if self._waiting else None
        if following:
            following.release()


def _is_due(small_batches: int) -> bool:
    """Whether to let others run after so many small batches in a row: 0, 1, 2, 4, 8 and so on, then each 64."""
    return small_batches & (small_batches - 1) == 0 or small_batches % _SELDOM == 0
