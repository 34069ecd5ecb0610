"""A thread stays with its client for a moment after an answer: the next request of a busy client is there at once.

gunicorn gives every connection back to its main thread after each answer, and has another thread take it up for the
next request: by way of a pipe, a poller and a queue, which under load is a fifth of a small answer's work.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any

_MOMENT_MS = 5


def stay_with_clients(worker: Any) -> None:
    """Make the threads of a gthread worker of gunicorn stay with their clients."""
    handle, waiting = worker.handle, worker.tpool._work_queue

    def serve(connection: Any) -> Any:
        return serve_on(worker, connection, handle, lambda: not waiting.empty())

    worker.handle = serve


def serve_on(worker: Any, connection: Any, handle: Callable[[Any], Any], crowded: Callable[[], bool]) -> Any:
    """Answer a connection's request by gunicorn's `handle`, and those that follow within a moment of its answer.

    Return what `handle` returned for the last. Where other requests wait for a thread (`crowded`), theirs come first.
    """
    goes_on = handle(connection)
    while goes_on is True and worker.alive and not crowded() and _has_more(connection):
        goes_on = handle(connection)
    return goes_on


def _has_more(connection: Any) -> bool:
    """Return whether a further request, or the connection's end, comes within a moment."""
    if connection.parser.unreader.buf.getvalue():
        return True  # it came with the one before
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(_MOMENT_MS))
