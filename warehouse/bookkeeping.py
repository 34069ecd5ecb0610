"""`logged`: bookkeeping never decides over data. What a block raises is logged with its place, and the work goes on.

For event logs, retention and health notes, and where one zone's or task's failure must not cost another's.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LOG = logging.getLogger("emds")
_LONGEST = 300


@dataclass(slots=True)
class Attempt:
    """How a `logged` block ended. `error` is None after a success."""

    place: str
    error: Exception | None = None

    @property
    def failure(self) -> str:
        """One line for people: the place, what was raised and where; empty after a success."""
        return "" if self.error is None else f"{self.place}: {described(self.error)}"


@contextmanager
def logged(place: str, failures: list[str] | None = None) -> Iterator[Attempt]:
    """Runs a block; whatever it raises (but a signal) is logged under `place` and goes no further.

    `failures`: to them it is added, a line that names the place.
    """
    attempt = Attempt(place)
    try:
        yield attempt
    except Exception as error:
        attempt.error = error
        if failures is not None:
            failures.append(attempt.failure)
        _LOG.error("%s", attempt.failure)
        _LOG.debug("%s", place, exc_info=error)


def described(error: BaseException) -> str:
    """The type and the text of an exception on one line, and the line of code that raised it."""
    text = " ".join(str(error).split())[:_LONGEST]
    return f"{type(error).__name__}{f': {text}' if text else ''}{raised_at(error)}"


def raised_at(error: BaseException) -> str:
    """` (health.py:61)`: where an exception was raised; empty for one that never was."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
