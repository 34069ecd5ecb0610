"""Admit requests and choose their access method, after the cheap checks of path and parameters and before the work.

    with service.gate.enter(request, "latest") as entry:      # no price: a free path
        ...                                              # the work that `entry.method` calls for
        return entry.settle(response, rows)              # rows: how many are to be paid for

A sample comes first, because it costs nothing. Next is a key with calls left, which has already paid for its call.
Next is a payment, also beside a key that is not accepted. Otherwise the client gets the fault of its key, or the offer
to pay. Requests that end with a refusal, and payments, are limited by client address, because wrong keys and bogus
signatures are cheap to make. So are requests that are refused before `enter`: `check_early` runs before parameters are
read, and `count_refusal` counts the refusal.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import brotli
import orjson
import zstandard

from api.access import keys
from api.access.accounts_engine import AccountsUnavailable
from api.access.client_address import SITE, client_address, client_unit
from api.access.database import Database
from api.access.key_headers import explain_form, key_of
from api.access.key_spelling import KEY_PREFIX, digest_of, is_well_formed
from api.access.keys import Keys, Usage
from api.access.limits import RateLimits, limits_path
from api.access.values import NO_ANSWER, AccessMethod, Call, Grant, Headers, WholeAnswer, refuse_for
from api.access.x402.ledger import Ledger
from api.access.x402.server import X402ResourceServer
from api.http import responses
from api.http.codings import choose
from api.http.messages import HttpRequest, Responded, Response
from api.http.problems import Problem
from api.settings import Settings

if TYPE_CHECKING:
    from api.http.document import Document

_LOG = logging.getLogger("emds.gate")
LIVE_MODES = frozenset({"live", "recorded"})
"""The modes whose data may be sold. Other warehouses sell only to a facilitator on loopback."""
_OF_THE_ANSWER = frozenset({"ETag", "Last-Modified", "Content-Length", "Content-Range"})
_UNPACK = {"br": brotli.decompress, "gzip": gzip.decompress, "zstd": zstandard.decompress}


class Gate:
    """Access control of one worker. Any number of gates, on any hosts, share the accounts database."""

    def __init__(self, settings: Settings, mode: str, clock: Callable[[], float] = time.time) -> None:
        """Take the warehouse's `mode`, and a `clock` of the true time, which is never EMDS_NOW.

        If the database cannot be opened, free paths and samples still work, and opening is tried again later.
        """
        self.settings = settings
        self.database = Database(settings.database_url)
        try:
            self.database.open()
        except AccountsUnavailable as fault:
            _LOG.error("keys and payments are out of service: %s", fault)
        self.keys = Keys(self.database)
        self.limits = RateLimits(limits_path(settings))
        self.x402 = X402ResourceServer(settings, Ledger(self.database), mode in LIVE_MODES, clock)
        self._clock = clock

    @property
    def now(self) -> int:
        """Return the true time in whole Unix seconds."""
        return int(self._clock())

    @contextmanager
    def enter(
        self, request: HttpRequest, price: str = "", answer_format: str = "json", file: bytes = b""
    ) -> Iterator[Admission]:
        """Admit a request; a path without `price` is free. Raises Responded.

        `answer_format` is the format of the response. `file` is the hash by which a file counts once per key and day.
        """
        call = self.call_of(request, price, answer_format)
        request.environ["emds.counted"] = True
        if file:
            signature = request.args.get("signature", "")
            call = replace(call, file=file, head=request.method == "HEAD", signature=signature)
        outcome = self.admit(call)
        if not isinstance(outcome, Grant):
            raise Responded(replayed_response(outcome, request) if isinstance(outcome, WholeAnswer) else outcome)
        entry = Admission(request, outcome)
        try:
            yield entry
        finally:
            if not entry.settled:
                outcome.settle(NO_ANSWER)

    def call_of(self, request: HttpRequest, price: str = "", answer_format: str = "json") -> Call:
        """Return a request's credentials. This runs for every request, so it reads the environ directly."""
        header, trusted = request.environ.get, self.settings.trusted_proxies
        payment, fingerprint = header("HTTP_PAYMENT_SIGNATURE") or header("HTTP_X_PAYMENT", ""), ""
        if payment:  # of method, path, sorted query and format, but not of the coding, which a retry may change
            pairs = parse_qsl(request.query, keep_blank_values=True)
            query = urlencode(sorted(pair for pair in pairs if pair[0] != "format"))
            bought = "\n".join((request.method, request.path, query, answer_format))
            fingerprint = hashlib.sha256(bought.encode()).hexdigest()
        authorization, api_key = header("HTTP_AUTHORIZATION", ""), header("HTTP_X_API_KEY", "").strip()
        return Call(
            path=request.path,
            price=price,
            client=client_address(header("REMOTE_ADDR", ""), header("HTTP_X_FORWARDED_FOR", ""), trusted),
            sample=request.sample,
            authorization=authorization,
            api_key=api_key,
            other_header="" if authorization or api_key else _other_header(request),
            payment=payment,
            fingerprint=fingerprint,
        )

    def admit(self, call: Call) -> Grant | WholeAnswer | Problem:
        """Return a grant, a response that was paid for before, or a refusal. `call` has passed the other checks."""
        try:
            return self._admit_free(call) if call.sample or not call.price else self._admit_paid(call)
        except AccountsUnavailable as fault:
            _LOG.error("the accounts do not answer: %s", fault)
            return unavailable()

    def check_early(self, call: Call, of_file: bool = False) -> Problem | None:
        """Return the 429 of a request over the limit, else None, and count nothing.

        A key is over the limit if it has no call left in this second. A request without a valid key or a payment is
        over the limit if its client has no free call left. `call` states the price of its path, because unpaid calls
        of priced paths have another limit besides that of free calls. `of_file` is true for files, which have a higher
        limit per key.
        """
        settings, now, client = self.settings, self.now, client_unit(call.client)
        if (key := _sent_key(call)) and (too_fast := self.limits.check("second", *self._pace(key, of_file), now)):
            return too_fast
        if call.payment:
            return None
        policies = ("minute", "unpaid") if call.price else ("minute",)
        checks = (self.limits.check(policy, client, settings.free_calls_per_minute, now) for policy in policies)
        too_many = next(filter(None, checks), None)
        return None if too_many is None or self._is_valid(key) else too_many

    def count_refusal(self, call: Call, of_file: bool = False) -> Problem | None:
        """Count a request that was refused before its admission, against its valid key's second or else its client.

        Return the 429 of a request over the limit, so that bogus payments or signatures do not allow endless refusals.
        """
        if self._is_valid(key := _sent_key(call)):
            return self.limits.refuse("second", *self._pace(key, of_file), self.now)
        policy = "unpaid" if call.price and not call.sample else "minute"
        return self.limits.refuse(policy, client_unit(call.client), self.settings.free_calls_per_minute, self.now)

    def _pace(self, key: str, of_file: bool) -> tuple[str, int]:
        return keys.pace_of(digest_of(key), self.settings.key_calls_per_second, of_file)

    def _is_valid(self, key: str) -> bool:
        """Return whether a key is accepted, which is also False while the accounts do not respond."""
        try:
            usage = self.keys.usage(digest_of(key), self.now) if key else None
        except AccountsUnavailable:
            return False
        return usage is not None and usage.confirmed

    def admit_holder(self, request: HttpRequest) -> tuple[bytes, Usage]:
        """Admit a request about a key itself, which is free. Raises Responded, Problem 401."""
        with self.enter(request):
            return self.require_key(request)

    def require_key(self, request: HttpRequest) -> tuple[bytes, Usage]:
        """Return the digest of the active key in a request, and the key's usage today. Raises Problem 401."""
        call = self.call_of(request)
        key = key_of(call) or ""
        digest = digest_of(key)
        usage = self.keys.usage(digest, self.now) if is_well_formed(key) else None
        if usage is None or not usage.confirmed:
            form = "" if usage else explain_form(call)
            raise keys.invalid(key, usage is not None, form)
        return digest, usage

    def close(self) -> None:
        """Close files and connections."""
        self.limits.close()
        self.database.close()

    def _admit_free(self, call: Call) -> Grant | Problem:
        settings, now = self.settings, self.now
        if refusal := self.limits.refuse("minute", client_unit(call.client), settings.free_calls_per_minute, now):
            return refusal
        if not call.sample:
            return Grant("free", lambda _: ())
        if call.signature and key_of(call) is None and self.keys.signer(call, now) is None:
            return keys.unsigned()
        refusal = self.limits.refuse("sample-day", client_unit(call.client, SITE), settings.sample_calls_per_day, now)
        return refusal or Grant("sample", lambda _: (("X-Sample", "true"),))

    def _admit_paid(self, call: Call) -> Grant | WholeAnswer | Problem:
        refusal = self.keys.admit(call, self.limits, self.settings.key_calls_per_second, self.now)
        if isinstance(refusal, Grant):
            return refusal
        client = client_unit(call.client)
        if too_many := self.limits.refuse("unpaid", client, self.settings.free_calls_per_minute, self.now):
            return too_many
        if not call.payment or not self.x402.open:
            return self.x402.offer(call) if refusal is None else self.x402.offer_beside(refusal, call)
        grant = self.x402.admit(call)
        if not isinstance(grant, Grant):
            return grant

        def settle(answer: WholeAnswer) -> Headers | Problem:
            """Settle; a valid payment gives back its own call, and the call that fetched its offer."""
            settled = grant.settle(answer)
            if not isinstance(settled, Problem) and any(name.endswith("PAYMENT-RESPONSE") for name, _ in settled):
                self.limits.give_back("unpaid", client, 2, self.now)
            return settled

        return replace(grant, settle=settle)


class Admission:
    """An admitted request. `settle` it once within its `with` block; else its reservation is given back."""

    __slots__ = ("_grant", "_request", "method", "settled")

    def __init__(self, request: HttpRequest, grant: Grant) -> None:
        self.method: AccessMethod = grant.method
        self._request, self._grant, self.settled = request, grant, False

    def settle(self, response: Response, rows: int = 1) -> Response:
        """Return the response to send, with the gate's headers. Raises Responded if a payment fails.

        `rows` is the number of rows to pay for, 0 if there are none or they are stale.
        """
        self.settled = True
        is_payment = self.method == "payment"
        bodiless = is_payment and (self._request.method == "HEAD" or response.status == 304)
        sold = (0, b"") if bodiless else (rows, response.body)
        answer = WholeAnswer(response.status, *sold, tuple(response.headers))
        outcome = self._grant.settle(answer)
        if isinstance(outcome, Problem):
            raise Responded(outcome)
        headers, body = response.headers, response.body
        if is_payment:  # the gate sets its own caching
            headers = [pair for pair in headers if pair[0] != "Cache-Control"]
        if bodiless:  # the payment is unverified, so the response must reveal nothing
            headers, body = [pair for pair in headers if pair[0] not in _OF_THE_ANSWER], b""
        return Response(response.status, [*headers, *outcome], body)

    def json(
        self,
        body: Mapping[str, Any],
        simulated: bool,
        rows: int = 1,
        stale: bool = False,
        caching: Iterable[tuple[str, str]] = (),
    ) -> Response:
        """Settle the request with a JSON object, which is marked if it is a sample. Raises Responded."""
        content = orjson.dumps({**body, "sample": True} if self.method == "sample" else body)
        headers = [*(caching or responses.caching(self.method)), *responses.marks(simulated, stale)]
        return self.settle(responses.body(self._request, content, responses.JSON, headers), rows)

    def document(self, content: Document, simulated: bool, stale: bool = False) -> Response:
        """Settle the request with a published document; stale data is free of charge. Raises Responded."""
        headers = [*responses.caching(self.method), *responses.marks(simulated, stale)]
        return self.settle(responses.document(self._request, content, responses.JSON, headers), 0 if stale else 1)


def _other_header(request: HttpRequest) -> str:
    """Return the name of a header, other than the two for keys, that contains a key; empty if there is none."""
    names = (name for name, value in request.environ.items() if name[:5] == "HTTP_" and value[:5] == KEY_PREFIX)
    named = (name for name in names if is_well_formed(request.environ[name].strip()))
    return next(named, "")[5:45].replace("_", "-").title()


def _sent_key(call: Call) -> str:
    """Return the well-formed key of a request, whatever its path costs; empty without a key."""
    key = key_of(call)
    return key if key and is_well_formed(key) else ""


def replayed_response(stored: WholeAnswer, request: HttpRequest) -> Response:
    """Return a stored response in a coding that the request accepts, since a retry may come from another client."""
    coding = dict(stored.headers).get("Content-Encoding", "identity")
    if coding in ("identity", choose(request.header("HTTP_ACCEPT_ENCODING"))):
        return Response(stored.status, [*stored.headers], stored.body)
    plain = [pair for pair in stored.headers if pair[0] not in ("Content-Encoding", "ETag")]
    return Response(stored.status, plain, _UNPACK[coding](stored.body))


def unavailable() -> Problem:
    """Return the 503 for accounts that can neither count nor charge at the moment."""
    return refuse_for(5, "accounts-unavailable", members={"charged": False})
