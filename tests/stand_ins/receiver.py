"""Receive webhooks on loopback, check them with the official library, and misbehave on demand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from standardwebhooks import Webhook


@dataclass
class Receiver:
    """A receiver whose `answer` returns, for the number of a try, a status (200 by default), "hang" or "trickle"."""

    answer: Callable[[int], Any] = lambda _: 200
    secret: str = ""
    tries: list[tuple[str, bytes]] = field(default_factory=list)
    """The webhook-id and the body of every received request."""
    taken: list[dict[str, Any]] = field(default_factory=list)
    """The messages that received status 200, each ID once, in order of arrival."""
    seen: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.handle(self)

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook?a=1"

    def handle(self, call: BaseHTTPRequestHandler) -> None:
        body = call.rfile.read(int(call.headers["Content-Length"]))
        self.tries.append((call.headers["webhook-id"], body))
        how = self.answer(len(self.tries))
        if how == "hang":
            self.over.wait(30)
            return
        if how == "trickle":
            call.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.over.wait(0.05):
                try:
                    call.wfile.write(b"x: y\r\n")
                except OSError:
                    return
        if how == 200:
            self.take(call, body)
        call.send_response(how)
        if how in (301, 302, 307, 308):
            call.send_header("Location", self.url)
        call.end_headers()

    def take(self, call: BaseHTTPRequestHandler, body: bytes) -> None:
        if self.secret:
            Webhook(self.secret).verify(body, dict(call.headers.items()))
        if call.headers["webhook-id"] not in self.seen:
            self.seen.add(call.headers["webhook-id"])
            self.taken.append(orjson.loads(body))

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def patient(done: Callable[[], bool], most_s: float = 30.0) -> bool:
    """Wait until `done` returns true, for at most `most_s` seconds, and return whether it did."""
    ends = time.monotonic() + most_s
    while time.monotonic() < ends:
        if done():
            return True
        time.sleep(0.02)
    return done()
