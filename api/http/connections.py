"""Bounds of connections that gunicorn has no setting for: how long a client may take, how many there are, who serves.

`gunicorn.conf.py` alone calls this. Behind a proxy that reads requests whole, little of it is needed; without one, a
few dozen slow clients would occupy every thread.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import mmap
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from ipaddress import ip_address
from typing import Any

from gunicorn import util

from api.http.busy_clients import serve_on
from api.settings import Network

MOST_OPEN = 1000
"""Connections of a worker; a further one is answered 503 and closed."""
MOST_OF_AN_ADDRESS = 250
"""Connections of a worker from one address that is not a trusted proxy's."""
MOST_WAITING = 256
"""Requests of a worker that wait for a thread; a further one is answered 503 instead of waiting longer."""
_SILENT_S, _STUCK_S = 5, 30
"""How long a client may send nothing in the middle of a request, and take nothing of an answer."""
_HEAD_S, _BODY_S = 15, 30
"""How long a request's head may take, and a request with a body altogether, however steadily it arrives."""
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_SLOTS = 64
_SLOT = struct.Struct("ii")
_LEAD, _YIELDS, _YIELD_S = 1, 4, 0.0005
"""A worker with so many connections more than another lets that one accept, for so many tries of so long."""

_reading: dict[int, tuple[float, socket.socket]] = {}
"""By thread: until when its client may go on, and the connection."""


def bound_silence(listeners: list[Any]) -> None:
    """Bounds how long a client may stall; accepted sockets take this over from the listening one (Linux)."""
    for listener in listeners:
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _SILENT_S, 0))
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _STUCK_S, 0))


def close_aside() -> None:
    """Closes connections on threads of their own: gunicorn would wait up to 2 s each on the one thread that accepts.

    A reload, which calls this again, puts new threads in their place.
    """
    closers, close = ThreadPoolExecutor(8, "closing"), inspect.unwrap(util.close_graceful)

    @wraps(close)
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
    """Notes that the head of a request has been read: without a body, nothing more is waited for."""
    me = threading.get_ident()
    entry = _reading.pop(me, None)
    if entry is not None and request.method not in _BODILESS:
        _reading[me] = time.monotonic() + _BODY_S, entry[1]


def _end_the_slow() -> None:
    while True:
        time.sleep(1)
        now = time.monotonic()
        for deadline, sock in list(_reading.values()):
            if now > deadline:
                with contextlib.suppress(OSError):  # it hung up meanwhile
                    sock.shutdown(socket.SHUT_RDWR)


class OpenConnections:
    """How many connections each worker holds, in memory shared by all workers of one gunicorn; made before the fork."""

    def __init__(self) -> None:
        self._table = mmap.mmap(-1, _SLOTS * _SLOT.size)

    def note(self, worker: int, pid: int, count: int) -> None:
        """Notes a worker's connections; `worker` is its number (gunicorn numbers them by age)."""
        _SLOT.pack_into(self._table, worker % _SLOTS * _SLOT.size, pid, count)

    def leave(self, pid: int) -> None:
        """Forgets a worker that has ended."""
        for worker in range(_SLOTS):
            if _SLOT.unpack_from(self._table, worker * _SLOT.size)[0] == pid:
                self.note(worker, 0, 0)

    def others(self, pid: int) -> dict[int, int]:
        """How many connections each other worker holds, by its process id."""
        return {other: count for other, count in _SLOT.iter_unpack(self._table[:]) if other not in (0, pid)}

    def least_of_others(self, pid: int) -> int | None:
        """The fewest connections that another worker holds; None where there is no other."""
        return min(self.others(pid).values(), default=None)


def share_and_shed(worker: Any, shared: OpenConnections, overload: bytes, trusted: Sequence[Network]) -> None:
    """Makes a worker leave connections to workers with fewer, and send `overload` (a whole answer) beyond its bounds.

    All workers listen on one socket, and the kernel wakes them all: without this, sixteen clients that keep their
    connections may well end up at one worker of two. A socket for each worker (SO_REUSEPORT) would spread them by
    chance only, and lose those that a stopping worker has not accepted yet.
    """
    make_connection: Callable[..., Any] = _connection_type()
    enqueue: Callable[[Any], None] = worker.enqueue_req
    handle: Callable[[Any], Any] = worker.handle
    by_address: Counter[str] = Counter()
    waiting = _Waiting()
    tries = 0

    def noted() -> None:
        shared.note(worker.age, worker.pid, worker.nr_conns)

    def closed(host: str) -> None:
        by_address[host] -= 1
        if by_address[host] <= 0:
            del by_address[host]
        noted()

    def accept(listener: Any) -> None:
        nonlocal tries
        least = shared.least_of_others(worker.pid)
        if least is not None and worker.nr_conns > least + _LEAD and tries < _YIELDS:
            tries += 1
            time.sleep(_YIELD_S)
            return
        tries = 0
        try:
            sock, address = listener.accept()
        except OSError as fault:
            if fault.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)  # out of files: others close some; ending the worker would end its requests
            elif fault.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        host = address[0] if isinstance(address, tuple) else ""
        if worker.nr_conns >= MOST_OPEN or by_address[host] >= MOST_OF_AN_ADDRESS:
            _send_away(sock, overload)
            return
        worker.nr_conns += 1
        if not _is_trusted(host, trusted):
            by_address[host] += 1
        noted()
        sock.setblocking(True)
        connection = make_connection(worker.cfg, sock, address, listener.getsockname())
        connection.close = _closing_once(connection.close, partial(closed, host))
        bounded_enqueue(connection)

    def bounded_enqueue(connection: Any) -> None:
        if not waiting.enter():
            worker.nr_conns -= 1
            _say(connection.sock, overload)
            connection.close(graceful=True)
            return
        enqueue(connection)

    def started(connection: Any) -> Any:
        waiting.leave()
        return serve_on(worker, connection, handle, waiting.any)

    worker.accept, worker.enqueue_req, worker.handle = accept, bounded_enqueue, started
    noted()


class _Waiting:
    """How many requests wait for a thread, at most MOST_WAITING."""

    def __init__(self) -> None:
        self._count, self._lock = 0, threading.Lock()

    def enter(self) -> bool:
        with self._lock:
            if self._count >= MOST_WAITING:
                return False
            self._count += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._count -= 1

    def any(self) -> bool:
        return self._count > 0


def _connection_type() -> Callable[..., Any]:
    from gunicorn.workers.gthread import TConn

    made: Callable[..., Any] = TConn
    return made


def _closing_once(close: Callable[..., None], after: Callable[[], None]) -> Callable[..., None]:
    """A connection's `close` that calls `after` the first time: gunicorn may close one twice."""
    closed = False

    def closing(graceful: bool = False) -> None:
        nonlocal closed
        close(graceful)
        if not closed:
            closed = True
            after()

    return closing


def _is_trusted(host: str, trusted: Sequence[Network]) -> bool:
    """Whether a peer is a proxy of the owner's: everybody's connections come from there."""
    try:
        address = ip_address(host)
    except ValueError:
        return True  # a Unix socket: a proxy on this machine
    return any(address in network for network in trusted)


def _send_away(sock: socket.socket, overload: bytes) -> None:
    _say(sock, overload)
    util.close_graceful(sock)


def _say(sock: socket.socket, overload: bytes) -> None:
    """Sends a short answer without waiting: it fits the socket's own buffer."""
    with contextlib.suppress(OSError):
        sock.setblocking(False)
        sock.send(overload)
        sock.setblocking(True)
