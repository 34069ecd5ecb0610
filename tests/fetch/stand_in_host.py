"""Serve scripted responses from a stand-in host on loopback, and connect the live transport to it."""

from __future__ import annotations

import ssl
import threading
import traceback
from collections.abc import Callable
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from assets.fetch.credentials import Credentials
from assets.fetch.https import Live, TransferLimits
from warehouse.errors import FeedError, FeedUnavailable
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST, MIRROR = "api.example.org", "files.example.org"
FEED = Feed(
    id="example.price",
    title="",
    zones=("GB",),
    metrics=(Metric.PRICE,),
    rank=1,
    resolution="30m",
    stamps="start",
    tz="Europe/London",
    since=date(2020, 1, 1),
    publication=Publication(),
    requests=lambda days: [],
    parse=lambda body, request: Rows(),
    every_minutes=30,
    max_bytes=1_000_000,
)
SOURCE = Source("example", "Example", "", (HOST, MIRROR), 60_000, "", "", "", "yes", (FEED,))
REQUEST = Request("example.price", f"https://{HOST}/price", (("day[]", "2026-03-29"),))
LIMITS = TransferLimits(connect=1.0, silence=0.4, whole=1.0)
SECRET = "s3cret-and-long"

Script = Callable[[BaseHTTPRequestHandler], None]


class StandIn(BaseHTTPRequestHandler):
    """A handler that responds as the test's script specifies."""

    script: ClassVar[Script]
    received: ClassVar[list[BaseHTTPRequestHandler]]

    def do_GET(self) -> None:
        self.received.append(self)
        type(self).script(self)

    do_POST = do_PUT = do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class Publisher:
    """A stand-in host with its URL and the requests that it received."""

    def __init__(self, script: Script, context: ssl.SSLContext | None = None) -> None:
        self.received: list[BaseHTTPRequestHandler] = []
        handler = type("Handler", (StandIn,), {"script": staticmethod(script), "received": self.received})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.base = f"{'https' if context else 'http'}://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def replies(status: int, body: bytes = b"", **headers: str) -> Script:
    """Return a script with the same response to every request; `_` in header names stands for `-`."""

    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return script


def transport(publisher: Publisher, **more: str) -> Live:
    """Return the live transport, directed to a stand-in of HOST."""
    return Live("ops@example.org", LIMITS, {HOST: publisher.base, **more})


def reason(live: Live, request: Request = REQUEST, error: type[FeedError] = FeedUnavailable) -> str:
    """Return why a request with a secret fails; neither the error nor its context shows the secret."""
    with pytest.raises(error) as caught:
        live(request, Credentials((("key", SECRET),)))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    return str(caught.value)
