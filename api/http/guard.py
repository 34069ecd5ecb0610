"""The gate for HTTP, between an endpoint's checks of path and parameters (400 and 404 cost nothing) and its work.

    with enter(gate, request, "latest") as entry:        # no price: a free path
        ...                                              # the work that `entry.method` calls for
        return entry.settle(response, rows)              # rows: how many are to be paid for

Where the gate answers in the endpoint's place, `enter` and `settle` raise NotAdmitted, and `api.http.problem_responses`
gives that answer. Leaving the block without `settle` gives back what was reserved.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import brotli
import zstandard
from werkzeug.datastructures import MultiDict

from api.access.client_address import client_address, comes_by_unknown_proxy
from api.access.values import Answer, Call, Grant, Refusal
from api.http.compression import choose
from api.http.messages import Request, Response
from api.http.responses import AccessMethod
from api.settings import Network

if TYPE_CHECKING:
    from api.access.gate import Gate

TRUE = frozenset({"true", "1"})
"""What `sample=` may hold to ask for a sample."""

_OF_THE_ANSWER = frozenset({"ETag", "Last-Modified", "Content-Length", "Content-Range"})
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "br": brotli.decompress,
    "gzip": gzip.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}


class NotAdmitted(Exception):
    """The gate answers in the endpoint's place: with a refusal, or again with an answer that was paid for before."""

    def __init__(self, outcome: Refusal | Answer) -> None:
        super().__init__(outcome.status)
        self.outcome = outcome


class Entry:
    """A call that the gate let in. `settle` it once, within its `with` block."""

    __slots__ = ("_grant", "_request", "_settled", "method")

    def __init__(self, request: Request, grant: Grant) -> None:
        self.method: AccessMethod = grant.method
        self._request, self._grant, self._settled = request, grant, False

    def settle(self, response: Response, rows: int = 1) -> Response:
        """The response to send, with the gate's headers. `rows` are paid for; 0 where there are none or they are stale.

        Raises NotAdmitted where a payment fails.
        """
        self._settled = True
        outcome = self._grant.settle(self._answer(response, rows))
        if isinstance(outcome, Refusal):
            raise NotAdmitted(outcome)
        headers, body = response.headers, response.body
        if self.method == "payment":  # the gate brings its own caching
            headers = [pair for pair in headers if pair[0] != "Cache-Control"]
            if self._request.method == "HEAD" or response.status == 304:
                # Nobody verified the payment: say nothing of the answer.
                headers, body = [pair for pair in headers if pair[0] not in _OF_THE_ANSWER], b""
        return Response(response.status, [*headers, *outcome.headers], body)

    def _answer(self, response: Response, rows: int) -> Answer:
        if self.method != "payment":
            return Answer(response.status, rows)
        empty = self._request.method == "HEAD" or response.status == 304
        return Answer(response.status, 0 if empty else rows, response.body, tuple(response.headers))

    def __enter__(self) -> Entry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._settled:
            self._grant.release()


def enter(gate: Gate, request: Request, price: str = "", answer_format: str = "json") -> Entry:
    """Let a request in. `answer_format`: which of its formats the answer has. Raises NotAdmitted."""
    environ, trusted = request.environ, gate.settings.trusted_proxies
    forwarded = environ.get("HTTP_X_FORWARDED_FOR", "")
    if comes_by_unknown_proxy(environ.get("REMOTE_ADDR", ""), forwarded, trusted):
        gate.note_unknown_proxy()
    outcome = gate.admit(call_of(request, price, trusted, answer_format))
    if not isinstance(outcome, Grant):
        raise NotAdmitted(outcome)
    return Entry(request, outcome)


def call_of(request: Request, price: str, trusted: Sequence[Network], answer_format: str = "json") -> Call:
    """The credentials of a request. Read from the environ itself: this runs for every call of every path."""
    header = request.environ.get
    payment = header("HTTP_PAYMENT_SIGNATURE") or header("HTTP_X_PAYMENT", "")
    query = header("QUERY_STRING", "")
    return Call(
        path=request.path,
        price=price,
        client=client_address(header("REMOTE_ADDR", ""), header("HTTP_X_FORWARDED_FOR", ""), trusted),
        # `%73ample=true` says the same.
        sample=("sample" in query or "%" in query) and request.args.get("sample", "").lower() in TRUE,
        authorization=header("HTTP_AUTHORIZATION", ""),
        api_key=header("HTTP_X_API_KEY", "").strip(),
        payment=payment,
        fingerprint=_fingerprint(request, answer_format) if payment else "",
    )


def query_without_blank_probes(request: Request) -> MultiDict[str, str]:
    """The query of a request to a paid path, without the empty parameters of a probe.

    Catalogues of x402 probe a path without credentials and with empty parameters, and expect its offer: there an empty
    parameter is left out. Everywhere else it is a mistake that is told.
    """
    if not is_probe(request):
        return request.args
    return MultiDict((name, value) for name, value in request.args.items(multi=True) if value)


def is_probe(request: Request) -> bool:
    """Whether a request without credentials, which is no sample either, has a parameter that is empty."""
    query = request.query
    if not (query.endswith("=") or "=&" in query) or request.method != "GET":
        return False
    return not _has_credentials(request) and request.args.get("sample", "").lower() not in TRUE


def _has_credentials(request: Request) -> bool:
    names = ("HTTP_AUTHORIZATION", "HTTP_X_API_KEY", "HTTP_PAYMENT_SIGNATURE", "HTTP_X_PAYMENT")
    return any(map(request.header, names))


def _fingerprint(request: Request, answer_format: str) -> str:
    """Method, path, query in any order, and format, however it was asked for. A retry may come by another coding."""
    pairs = parse_qsl(request.query, keep_blank_values=True)
    query = urlencode(sorted(pair for pair in pairs if pair[0] != "format"))
    return hashlib.sha256("\n".join((request.method, request.path, query, answer_format)).encode()).hexdigest()


def replayed_response(stored: Answer, request: Request) -> Response:
    """A stored answer, in a coding that this request takes: the retry may come by another way than the first try."""
    # Releases up to 0.1 stored the length too, which is added when the answer is sent.
    headers = [pair for pair in stored.headers if pair[0] != "Content-Length"]
    coding = dict(headers).get("Content-Encoding", "identity")
    if coding in ("identity", choose(request.header("HTTP_ACCEPT_ENCODING"))):
        return Response(stored.status, headers, stored.body)
    plain = [pair for pair in headers if pair[0] not in ("Content-Encoding", "ETag")]
    return Response(stored.status, plain, _UNPACK[coding](stored.body))
