"""Bounds on how long one client may hold up a worker, where gunicorn has no setting: asked for by `gunicorn.conf.py` only.

Behind a proxy that reads requests whole none of this is needed; without one, sixty-four clients that dribble would do.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gunicorn import util

_SILENT_S, _STUCK_S = 5, 30
"""How long a client may send nothing in the middle of a request, and take nothing of an answer."""
_HEAD_S, _BODY_S = 15, 30
"""How long a request's head may take, and a request with a body altogether, however steadily it dribbles."""
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})

_reading: dict[int, tuple[float, socket.socket]] = {}
"""By thread: until when its client may go on, and the connection."""


def bound_silence(listeners: list[Any]) -> None:
    """Accepted sockets take these over from the listening one (Linux)."""
    for listener in listeners:
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _SILENT_S, 0))
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _STUCK_S, 0))


def close_aside() -> None:
    """gunicorn waits up to 2 s for each client that does not hang up, on the thread that accepts all others: not there."""
    closers, close = ThreadPoolExecutor(8, "closing"), util.close_graceful

    def aside(sock: socket.socket, timeout: float = 2.0, max_drain: int = 65_536) -> None:
        closers.submit(close, sock, timeout, max_drain)

    util.close_graceful = aside


def watch(worker: Any) -> None:
    """Notes when each thread of a worker turns to a client, and ends what takes too long."""
    handle: Callable[[Any], Any] = worker.handle

    def timed(connection: Any) -> Any:
        me = threading.get_ident()
        _reading[me] = time.monotonic() + _HEAD_S, connection.sock
        try:
            return handle(connection)
        finally:
            _reading.pop(me, None)

    worker.handle = timed
    threading.Thread(target=_end_the_slow, name="slow clients", daemon=True).start()


def head_read(request: Any) -> None:
    """A request's head is there: without a body, nothing more is waited for."""
    me = threading.get_ident()
    found = _reading.pop(me, None)
    if found is not None and request.method not in _BODILESS:
        _reading[me] = time.monotonic() + _BODY_S, found[1]


def _end_the_slow() -> None:
    while True:
        time.sleep(1)
        now = time.monotonic()
        for deadline, sock in list(_reading.values()):
            if now > deadline:
                with contextlib.suppress(OSError):  # it hung up meanwhile
                    sock.shutdown(socket.SHUT_RDWR)
