"""`/v1/publishers`: how late, how often revised and how whole each feed's rows were, month by month."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import orjson

from api.access.values import Grant
from api.documents import published
from api.documents.publishers import selected
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.messages import Request, Response, View
from api.http.problems import ParameterFault
from api.service import Service
from warehouse import layout


def views(service: Service) -> dict[str, View]:
    """The view of this file's path, by operationId."""

    def publishers(request: Request) -> Response:
        values = parameters.values(ENDPOINTS["publishers"].parameters, request.args)
        catalogue = service.catalogue
        known: dict[str, Collection[str]] = {"source": catalogue.sources, "feed": catalogue.feeds}
        faults = [
            ParameterFault(name, "invalid", f"takes one of {', '.join(sorted(words))}")
            for name, words in known.items()
            if values[name] is not None and values[name] not in words
        ]
        if faults:
            raise parameters.invalid(faults)
        return service.guarded(request, "", partial(_answer, service, request, values))

    return {"publishers": publishers}


def _answer(service: Service, request: Request, values: dict[str, Any], grant: Grant) -> tuple[Response, int]:
    document = published.document(service.documents, layout.PUBLISHERS)
    body = selected(document, values["source"], values["feed"], values["month"])
    if grant.method == "sample":
        body["sample"] = True
    headers = [*responses.caching("free"), *responses.marks(service.catalogue.simulated)]
    response = responses.body(request, orjson.dumps(body), "application/json", headers)
    return response, 0 if response.status == 304 else 1
