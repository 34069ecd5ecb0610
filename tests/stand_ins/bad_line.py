"""Forward requests to an HTTP server on loopback over a faulty line, which loses, stalls and repeats requests.

Responses can fail too. The line counts requests. It can kill a process before it forwards a request or before it
returns the response.
"""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Fault = Literal[
    "", "unconditional", "lost", "unanswered", "cut", "slow_down", "stall", "repeat", "late_repeat", "refused", "broken"
]
"""`unconditional` removes the conditions of a request, and `lost` does not forward it.

`unanswered` forwards the request but closes the connection without a response. `cut` sends half of the response's body.
`stall` waits `stall_s` seconds before it forwards the request. `repeat` forwards the request twice, and `late_repeat`
forwards it once more after the next request. `slow_down`, `refused` and `broken` return 503, 403 and 500.
"""

_ANSWERS = {
    "slow_down": (503, b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"),
    "refused": (403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"),
    "broken": (500, b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"),
}
"""The responses that the line sends instead of those of the server."""


@dataclass
class BadLine:
    """The URL of the line, the requests that it has carried, and the faults that it applies next."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    """The method and path of each request."""
    plan: Callable[[int, str], Fault] = lambda number, request: ""
    """Returns the fault of a request from its number, counted from 1, and its method and path."""
    kill: Callable[[int], tuple[int, bool] | None] = lambda number: None
    """Returns the process that a request kills, and whether the line forwards the request before the kill."""
    answered: Callable[[int], object] = lambda length: None
    """Receives the length of each response's body."""
    stall_s: float = 2.0
    later: list[Callable[[], object]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        """Remove all faults and restart the count of requests at 1."""
        self.requests, self.later = [], []
        self.plan, self.kill = lambda number, request: "", lambda number: None
        self.answered, self.stall_s = lambda length: None, 2.0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # The buffer sends a response in a single write.
    line: BadLine
    upstream: tuple[str, int]

    def setup(self) -> None:
        """Open one connection to the server for each connection of the client."""
        super().setup()
        self._kept = http.client.HTTPConnection(*self.upstream, timeout=30)

    def finish(self) -> None:
        """Close both connections."""
        self._kept.close()
        super().finish()

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = f"{self.command} {self.path}"
        with self.line.lock:  # Each request gets its own number.
            self.line.requests.append(request)
            number = len(self.line.requests)
        fault, victim = self.line.plan(number, request), self.line.kill(number)
        if victim and not victim[1]:
            os.kill(victim[0], signal.SIGKILL)
        if fault == "lost" or (victim and not victim[1]):
            self.close_connection = True
            return
        if fault in _ANSWERS:
            status, text = _ANSWERS[fault]
            self._answer(status, [("Content-Type", "application/xml")], text)
            return
        if fault == "unconditional":
            for name in ("If-Match", "If-None-Match"):
                del self.headers[name]
        if fault == "stall":
            time.sleep(self.line.stall_s)
        status, headers, answer = self._forward(body)
        for again in self.line.later:
            again()
        self.line.later.clear()
        if fault == "repeat":
            status, headers, answer = self._forward(body)
        if fault == "late_repeat":
            command, path, kept = self.command, self.path, dict(self.headers.items())
            self.line.later.append(lambda: _forward_later(self.upstream, command, path, body, kept))
        if victim and victim[1]:
            os.kill(victim[0], signal.SIGKILL)
            self.close_connection = True
            return
        if fault == "unanswered":
            self.close_connection = True
            return
        self._answer(status, headers, answer, cut=fault == "cut")

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        return _forward(self._kept, self.command, self.path, body, dict(self.headers.items()))

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, cut: bool = False) -> None:
        length = {name.lower(): value for name, value in headers}.get("content-length", str(len(body)))
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        self.line.answered(len(body))  # The call precedes the headers, because they complete a 304.
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _any

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress the log."""


def _forward(
    connection: http.client.HTTPConnection, command: str, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, list[tuple[str, str]], bytes]:
    connection.request(command, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.getheaders(), answer.read()


def _forward_later(upstream: tuple[str, int], command: str, path: str, body: bytes, headers: dict[str, str]) -> None:
    connection = http.client.HTTPConnection(*upstream, timeout=30)
    try:
        _forward(connection, command, path, body, headers)
    finally:
        connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that has disconnected."""


@contextmanager
def bad_line(upstream: str) -> Iterator[BadLine]:
    """Yield a line to the server at `upstream` (`http://127.0.0.1:PORT`)."""
    line, port = BadLine(), int(upstream.rsplit(":", 1)[1])
    handler = type("_Bound", (_Handler,), {"line": line, "upstream": ("127.0.0.1", port)})
    server = _Server(("127.0.0.1", 0), handler)
    line.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
