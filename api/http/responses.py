"""Send a body with its ETag, 304, range, media type, caching, and markers of simulated and stale data."""

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
"""The size in bytes from which bodies are compressed. Shorter bodies fit one packet anyway."""
_OTHER_PARAMETERS = re.compile(r";(?!\s*q=)[^;,]*", re.IGNORECASE)
"""The parameters of a media range except its weight: `text/csv;charset=utf-8` means `text/csv` here."""
_CACHE: dict[AccessMethod, str] = {
    "free": "public, max-age=30, stale-while-revalidate=120",
    "sample": "public, max-age=30",
    "key": "private, max-age=30",
    "payment": "private, max-age=30",
}
_VARY_OPEN = "Accept, Accept-Encoding"
_VARY_PAID = "Accept, Accept-Encoding, Authorization, X-API-Key, PAYMENT-SIGNATURE, X-PAYMENT"


def caching(method: AccessMethod) -> Headers:
    """Return the caching headers of a response, by the client's access method."""
    return [("Cache-Control", _CACHE[method]), ("Vary", _VARY_OPEN if method in ("free", "sample") else _VARY_PAID)]


def uncached() -> Headers:
    """Return the caching headers of a response that changes from moment to moment."""
    return [("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding")]


def marks(simulated: bool, stale: bool = False) -> Headers:
    """Return the headers that mark simulated or stale data."""
    headers = [("X-EMDS-Data", "simulated")] if simulated else []
    return [*headers, ("X-EMDS-Stale", "true")] if stale else headers


@lru_cache(maxsize=128)
def accepted(accept: str, types: tuple[str, ...]) -> str | None:
    """Return the media type that an Accept header prefers, the first among equals; None if it accepts none."""
    header = _OTHER_PARAMETERS.sub("", first_ranges(accept)).replace("q=.", "q=0.")  # Java's own client writes `q=.2`
    weights = parse_accept_header(header, MIMEAccept)
    best = max(types, key=weights.quality)
    return best if weights.quality(best) else None


def negotiate(wanted: str | None, accept: str, types: Mapping[str, str]) -> str:
    """Return the format of a response by `?format=`, then Accept, then the first type. Raises 406.

    `types` gives formats by media type.
    """
    if wanted in types.values():
        return str(wanted)
    media = accepted(accept, tuple(types)) if accept else next(iter(types))
    if wanted is None and media is not None:
        return types[media]
    known = ", ".join(dict.fromkeys(types.values()))
    detail = f"This path returns {known}. Set `format`, or Accept to {' or '.join(types)}."
    raise Problem("not-acceptable", detail, members={"acceptable": [*types]})


class ETag:
    """The ETag of a response in the coding that its request accepts, known before the body is encoded.

    It `matches` if If-None-Match names it (RFC 9110 section 13.1.2: weak comparison).
    """

    __slots__ = ("coding", "matches", "tag")

    def __init__(self, request: HttpRequest, name: str, compressible: bool) -> None:
        self.coding = choose(request.header("HTTP_ACCEPT_ENCODING")) if compressible else "identity"
        self.tag = f'"{name}"' if self.coding == "identity" else f'"{name}-{self.coding}"'
        known = request.header("HTTP_IF_NONE_MATCH")
        self.matches = bool(known) and parse_etags(known).contains_weak(self.tag[1:-1])

    def answer(self, media: str, headers: Headers, encode: Callable[[str], bytes]) -> Response:
        """Return a 304 if the client has the body under this tag, else a 200 with what `encode` gives in the coding."""
        if self.matches:
            return Response(304, [("ETag", self.tag), *headers])
        coded = [] if self.coding == "identity" else [("Content-Encoding", self.coding)]
        return Response(200, [("ETag", self.tag), *coded, *headers, ("Content-Type", media)], encode(self.coding))


def document(request: HttpRequest, content: Document, media: str, headers: Headers) -> Response:
    """Return a published document as a response. It is compressed once per publication."""
    return ETag(request, content.tag, len(content.body) >= LEAST_BYTES).answer(media, headers, content.coded)


def body(request: HttpRequest, content: bytes, media: str, headers: Headers) -> Response:
    """Return a response with a body that was computed for this request."""
    etag = ETag(request, tag_of(content), len(content) >= LEAST_BYTES)
    return etag.answer(media, headers, partial(pack, content))


def file(request: HttpRequest, content: bytes, name: str, media: str, headers: Headers) -> Response:
    """Return a response with a file that is not compressed further, under the tag `name`."""
    return ETag(request, name, compressible=False).answer(media, headers, lambda _: content)


def ranged(request: HttpRequest, response: Response) -> Response:
    """Return the part of a body that a Range header requests (RFC 9110 section 14).

    Raises Problem 416 beyond the body's end. A body with a content coding is returned whole, because another worker's
    machine may encode it to other bytes. The body is also whole for another method than GET, other units than bytes,
    several parts, a suffix not shorter than the body, or an If-Range with another tag.
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
        detail = f"The requested range is beyond the end of the body, which has {length} bytes."
        raise Problem("range-not-satisfiable", detail, headers=[("Content-Range", f"bytes */{length}")])
    first, end = part
    headers = [*whole.headers, ("Content-Range", f"bytes {first}-{end - 1}/{length}")]
    return Response(206, headers, response.body[first:end])
