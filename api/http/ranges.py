"""Parts of a body by the Range header, as readers of Parquet, Arrow and GIS files ask for them."""

from __future__ import annotations

import werkzeug.wrappers
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from api.http.messages import Request, Response
from api.http.problems import Problem


def ranged(request: Request, response: Response) -> Response:
    """The part of a body that a Range header asks for (RFC 9110 section 14). Raises Problem 416 beyond its end.

    One with a content coding is given whole: another worker's machine may code the same body to other bytes.
    """
    if response.status == 304 or response.header("Content-Encoding"):
        return response
    if response.status != 200 or "HTTP_RANGE" not in request.environ:
        return response.with_headers([("Accept-Ranges", "bytes")])
    length = len(response.body)
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
