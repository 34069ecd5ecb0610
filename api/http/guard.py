"""The gate for Flask: the one call between an endpoint's checks of its parameters and the making of its answer.

An endpoint looks at its path and parameters first (400 and 404 cost nothing), then

    return guard(gate, request, "latest", make, refuse)       # "" as price: a free path

where `make(entry)` does the work for `entry.method` ("free", "sample", "key", "payment") and returns the response and how
many rows, metrics or features it holds (0: nothing was found, nobody pays); it may return a 304. `refuse(refusal)` makes
a response of a `Refusal`: its `body` as it is where it has one (the 402's JSON), else a problem; either with its headers.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl, urlencode

import brotli
import zstandard
from flask import Request, Response

from api.access.client_address import client_address
from api.access.gate import Gate
from api.access.values import Answer, Call, Grant, Refusal
from api.http.compression import choose
from api.settings import Network

TRUE = frozenset({"true", "1"})
"""What `sample=` may hold to ask for a sample."""

_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "br": brotli.decompress,
    "gzip": gzip.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}

Make = Callable[[Grant], tuple[Response, int]]


def guard(gate: Gate, request: Request, price: str, make: Make, refuse: Callable[[Refusal], Response]) -> Response:
    """The response to give out: the answer made by `make` with the gate's headers, a stored one, or a refusal."""
    entry = gate.admit(call_of(request, price, gate.settings.trusted_proxies))
    if isinstance(entry, Refusal):
        return refuse(entry)
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
        return refuse(outcome)
    if entry.method == "payment":
        response.headers.remove("Cache-Control")  # the receipt brings its own
    response.headers.extend(outcome.headers)
    return response


def call_of(request: Request, price: str, trusted: Sequence[Network]) -> Call:
    """What a Flask request shows at the gate. Read from the environ itself: this runs for every call of every path."""
    shown = request.environ.get
    payment = shown("HTTP_PAYMENT_SIGNATURE") or shown("HTTP_X_PAYMENT", "")
    return Call(
        path=request.path,
        price=price,
        client=client_address(shown("REMOTE_ADDR", ""), shown("HTTP_X_FORWARDED_FOR", ""), trusted),
        sample="sample" in shown("QUERY_STRING", "") and request.args.get("sample", "").lower() in TRUE,
        authorization=shown("HTTP_AUTHORIZATION", ""),
        payment=payment,
        fingerprint=_fingerprint(request) if payment else "",
    )


def _fingerprint(request: Request) -> str:
    """Method, path, query in any order, wanted format. Not the encoding: a retry may come by another way."""
    query = urlencode(sorted(parse_qsl(request.query_string.decode("latin-1"), keep_blank_values=True)))
    parts = (request.method, request.path, query, request.headers.get("Accept", ""))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def given_again(stored: Answer, request: Request) -> Response:
    """A stored answer, in a coding that this request takes: the retry may come by another way than the first try."""
    response = Response(stored.body, stored.status, list(stored.headers))
    coding = response.headers.get("Content-Encoding", "identity")
    if coding not in ("identity", choose(request.headers.get("Accept-Encoding", ""))):
        response.set_data(_UNPACK[coding](stored.body))
        for name in ("Content-Encoding", "ETag"):
            response.headers.pop(name, None)
    return response


def _answer(request: Request, response: Response, rows: int, entry: Grant) -> Answer:
    if entry.method != "payment":
        return Answer(response.status_code, rows)
    empty = request.method == "HEAD" or response.status_code == 304
    return Answer(response.status_code, 0 if empty else rows, response.get_data(), tuple(response.headers.items()))
