"""Serve stand-ins of all publishers over TLS on loopback, with their hosts, certificates, keys, limits and redirects.

`assets.simulated` creates the bodies. Each stand-in requires the key that its publisher requires, and refuses a wrong
key as the publisher does. The same holds for request limits, refusals beyond a limit, and redirects of old URLs.
`reach` resolves every host to this server, so that the live transport finds the stand-ins. Each host has its own
certificate by SNI, issued by an authority created for the test. `break_host` makes a host fail in a documented way.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import trustme
import urllib3.connection

from assets.simulated.answer import Answer
from assets.sources import sources
from warehouse.market import clock
from warehouse.market.feeds import Request

KEYS = {
    "ENTSOE_API_TOKEN": "token-of-the-test-entsoe",
    "ENTSOE_USERNAME": "somebody@example.org",
    "ENTSOE_PASSWORD": "password-of-the-test",
    "EIA_API_KEY": "key-of-the-test-at-eia",
    "PJM_API_KEY": "key-of-the-test-at-pjm",
    "ISONE_USERNAME": "somebody@example.org",
    "ISONE_PASSWORD": "password-of-the-test",
    "ERCOT_API_KEY": "key-of-the-test-at-ercot",
    "ERCOT_USERNAME": "somebody@example.org",
    "ERCOT_PASSWORD": "password-of-the-test",
}
"""The credentials that the stand-ins accept."""
B2C, KEYCLOAK = "ercotb2c.b2clogin.com", "keycloak.tp.entsoe.eu"
BEARER = "bearer-of-the-test"
HTML = (("content-type", "text/html"),)
JSON = (("content-type", "application/json"),)


NOW = "2026-11-20T18:00:00Z"
"""A time at which every simulated feed has rows for the current day."""


class Clock:
    """A clock that only `sleep` moves, in seconds."""

    def __init__(self) -> None:
        self._now = 1000.0

    def tick(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


Clocks = dict[str, Clock]
"""The clock of each source, by source code."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of `most` requests in `seconds`. Further requests receive `answer`."""

    most: int
    seconds: float
    answer: Answer


def _busy(status: int, words: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, f"<html><body>{words}</body></html>".encode(), (*HTML, *headers))


LIMITS = {
    # Source: https://github.com/opennem/opennem/issues/474
    "nemweb.com.au": Limit(60, 60, _busy(403, "403 - Forbidden: Access is denied.")),
    # The text is CAISO's own. CAISO does not send Retry-After.
    "oasis.caiso.com": Limit(
        1, 5, _busy(429, "CAISO Acceptable Use Policy Violation. Please retry your request after 5 seconds.")
    ),
    # https://apiportal.pjm.com allows six requests per minute without membership.
    "api.pjm.com": Limit(6, 60, Answer(429, b'{"statusCode":429,"message":"Rate limit is exceeded."}', JSON)),
    "web-api.tp.entsoe.eu": Limit(
        400, 60, _busy(429, "Max allowed requests per minute from each unique IP is max up to 400 only")
    ),
    "api.energy-charts.info": Limit(2, 60, Answer(429, b'{"detail":"Too Many Requests"}', JSON)),
    "api.ercot.com": Limit(30, 60, Answer(429, b"", (("retry-after", "10"),))),
}
REDIRECTS = {
    ("www.ercot.com", "/api/1/services/read/dashboards/rtsyscond.json"): "dc-tie-flows.json",
    ("www.ercot.com", "/api/1/services/read/dashboards/systemWidePrices.json"): "system-wide-prices.json",
    ("www.ercot.com", "/api/1/services/read/dashboards/loadForecastVsActual.json"): "system-wide-demand.json",
}
"""The targets to which ERCOT redirects old URLs."""

Failing = Callable[["Handler"], None]


class Publishers:
    """The server of all hosts.

    `tick(source)` returns the time in seconds by which the limits of a publisher are counted.
    """

    def __init__(self, tick: Callable[[str], float]) -> None:
        self._tick = tick
        self._authority = trustme.CA()
        self._contexts = {host: self._context(host) for host in HOSTS}
        self._failing: dict[str, Failing] = {}
        self._times: dict[str, deque[float]] = defaultdict(deque)
        self._lock = threading.Lock()
        self.requests: dict[str, list[str]] = defaultdict(list)
        """The requested paths, by host."""
        self.limited: dict[str, int] = defaultdict(int)
        """The number of requests beyond the limit, by host."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._choose
        self._plain = self._bound()
        """A server without TLS, because New York's old host does not use it."""
        self._server = self._bound()
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            for server in (self._server, self._plain)
        ]

    def _bound(self) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"publishers": self}))
        server.daemon_threads, server.block_on_close = True, False
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # Clients may hang up.
        return server

    def _context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(host).configure_cert(context)
        return context

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        context = self._contexts.get(name or "")
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = context
        return None

    def break_host(self, host: str, failing: Failing) -> None:
        """Make `failing` handle every request to `host`."""
        self._failing[host] = failing

    def failing(self, host: str) -> Failing | None:
        return self._failing.get(host)

    def too_many(self, host: str) -> Answer | None:
        """Return the refusal of `host` if its request limit is reached, else None. Refused requests do not count."""
        limit = LIMITS.get(host)
        if limit is None:
            return None
        with self._lock:
            now, times = self._tick(HOSTS[host]), self._times[host]
            while times and times[0] <= now - limit.seconds:
                times.popleft()
            if len(times) >= limit.most:
                self.limited[host] += 1
                return limit.answer
            times.append(now)
            return None

    @property
    def ports(self) -> dict[int, int]:
        """Return the loopback port that replaces each port of the publishers."""
        return {443: int(self._server.server_address[1]), 80: int(self._plain.server_address[1])}

    @contextmanager
    def reach(self, folder: Path) -> Iterator[None]:
        """Serve inside the block and resolve every publisher's host to this server.

        No other host resolves. The certificate of the authority is written to `folder`.
        """
        authority = folder / "authority.pem"
        self._authority.cert_pem.write_to_path(str(authority))
        for thread in self._threads:
            thread.start()
        try:
            with reached(self.ports, authority):
                yield
        finally:
            for server, thread in zip((self._server, self._plain), self._threads, strict=True):
                server.shutdown()
                server.server_close()
                thread.join()


@contextmanager
def reached(ports: Mapping[int, int], authority: Path) -> Iterator[None]:
    """Resolve every publisher's host to loopback inside the block, in this process.

    No other host resolves. Connections trust the certificate in the file `authority`.
    """
    connect = urllib3.connection.connection.create_connection

    def connected(address: tuple[str, int], *args: Any, **kwargs: Any) -> Any:
        if address[0] not in HOSTS or address[1] not in ports:
            raise OSError(f"{address} is no stand-in")
        return connect(("127.0.0.1", ports[address[1]]), *args, **kwargs)

    proxies = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
    with (
        mock.patch.object(urllib3.connection.connection, "create_connection", connected),
        mock.patch.dict(os.environ, {**proxies, "REQUESTS_CA_BUNDLE": str(authority)}),
    ):
        yield


class Handler(BaseHTTPRequestHandler):
    """The handler of a request. The Host header selects the publisher."""

    publishers: Publishers
    protocol_version = "HTTP/1.1"
    timeout = 20

    def do_GET(self) -> None:
        host, path = self.headers.get("Host", ""), urlsplit(self.path).path
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.publishers.requests[host].append(self.path)
        failing = self.publishers.failing(host)
        if failing is not None:
            failing(self)
        elif (host, path) in REDIRECTS:
            self.reply(Answer(302, b"", (("location", REDIRECTS[host, path]),)))
        else:
            self.reply(self.publishers.too_many(host) or self.refused(host) or self.answer(host))

    do_POST = do_GET

    def reply(self, answer: Answer, length: int | None = None) -> None:
        """Send `answer`. If `length` is given, it overrides the Content-Length and the connection closes."""
        self.send_response(answer.status)
        for name, value in (*answer.headers, ("content-length", str(len(answer.body) if length is None else length))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        if length is not None:
            self.close_connection = True

    def refused(self, host: str) -> Answer | None:
        """Return the refusal of `host` if the request lacks the right key.

        Return None if the key is right or not needed.
        """
        query = dict(parse_qsl(urlsplit(self.path).query))
        account = base64.b64encode(f"{KEYS['ISONE_USERNAME']}:{KEYS['ISONE_PASSWORD']}".encode()).decode()
        right: Mapping[str, tuple[bool, Answer]] = {
            "web-api.tp.entsoe.eu": (
                query.get("securityToken") == KEYS["ENTSOE_API_TOKEN"],
                _busy(401, "Unauthorized"),
            ),
            "api.eia.gov": (
                query.get("api_key") == KEYS["EIA_API_KEY"],
                Answer(403, b'{"error":{"code":"API_KEY_INVALID","message":"An invalid api_key was supplied."}}', JSON),
            ),
            "api.pjm.com": (
                self.headers.get("Ocp-Apim-Subscription-Key") == KEYS["PJM_API_KEY"],
                Answer(401, b'{"statusCode":401,"message":"Access denied due to invalid subscription key."}', JSON),
            ),
            "fms.tp.entsoe.eu": (
                self.headers.get("Authorization") == f"Bearer {BEARER}",
                Answer(401, b'{"error":"Unauthorized"}', JSON),
            ),
            "webservices.iso-ne.com": (self.headers.get("Authorization") == f"Basic {account}", Answer(401, b"")),
            "api.ercot.com": (
                self.headers.get("Authorization") == f"Bearer {BEARER}"
                and self.headers.get("Ocp-Apim-Subscription-Key") == KEYS["ERCOT_API_KEY"],
                Answer(401, b'{"statusCode":401,"message":"Access denied."}', JSON),
            ),
        }
        good, refusal = right.get(host, (True, Answer(401, b"")))
        return None if good else refusal

    def answer(self, host: str) -> Answer:
        """Return the response of the simulated publisher at `host` to the received request."""
        if host in TOKENS:
            password, member = TOKENS[host]
            known = dict(parse_qsl(self.body)).get("password") == KEYS[password]
            token = json.dumps({member: BEARER}).encode()
            return Answer(200, token, JSON) if known else Answer(400, b'{"error":"access_denied"}', JSON)
        parts = urlsplit(self.path)
        params = tuple(parse_qsl(parts.query, keep_blank_values=True))
        request = Request(
            f"{HOSTS[host]}.any", f"https://{host}{parts.path}", params, method=self.command, body=self.body
        )
        answer: Answer = import_module(f"assets.simulated.{HOSTS[host]}").simulate_response(request, clock.now())
        return answer

    def log_message(self, format: str, *args: object) -> None:
        """Suppress the log."""


HOSTS = {host: source.code for source in sources().values() for host in source.hosts} | {
    B2C: "ercot",
    KEYCLOAK: "entsoe_files",
}
"""The source code of each host."""
TOKENS = {B2C: ("ERCOT_PASSWORD", "id_token"), KEYCLOAK: ("ENTSOE_PASSWORD", "access_token")}
"""The hosts that issue bearer tokens, each with the variable of the password and the response field of the token."""


def answers(status: int, body: bytes = b"", *headers: tuple[str, str]) -> Failing:
    """Return a failure that always sends this response."""
    return lambda handler: handler.reply(Answer(status, body, headers))


def truncates(handler: Handler) -> None:
    """Send only the first half of the response's body."""
    whole = handler.refused(handler.headers["Host"]) or handler.answer(handler.headers["Host"])
    handler.reply(Answer(whole.status, whole.body[: len(whole.body) // 2], whole.headers), len(whole.body))
