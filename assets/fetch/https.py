"""Send one HTTPS exchange to a publisher's own hosts, with verified TLS and bounded time and size.

For pace, retries and the meaning of a status see `session`.
"""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

import requests
import urllib3.exceptions

from assets.fetch.credentials import Credentials
from assets.fetch.deadline import Adapter, Overdue, deadline
from assets.fetch.session import Reply, with_query
from assets.sources import source
from warehouse.errors import FeedChanged, FeedUnavailable
from warehouse.market.feeds import Feed, Request, Source
from warehouse.version import __version__

CHUNK = 65536
REDIRECTS = 4
_MOVED = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """Limits in seconds: to connect, between two received bytes, and for a whole exchange with its redirects."""

    connect: float = 5.0
    silence: float = 20.0
    whole: float = 120.0


class Live:
    """A thread-safe transport that sends requests to the publishers' own hosts.

    `stand_ins` directs a host's requests to another base address (`{"api.eia.gov": "http://127.0.0.1:8101"}`) for
    tests.
    """

    def __init__(
        self, contact: str = "", limits: TransferLimits | None = None, stand_ins: Mapping[str, str] | None = None
    ) -> None:
        contact = " ".join(contact.encode("ascii", "replace").decode().split())  # characters that a header may contain
        self._agent = f"emds/{__version__}" + (f" (+{contact})" if contact else "")
        self._limits, self._stand_ins = limits or TransferLimits(), dict(stand_ins or {})
        self._requests = requests.Session()
        for scheme in ("https://", "http://"):
            self._requests.mount(scheme, Adapter())
        # urllib3's DEBUG line contains the whole query, including keys.
        logging.getLogger("urllib3.connectionpool").addFilter(_above_debug)

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        """Return the reply with any status. Raises FeedUnavailable, FeedChanged."""
        terms = source(request.feed.split(".")[0])
        try:
            with deadline(self._limits.whole):
                return self._exchange(request, credentials, terms)
        except (requests.RequestException, urllib3.exceptions.HTTPError, zlib.error, EOFError) as error:
            reason = _reason(error)
        # Raised outside the handler, so that the library's error with its full address is not in this error's context.
        raise FeedUnavailable(f"{urlsplit(request.url).hostname}: {reason}", kind="network")

    def _exchange(self, request: Request, credentials: Credentials, terms: Source) -> Reply:
        url = with_query(request.url, (*request.params, *credentials.query))
        for _ in range(REDIRECTS + 1):
            with self._send(request, credentials, url, terms) as response:
                target = response.headers.get("location")
                if response.status_code not in _MOVED or not target or request.method != "GET":
                    body = b"".join(_bounded(response, terms.feed(request.feed)))
                    return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, body)
            url = _followed(url, target, terms)
        raise FeedUnavailable(f"{urlsplit(request.url).hostname} redirects in a loop", kind="network")

    def _send(self, request: Request, credentials: Credentials, url: str, terms: Source) -> requests.Response:
        agent = {"User-Agent": terms.user_agent or self._agent, "Accept": "*/*", "Accept-Encoding": "gzip"}
        headers = {**agent, **dict(request.headers), **dict(credentials.headers)}
        parts = urlsplit(url)
        base = self._stand_ins.get(parts.hostname or "")
        if base is not None:
            headers["Host"] = parts.netloc
            url = base.rstrip("/") + parts._replace(scheme="", netloc="").geturl()
        body = urlencode(credentials.form) if credentials.form else request.body
        if credentials.form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        prepared = requests.Request(request.method, url, headers, data=body.encode() or None).prepare()
        # Session.send is not used: it reads ~/.netrc, keeps cookies and resolves the next redirect itself.
        around = self._requests.merge_environment_settings(url, {}, True, None, None)
        return self._requests.get_adapter(url).send(
            prepared,
            stream=True,
            timeout=(self._limits.connect, self._limits.silence),
            verify=around["verify"] or True,
            proxies=around["proxies"],
        )


def _above_debug(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG


def _followed(url: str, target: str, terms: Source) -> str:
    """Return the target of a redirect. Raises FeedUnavailable if its host is not the publisher's own, or TLS is
    missing.
    """
    here, there = urlsplit(url), _parts(url, target)
    if there is None:
        raise FeedUnavailable(f"{here.hostname} redirects to an invalid URL", kind="network")
    if there.hostname not in terms.hosts or there.scheme not in ("http", "https"):
        raise FeedUnavailable(
            f"{here.hostname} redirects to {there.hostname}, which is not a host of this publisher", kind="network"
        )
    if here.scheme == "https" and there.scheme != "https":
        raise FeedUnavailable(f"{here.hostname} redirects from https to http", kind="network")
    return there.geturl()


def _parts(url: str, target: str) -> SplitResult | None:
    try:
        return urlsplit(urljoin(url, target))
    except ValueError:
        return None


def _bounded(response: requests.Response, feed: Feed) -> Iterator[bytes]:
    """Yield the unpacked body in pieces. Raises FeedChanged beyond the feed's size, FeedUnavailable for an unknown
    coding.
    """
    coding = response.headers.get("content-encoding", "identity").lower()
    if coding not in ("identity", "gzip"):
        raise FeedUnavailable(
            f"{feed.id}: response uses the encoding {coding[:20]!r}, which was not requested", kind="network"
        )
    arriving = _arriving(response)
    size = 0
    for piece in _unzipped(arriving) if coding == "gzip" else arriving:
        size += len(piece)
        if size > feed.max_bytes:
            raise FeedChanged(f"{feed.id}: response is larger than {feed.max_bytes} bytes")
        yield piece


def _arriving(response: requests.Response) -> Iterator[bytes]:
    # read1 is used because read(n) waits until n bytes have arrived.
    while piece := response.raw.read1(CHUNK, decode_content=False):
        yield piece


def _unzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack gzip members piece by piece. urllib3's decoder is not used: it accepts a truncated stream."""
    member = zlib.decompressobj(wbits=31)
    for piece in pieces:
        while piece:
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(piece, CHUNK)
            piece = member.unconsumed_tail or member.unused_data
    if not member.eof:
        raise EOFError


def _reason(error: Exception) -> str:
    """Return the reason of a failure in emds's own words. The library's text contains the whole address, including
    keys.
    """
    chain = list(_chain(error))
    for kinds, reason in _REASONS:
        if any(isinstance(link, kinds) for link in chain):
            return reason
    return f"no response ({type(error).__name__})"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those it wraps. requests and urllib3 keep inner errors in `args` and `reason`."""
    yield error
    inner = [*error.args, getattr(error, "reason", None), error.__cause__, error.__context__]
    for link in inner:
        if isinstance(link, BaseException) and link is not error:
            yield from _chain(link)


_REASONS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (Overdue, "the response took too long"),
    (ssl.SSLCertVerificationError, "TLS certificate verification failed"),
    ((ssl.SSLError, urllib3.exceptions.SSLError), "TLS handshake failed"),
    (socket.gaierror, "host name could not be resolved"),
    (ConnectionRefusedError, "connection refused"),
    (urllib3.exceptions.ConnectTimeoutError, "connection timed out"),
    ((TimeoutError, urllib3.exceptions.ReadTimeoutError), "no response before the timeout"),
    (zlib.error, "the response could not be decompressed"),
    (http.client.RemoteDisconnected, "the connection closed without a response"),
    ((http.client.IncompleteRead, urllib3.exceptions.IncompleteRead, EOFError), "the response was cut off"),
    (ConnectionError, "the connection was lost"),
)
"""Reasons by error type, the most specific first."""
