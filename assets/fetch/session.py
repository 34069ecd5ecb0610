"""Send requests within each publisher's rate limit, retry temporary failures, and type every refusal.

The transport is passed in: `live`, `recorded`, or `assets.simulated`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode, urlsplit

from urllib3 import Retry
from urllib3.exceptions import InvalidHeader

from assets.fetch.credentials import (
    NONE,
    TOKEN_SERVICES,
    Credentials,
    TokenService,
    names_of,
    resolve,
    scrub,
    token_in,
    token_request,
)
from assets.fetch.rate_limits import RateLimits
from assets.sources import source
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market import clock
from warehouse.market.feeds import Feed, Request

ATTEMPTS = 3
PATIENCE = 60.0
"""Seconds after the first attempt in which another attempt may begin. A later run tries again."""
SLOW = 15.0
"""An attempt that failed after this many seconds is not repeated: retries do not help an overloaded host."""
LATER = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524})
"""Temporary statuses. Cloudflare uses 52x for an origin that does not respond."""
THROTTLED_ATTEMPTS, THROTTLED_PATIENCE = 5, 90.0
"""The attempts and patience for a rate-limited request: longer than the minute over which publishers count."""
TOO_MANY_PAUSE = 5.0
"""Seconds, doubled at each attempt, before a rate-limited request is repeated.

CAISO OASIS returns 429 with "retry your request after 5 seconds" in its body and without Retry-After. NEMWEB returns
403 to bursts (https://github.com/opennem/opennem/issues/474).
"""

THROTTLED_403 = ": too many requests at once, or none from this address"
AMERICAN_ONLY = ("ercot.com",)
"""Domains whose firewall returns 403 to addresses outside the United States, whatever the key
(https://github.com/ercot/api-specs/discussions/85).
"""
ABROAD_403 = ": it refuses addresses outside the United States"


@dataclass(frozen=True, slots=True)
class Reply:
    """A publisher's reply with any status, header names in lower case, and the body without transfer and content
    codings.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


Transport = Callable[[Request, Credentials], Reply]
"""A function that sends one request and returns the reply with any status.

Raises FeedUnavailable if the response is missing or incomplete, FeedChanged if it is too long.
"""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response to archive. Request and body contain no secret."""

    request: Request
    body: bytes
    fetched_at: int
    """Unix seconds."""


class Session:
    """A session that sends requests to publishers, for all threads of one process.

    `environ` contains the credentials of a live session. None means that the transport uses no network: the session
    needs no credentials, applies no rate limit and makes one attempt. If `rate_limits` is None, the limits apply to
    this process.
    """

    def __init__(
        self,
        transport: Transport,
        environ: Mapping[str, str] | None = None,
        *,
        rate_limits: RateLimits | None = None,
        now: Callable[[], int] = clock.now,
        tick: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._transport, self._environ = transport, environ
        self._now, self._tick, self._sleep, self._chance = now, tick, sleep, chance
        self._rate_limits = rate_limits or RateLimits(now=tick, sleep=sleep)
        self._tokens: dict[tuple[str, str], tuple[str, float]] = {}
        self._token_lock = threading.Lock()

    def ask(self, request: Request) -> Fetched:
        """Return the publisher's response to `request`. Raises the leaves of FeedError, without secrets in the text."""
        credentials = self._credentials(request)
        reply = self._reply(request, credentials)
        return Fetched(request, scrub(reply.body, credentials.values), self._now())

    def _reply(self, request: Request, credentials: Credentials) -> Reply:
        if self._environ is None:
            return _good(request, self._transport(request, credentials))
        begun, attempt = self._tick(), 1
        while isinstance(outcome := self._attempt(request, credentials), _Passing):
            pause = self._pause(request, outcome, attempt)
            most, patience = (THROTTLED_ATTEMPTS, THROTTLED_PATIENCE) if outcome.throttled else (ATTEMPTS, PATIENCE)
            if attempt >= most or outcome.seconds > SLOW or self._tick() - begun + pause > patience:
                if outcome.throttled or outcome.status is None or outcome.failure.retry_after is not None:
                    self._rate_limits.rest(_publisher(request), outcome.failure.retry_after, str(outcome.failure))
                raise outcome.failure
            self._sleep(pause)
            attempt += 1
        return outcome

    def _attempt(self, request: Request, credentials: Credentials) -> Reply | _Passing:
        """Return a good reply, or a failure that may be temporary. Raises failures that a retry cannot cure."""
        addressed = _addressed(request, self._environ or {})
        terms = source(_publisher(request))
        self._rate_limits.take(terms.code, terms.requests_per_minute, terms.min_interval_s)
        begun = self._tick()
        try:
            reply = self._transport(addressed, credentials)
        except FeedUnavailable as failure:
            return _Passing(failure, None, self._tick() - begun)
        throttled = reply.status == 429 or (reply.status == 403 and not request.secrets)
        if throttled or reply.status in LATER:
            reason = ABROAD_403 if _host(request).endswith(AMERICAN_ONLY) else THROTTLED_403
            text = f"{_host(request)} returned {reply.status}{reason if reply.status == 403 else ''}"
            kind = "rate_limited" if throttled else "server"
            later = FeedUnavailable(text, _retry_after(reply.headers.get("retry-after")), kind)
            return _Passing(later, reply.status, self._tick() - begun, throttled)
        return _good(request, reply)

    def _pause(self, request: Request, outcome: _Passing, attempt: int) -> float:
        """Return the seconds before the next attempt: doubling with jitter, at least Retry-After."""
        backoff = 2.0 ** (attempt - 1) * (0.5 + self._chance())
        least = TOO_MANY_PAUSE * 2.0 ** (attempt - 1) if outcome.throttled else 0.0
        demanded = least if outcome.failure.retry_after is None else outcome.failure.retry_after
        return max(backoff, demanded)

    def _credentials(self, request: Request) -> Credentials:
        if self._environ is None:
            return NONE
        credentials = resolve(request, self._environ)
        for secret in request.secrets:
            if service := TOKEN_SERVICES.get(secret.where):
                user, password = (self._environ[name].strip() for name in secret.env)
                token = self._token(service, request, user, password)
                bearer = ("Authorization", "Bearer " + token)
                credentials = replace(credentials, headers=(*credentials.headers, bearer))
        return credentials

    def _token(self, service: TokenService, request: Request, user: str, password: str) -> str:
        """Return a bearer token, obtained once and used until shortly before it expires."""
        with self._token_lock:
            token, until = self._tokens.get((service.url, user), ("", 0.0))
            if self._tick() < until:
                return token
            try:
                reply = self._reply(*token_request(service, request, user, password))
            except FeedChanged:  # the service responds to a wrong password with 400
                raise CredentialsMissing(names_of(request.secrets), refused=True) from None
            token = token_in(service, reply.body)
            self._tokens[service.url, user] = token, self._tick() + service.seconds
            return token


@dataclass(frozen=True, slots=True)
class _Passing:
    """A temporary failure after `seconds`. If `status` is None, the host did not respond."""

    failure: FeedUnavailable
    status: int | None
    seconds: float
    throttled: bool = False
    """Whether the publisher received too many requests."""


def with_query(url: str, params: Sequence[tuple[str, str]]) -> str:
    """Return the address with these parameters appended."""
    return url + ("&" if "?" in url else "?") + urlencode(params) if params else url


def _addressed(request: Request, environ: Mapping[str, str]) -> Request:
    """Return the request at the operator's own address for its source, if set. Raises FeedUnavailable for a bad
    address.
    """
    name = source(_publisher(request)).endpoint_env
    url = environ.get(name, "").strip() if name else ""
    if not url:
        return request
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise FeedUnavailable(f"{name} is not an http or https URL", kind="rejected")
    return replace(request, url=url)


def _host(request: Request) -> str:
    return urlsplit(request.url).hostname or ""


def _publisher(request: Request) -> str:
    """Return the code of the request's source."""
    return request.feed.split(".")[0]


def _good(request: Request, reply: Reply) -> Reply:
    """Return the reply if its status is a success. Raises the FeedError that the status means."""
    if 200 <= reply.status < 300:
        return reply
    raise _refusal(request, reply)


def _refusal(request: Request, reply: Reply) -> FeedError:
    host, names = _host(request), names_of(request.secrets)
    if reply.status in (404, 410):
        return _absent(request, reply)
    if reply.status == 403 and host.endswith(AMERICAN_ONLY):
        return FeedUnavailable(f"{host} returned 403{ABROAD_403}", kind="rejected")
    if reply.status in (401, 403):
        return (
            CredentialsMissing(names, refused=True)
            if names
            else FeedUnavailable(f"{host} returned {reply.status}: access denied", kind="rejected")
        )
    if reply.status in LATER or reply.status >= 500:
        kind = "rate_limited" if reply.status == 429 else "server"
        return FeedUnavailable(f"{host} returned {reply.status}", _retry_after(reply.headers.get("retry-after")), kind)
    if 300 <= reply.status < 400:
        return FeedUnavailable(f"{host} redirected instead of responding", kind="network")
    reason = _nothing(request, reply) if reply.status == 400 else None
    return reason or FeedChanged(f"{host} rejected the request with {reply.status}")


def _absent(request: Request, reply: Reply) -> FeedError:
    """Return the error for a 404. A file is not there yet. A query has an outage, unless the body reports no data."""
    text = f"{_host(request)} returned {reply.status}"
    if any(feed.files for feed in _feeds(request)):
        return NotPublished(f"{text}: the file does not exist yet")
    return _nothing(request, reply) or FeedUnavailable(f"{text} for a query", kind="server")


def _nothing(request: Request, reply: Reply) -> NotPublished | None:
    """Return the feed's own reading of a refusal that means no data, or None.

    ENTSO-E sent such refusals with 400 for years (entsoe-py), and Energy-Charts sends them with 404.
    """
    try:
        for feed in _feeds(request):
            if reply.body.strip():
                feed.parse(reply.body, request)
    except NotPublished as error:
        return error
    except FeedError:
        pass
    return None


def _feeds(request: Request) -> list[Feed]:
    """Return the feed of a request, if its source has it."""
    return [feed for feed in source(_publisher(request)).feeds if feed.id == request.feed]


def _retry_after(text: str | None) -> float | None:
    """Return the seconds in either form of the header, or None for any other text."""
    if text is None:
        return None
    try:
        return Retry().parse_retry_after(text)
    except (InvalidHeader, OverflowError):
        return None
