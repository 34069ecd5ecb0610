"""Questions that threads ask at the same moment, answered by one of them in one go. What is asked is not known here."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Question = TypeVar("Question")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Turn:
    """One thread's question, and what became of it."""

    question: Any
    result: Any = None
    fault: BaseException | None = None
    over: bool = False


class Batcher(Generic[Question, Result]):
    """Combines the questions of threads that wait at the same moment into one call of `answer`.

    The first thread to find nobody at work answers everything that waits by then, its own question included. A thread
    that asks alone waits for nobody. `answer` gets at least one question and returns one result for each, in order;
    what it raises reaches every thread of that call.
    """

    def __init__(self, answer: Callable[[Sequence[Question]], Sequence[Result]]) -> None:
        self._answer = answer
        self._waiting: deque[_Turn] = deque()
        self._at_work = threading.Lock()

    def ask(self, question: Question) -> Result:
        """The result of one question."""
        turn = _Turn(question)
        self._waiting.append(turn)
        with self._at_work:
            if not turn.over:
                self._answer_all()
        if turn.fault is not None:
            raise turn.fault
        result: Result = turn.result
        return result

    def _answer_all(self) -> None:
        turns = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            for turn, result in zip(turns, self._answer([turn.question for turn in turns]), strict=True):
                turn.result = result
        except BaseException as fault:  # no thread may take a failure for a result
            for turn in turns:
                turn.fault = fault
            raise
        finally:
            for turn in turns:
                turn.over = True
