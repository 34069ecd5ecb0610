"""The view of `/v1/changes`: what changed in the rows served since a cursor, in the order in which it did."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from api.access.values import Grant
from api.documents import changes as documents
from api.documents.changes import Wanted
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.messages import Request, Response, View
from api.http.problems import ParameterFault, Problem
from api.service import Service
from warehouse.change_log import UnknownCursor

_SAMPLE_ENTRIES = 50


def views(service: Service) -> dict[str, View]:
    """The view of this file's path, by operationId."""

    def changes(request: Request) -> Response:
        values = parameters.values(ENDPOINTS["changes"].parameters, request.args)
        known = service.catalogue.feeds
        if values["feed"] is not None and values["feed"] not in known:
            raise parameters.invalid([ParameterFault("feed", "invalid", f"takes one of {', '.join(sorted(known))}")])
        return service.guarded(request, "", partial(_answer, service, request, values))

    return {"changes": changes}


def _answer(service: Service, request: Request, values: dict[str, Any], grant: Grant) -> tuple[Response, int]:
    sample = grant.method == "sample"
    limit = min(values["limit"], _SAMPLE_ENTRIES) if sample else values["limit"]
    wanted = Wanted(values["zone"], values["metric"], values["feed"])
    try:
        body = documents.page(service.storage, values["since"], limit, wanted, service.lag_s)
    except UnknownCursor as gone:
        raise Problem(
            "cursor-gone",
            "This cursor is unknown, or entries that followed it are no longer kept: ask for `since=now`, read the "
            f"rows that you hold again, then go on with that cursor. {gone.oldest} gives all entries that are kept.",
            [ParameterFault("since", "out-of-range", f"the oldest cursor is {gone.oldest}")],
            {"oldest": gone.oldest},
        ) from None
    if sample:
        body["sample"] = True
    # Not to be kept: the same address has more entries a moment later.
    headers = [
        ("Cache-Control", "no-cache"),
        ("Vary", "Accept-Encoding"),
        *responses.marks(service.catalogue.simulated),
    ]
    response = responses.body(request, orjson.dumps(body), "application/json", headers)
    return response, 0 if response.status == 304 else 1
