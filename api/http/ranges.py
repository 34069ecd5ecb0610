"""Parts of a body by the Range header, as readers of Parquet, Arrow and GIS files ask for them."""

from __future__ import annotations

import werkzeug.wrappers
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.http import parse_range_header

from api.http.messages import Request, Response
from api.http.problems import Problem


def _asks_for_a_part(request: Request, length: int) -> bool:
    """Whether a request asks for one range of bytes: what else a Range header says may be ignored, or must be."""
    wanted = parse_range_header(request.header("HTTP_RANGE"))
    if wanted is None or wanted.units != "bytes" or len(wanted.ranges) != 1:
        return False
    if wanted.ranges[0][0] <= -length:  # as many of the last bytes as there are, or more
        return False
    return request.method == "GET" and not request.header("HTTP_IF_RANGE").lstrip().startswith("W/")


def ranged(request: Request, response: Response) -> Response:
    """The part of a body that a Range header asks for (RFC 9110 section 14). Raises Problem 416 beyond its end.

    A body with a content coding is given whole: another worker's machine may code the same body to other bytes. So is
    any where several parts are asked for, another unit than bytes, as many last bytes as there are, another method than
    GET, or a part only if a weak tag fits.
    """
    if response.status == 304 or response.header("Content-Encoding"):
        return response
    length = len(response.body)
    if response.status != 200 or not _asks_for_a_part(request, length):
        return response.with_headers([("Accept-Ranges", "bytes")])
    cut = werkzeug.wrappers.Response(response.body, 200, [*response.headers, ("Accept-Ranges", "bytes")])
    try:
        cut.make_conditional(request.environ, accept_ranges=True, complete_length=length)
    except RequestedRangeNotSatisfiable:
        raise Problem(
            "range-not-satisfiable",
            f"The body has {length} bytes.",
            headers=[("Content-Range", f"bytes */{length}")],
        ) from None
    headers = [pair for pair in cut.headers.to_wsgi_list() if pair[0] not in ("Content-Length", "Date")]
    return Response(cut.status_code, headers, b"".join(cut.iter_encoded()))
