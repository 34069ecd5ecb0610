"""`/v1/publishers`: how late, how often revised and how whole each feed's rows were, month by month."""

from __future__ import annotations

from typing import Any

import orjson

from api.documents import published
from api.documents.cache import Document
from api.http import parameters, responses
from api.http.messages import Request, Response, View
from api.http.problems import ParameterFault
from api.service import Service
from warehouse import layout

_HEAD = ("as_of", "method", "docs", "months")


def _publishers(service: Service, request: Request, query: dict[str, Any]) -> Response:
    catalogue = service.catalogue
    faults = [
        ParameterFault(name, "invalid", f"takes one of {', '.join(sorted(words))}")
        for name, words in (("source", catalogue.sources), ("feed", catalogue.feeds))
        if query[name] is not None and query[name] not in words
    ]
    if faults:
        raise parameters.invalid(faults)
    with service.enter(request) as entry:
        body = selected(published.document(service.documents, layout.PUBLISHERS), query)
        if entry.method == "sample":
            body["sample"] = True
        headers = [*responses.caching("free"), *responses.marks(catalogue.simulated)]
        return entry.settle(responses.body(request, orjson.dumps(body), responses.JSON, headers))


def selected(document: Document, query: dict[str, Any]) -> dict[str, Any]:
    """The document with the entries that fit `source`, `feed` and `month`, where these are not None."""
    members = document.json
    wanted = {name: query[name] for name in ("source", "feed", "month") if query[name]}
    entries = [e for e in members["publishers"] if all(e[name] == value for name, value in wanted.items())]
    return {**{name: members[name] for name in _HEAD}, "count": len(entries), "publishers": entries}


VIEWS: dict[str, View] = {"publishers": _publishers}
