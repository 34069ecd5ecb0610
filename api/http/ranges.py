"""Parts of a body by the Range header, as readers of Parquet, Arrow and GIS files ask for them."""

from __future__ import annotations

from flask import Request, Response
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from api.http.problems import Problem


def ranged(request: Request, response: Response) -> Response:
    """The part of a body that a Range header asks for (RFC 9110 section 14). Raises Problem 416 beyond its end."""
    response.headers["Accept-Ranges"] = "bytes"
    if response.status_code == 200 and "HTTP_RANGE" in request.environ:
        length = len(response.get_data())
        try:
            response.make_conditional(request.environ, accept_ranges=True, complete_length=length)
        except RequestedRangeNotSatisfiable:
            raise Problem(
                "range-not-satisfiable",
                f"The body has {length} bytes.",
                headers=[("Content-Range", f"bytes */{length}")],
            ) from None
    return response
