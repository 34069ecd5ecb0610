"""How a body is sent: ETags, 304, ranges, media types, caching, the marks of simulated and stale figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header, parse_etags, parse_range_header

from api.access.values import AccessMethod
from api.http.codings import choose, first_ranges, pack, tag_of
from api.http.document import Document
from api.http.messages import Headers, HttpRequest, Response
from api.http.problems import Problem

JSON = "application/json"
LEAST_BYTES = 1024
"""Shorter bodies fit one packet anyway."""
_OTHER_PARAMETERS = re.compile(r";(?!\s*q=)[^;,]*", re.IGNORECASE)
"""Parameters of a media range but its weight: `text/csv;charset=utf-8` is `text/csv` here."""
_CACHE: dict[AccessMethod, str] = {
    "free": "public, max-age=30, stale-while-revalidate=120",
    "sample": "public, max-age=30",
    "key": "private, max-age=30",
    "payment": "private, max-age=30",
}
_VARY_OPEN = "Accept, Accept-Encoding"
_VARY_PAID = "Accept, Accept-Encoding, Authorization, X-API-Key, PAYMENT-SIGNATURE, X-PAYMENT"


def caching(method: AccessMethod) -> Headers:
    """The caching headers of an answer, by how the caller got in."""
    return [("Cache-Control", _CACHE[method]), ("Vary", _VARY_OPEN if method in ("free", "sample") else _VARY_PAID)]


def uncached() -> Headers:
    """The caching headers of an answer that changes from one moment to the next."""
    return [("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding")]


def marks(simulated: bool, stale: bool = False) -> Headers:
    """Headers that say what the figures are."""
    headers = [("X-EMDS-Data", "simulated")] if simulated else []
    return [*headers, ("X-EMDS-Stale", "true")] if stale else headers


@lru_cache(maxsize=128)
def accepted(accept: str, types: tuple[str, ...]) -> str | None:
    """Of some media types the one that an Accept header likes best, the first of equals; None where it takes none."""
    header = _OTHER_PARAMETERS.sub("", first_ranges(accept)).replace("q=.", "q=0.")  # as Java's own client writes it
    weights = parse_accept_header(header, MIMEAccept)
    best = max(types, key=weights.quality)
    return best if weights.quality(best) else None


def negotiate(wanted: str | None, accept: str, types: Mapping[str, str]) -> str:
    """The format of an answer: `?format=`, then Accept, then the first. `types`: formats by media type. Raises 406."""
    if wanted in types.values():
        return str(wanted)
    media = accepted(accept, tuple(types)) if accept else next(iter(types))
    if wanted is None and media is not None:
        return types[media]
    detail = f"This path gives {', '.join(dict.fromkeys(types.values()))} ({', '.join(types)})."
    raise Problem("not-acceptable", detail, members={"acceptable": [*types]})


class ETag:
    """The ETag of an answer in the coding that its request takes, known before the body is encoded.

    It `matches` where If-None-Match names it (RFC 9110 section 13.1.2: weak comparison).
    """

    __slots__ = ("coding", "matches", "tag")

    def __init__(self, request: HttpRequest, name: str, compressible: bool) -> None:
        self.coding = choose(request.header("HTTP_ACCEPT_ENCODING")) if compressible else "identity"
        self.tag = f'"{name}"' if self.coding == "identity" else f'"{name}-{self.coding}"'
        known = request.header("HTTP_IF_NONE_MATCH")
        self.matches = bool(known) and parse_etags(known).contains_weak(self.tag[1:-1])

    def answer(self, media: str, headers: Headers, encode: Callable[[str], bytes]) -> Response:
        """304 where the request has the body under this tag, else what `encode` gives in the coding."""
        if self.matches:
            return Response(304, [("ETag", self.tag), *headers])
        coded = [] if self.coding == "identity" else [("Content-Encoding", self.coding)]
        return Response(200, [("ETag", self.tag), *coded, *headers, ("Content-Type", media)], encode(self.coding))


def document(request: HttpRequest, content: Document, media: str, headers: Headers) -> Response:
    """A published document, compressed once a publication."""
    return ETag(request, content.tag, len(content.body) >= LEAST_BYTES).answer(media, headers, content.coded)


def body(request: HttpRequest, content: bytes, media: str, headers: Headers) -> Response:
    """A body computed for this request."""
    etag = ETag(request, tag_of(content), len(content) >= LEAST_BYTES)
    return etag.answer(media, headers, partial(pack, content))


def file(request: HttpRequest, content: bytes, name: str, media: str, headers: Headers) -> Response:
    """A file that is no further compressed, under a tag of its own."""
    return ETag(request, name, compressible=False).answer(media, headers, lambda _: content)


def ranged(request: HttpRequest, response: Response) -> Response:
    """The part of a body that a Range header asks for (RFC 9110 section 14). Raises Problem 416 beyond its end.

    A body with a content coding is given whole: another worker's machine may code the same body to other bytes. So is
    any where several parts are asked for, another unit than bytes, as many last bytes as there are, another method than
    GET, or a part of what another tag names.
    """
    if response.status == 304 or response.header("Content-Encoding"):
        return response
    whole, length = response.with_headers([("Accept-Ranges", "bytes")]), len(response.body)
    wanted, tag = parse_range_header(request.header("HTTP_RANGE")), request.header("HTTP_IF_RANGE").strip()
    is_of_these_bytes = response.status == 200 and request.method == "GET" and tag in ("", response.header("ETag"))
    if not is_of_these_bytes or wanted is None or wanted.units != "bytes" or len(wanted.ranges) != 1:
        return whole
    if wanted.ranges[0][0] <= -length:
        return whole
    part = wanted.range_for_length(length)
    if part is None:
        detail = f"The body has {length} bytes."
        raise Problem("range-not-satisfiable", detail, headers=[("Content-Range", f"bytes */{length}")])
    first, end = part
    headers = [*whole.headers, ("Content-Range", f"bytes {first}-{end - 1}/{length}")]
    return Response(206, headers, response.body[first:end])
