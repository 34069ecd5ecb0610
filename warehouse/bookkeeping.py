"""Log failures of bookkeeping, which never decides over data. `logged` logs what a block raises, and work continues.

It is for event logs, retention and health notes, and for zones or tasks whose failure must not affect others.
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
    """The outcome of a `logged` block. `error` is None after a success."""

    place: str
    error: Exception | None = None

    @property
    def failure(self) -> str:
        """Return a line for people: the place, the exception and its location. Empty after a success."""
        return "" if self.error is None else f"{self.place}: {described(self.error)}"


@contextmanager
def logged(place: str, failures: list[str] | None = None) -> Iterator[Attempt]:
    """Run a block and log any Exception that it raises under `place`, without raising it.

    If `failures` is given, a line that names the place is added to it.
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
    """Return the type and the text of an exception on one line, with the line of code that raised it."""
    text = " ".join(str(error).split())[:_LONGEST]
    return f"{type(error).__name__}{f': {text}' if text else ''}{raised_at(error)}"


def raised_at(error: BaseException) -> str:
    """Return where an exception was raised, as ` (health.py:61)`. Empty if it was never raised."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
