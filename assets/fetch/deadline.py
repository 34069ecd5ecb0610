"""Bound a whole HTTP exchange by one deadline for every read of a socket, headers included.

The time-outs of requests and urllib3 apply to each read of the socket. A publisher that sends one header byte every few
seconds could keep a connection open without end. `Adapter` puts a reader between the socket and `http.client`, whose
`response_class` is the documented place for it. The connect time-out bounds the time to connect.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

_NEVER = float("inf")
_END: ContextVar[float] = ContextVar("end of the exchange", default=_NEVER)


class Overdue(TimeoutError):
    """The exchange's deadline has passed."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Bound all exchanges of this thread inside the block by `seconds` in total. Later reads raise Overdue."""
    token = _END.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


class _Reader(io.RawIOBase):
    """A reader of a socket. Its time-out is the shorter of the socket's own and the time until `end` (monotonic
    seconds).
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, end: float) -> None:
        super().__init__()
        self._raw, self._sock, self._end = raw, sock, end
        self._silence = sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise Overdue("the exchange's deadline has passed")
        self._sock.settimeout(left if self._silence is None else min(left, self._silence))
        try:
            return self._raw.readinto(buffer)
        except TimeoutError:
            if time.monotonic() >= self._end:
                raise Overdue("the exchange's deadline has passed") from None
            raise

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    """A response that is read through `_Reader`."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        end = _END.get()
        if end != _NEVER:
            self.fp = io.BufferedReader(_Reader(self.fp.detach(), sock, end))


class _Connection(HTTPConnection):
    response_class = _Response


class _TlsConnection(HTTPSConnection):
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS = {"http": _Pool, "https": _TlsPool}


class Adapter(HTTPAdapter):
    """An adapter of requests whose connections observe the deadline, also through a proxy."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        if not proxy.lower().startswith("socks"):  # a SOCKS manager has its own kind of connection
            manager.pool_classes_by_scheme = _POOLS
        return manager
