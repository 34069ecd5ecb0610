"""The gate for HTTP: the one call between an endpoint's checks of its parameters and the making of its answer.

An endpoint looks at its path and parameters first (400 and 404 cost nothing), then

    return guard(gate, request, "latest", make, refuse)       # "" as price: a free path

where `make(entry)` does the work for `entry.method` ("free", "sample", "key", "payment") and returns the response and
how many rows, metrics or features are to be paid for (0: nothing was found, or it is overdue); it may return a 304.
`refuse(refusal)` makes a response of a `Refusal`: its `body` as it is where it has one (the 402's JSON), else a
problem; either with its headers. An endpoint of several formats says which one the answer has.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl, urlencode

import brotli
import zstandard
from werkzeug.datastructures import MultiDict

from api.access.client_address import client_address, comes_by_unknown_proxy
from api.access.gate import Gate
from api.access.values import Answer, Call, Grant, Refusal
from api.http.compression import choose
from api.http.messages import Request, Response
from api.settings import Network

TRUE = frozenset({"true", "1"})
"""What `sample=` may hold to ask for a sample."""

_OF_THE_ANSWER = frozenset({"ETag", "Last-Modified", "Content-Length", "Content-Range"})
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "br": brotli.decompress,
    "gzip": gzip.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}

Make = Callable[[Grant], tuple[Response, int]]


def guard(
    gate: Gate,
    request: Request,
    price: str,
    make: Make,
    refuse: Callable[[Refusal, Request], Response],
    answer_format: str = "json",
) -> Response:
    """The response to give out: the answer made by `make` with the gate's headers, a stored one, or a refusal."""
    call = call_of(request, price, gate.settings.trusted_proxies, answer_format)
    if comes_by_unknown_proxy(
        request.environ.get("REMOTE_ADDR", ""),
        request.environ.get("HTTP_X_FORWARDED_FOR", ""),
        gate.settings.trusted_proxies,
    ):
        gate.note_unknown_proxy()
    entry = gate.admit(call)
    if isinstance(entry, Refusal):
        return refuse(entry, request)
    if isinstance(entry, Answer):
        return given_again(entry, request)
    ended = False
    try:
        response, rows = make(entry)
        ended = True
    finally:
        if not ended:
            entry.release()
    outcome = entry.settle(_answer(request, response, rows, entry))
    if isinstance(outcome, Refusal):
        return refuse(outcome, request)
    headers, body = response.headers, response.body
    if entry.method == "payment":  # the gate brings its own caching
        headers = [pair for pair in headers if pair[0] != "Cache-Control"]
        if request.method == "HEAD" or response.status == 304:  # nobody verified the payment: say nothing of the answer
            headers, body = [pair for pair in headers if pair[0] not in _OF_THE_ANSWER], b""
    return Response(response.status, [*headers, *outcome.headers], body)


def call_of(request: Request, price: str, trusted: Sequence[Network], answer_format: str = "json") -> Call:
    """The credentials of a request. Read from the environ itself: this runs for every call of every path."""
    shown = request.environ.get
    payment = shown("HTTP_PAYMENT_SIGNATURE") or shown("HTTP_X_PAYMENT", "")
    query = shown("QUERY_STRING", "")
    return Call(
        path=request.path,
        price=price,
        client=client_address(shown("REMOTE_ADDR", ""), shown("HTTP_X_FORWARDED_FOR", ""), trusted),
        # `%73ample=true` says the same.
        sample=("sample" in query or "%" in query) and request.args.get("sample", "").lower() in TRUE,
        authorization=shown("HTTP_AUTHORIZATION", ""),
        api_key=shown("HTTP_X_API_KEY", "").strip(),
        payment=payment,
        fingerprint=_fingerprint(request, answer_format) if payment else "",
    )


def stated(request: Request) -> MultiDict[str, str]:
    """The query of a request as its endpoint is to read it.

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


def given_again(stored: Answer, request: Request) -> Response:
    """A stored answer, in a coding that this request takes: the retry may come by another way than the first try."""
    # Releases up to 0.1 kept the length too, which is told when the answer is sent.
    headers = [pair for pair in stored.headers if pair[0] != "Content-Length"]
    coding = dict(headers).get("Content-Encoding", "identity")
    if coding in ("identity", choose(request.header("HTTP_ACCEPT_ENCODING"))):
        return Response(stored.status, headers, stored.body)
    plain = [pair for pair in headers if pair[0] not in ("Content-Encoding", "ETag")]
    return Response(stored.status, plain, _UNPACK[coding](stored.body))


def _answer(request: Request, response: Response, rows: int, entry: Grant) -> Answer:
    if entry.method != "payment":
        return Answer(response.status, rows)
    empty = request.method == "HEAD" or response.status == 304
    return Answer(response.status, 0 if empty else rows, response.body, tuple(response.headers))
