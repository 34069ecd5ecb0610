"""Questions that threads ask at the same moment, answered by one of them in one go. What is asked is not known here."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Asked = TypeVar("Asked")
Told = TypeVar("Told")


@dataclass(slots=True, eq=False)
class _Turn:
    """One thread's question, and what became of it."""

    asked: Any
    told: Any = None
    fault: BaseException | None = None
    over: bool = False


class Batcher(Generic[Asked, Told]):
    """Whoever finds nobody at work answers all that wait by then, its own question among them; the rest wait for it.

    One that asks alone waits for nobody. `answer` gets at least one question and gives an answer for each, in their order; what it
    raises, all of them get.
    """

    def __init__(self, answer: Callable[[Sequence[Asked]], Sequence[Told]]) -> None:
        self._answer = answer
        self._waiting: deque[_Turn] = deque()
        self._at_work = threading.Lock()

    def ask(self, asked: Asked) -> Told:
        """The answer to one question."""
        mine = _Turn(asked)
        self._waiting.append(mine)
        with self._at_work:
            if not mine.over:
                self._answer_all()
        if mine.fault is not None:
            raise mine.fault
        told: Told = mine.told
        return told

    def _answer_all(self) -> None:
        turns = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            for turn, told in zip(turns, self._answer([turn.asked for turn in turns]), strict=True):
                turn.told = told
        except BaseException as fault:  # whatever it is, nobody may take it for an answer
            for turn in turns:
                turn.fault = fault
            raise
        finally:
            for turn in turns:
                turn.over = True
