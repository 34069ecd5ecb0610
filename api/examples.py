"""Examples for the description: answers that this very service gives at the moment, cut to a few rows. Made-up ones would lie."""

from __future__ import annotations

from typing import Any

import orjson

from api import artefacts, catalogue, formats, holdings, reads
from api.endpoints import ENDPOINTS
from api.holdings import SERIES
from api.reads import Query
from api.service import Service
from warehouse import clock
from warehouse.clock import DAY
from warehouse.errors import CallerError

_ROWS = 2
_DAYS = 7
_SAMPLES = {"latest": artefacts.sample_latest, "brief": artefacts.sample_brief}
_NAMES = {"latest": artefacts.latest_name, "brief": artefacts.brief_name}


def of(service: Service) -> dict[str, Any]:
    """An example by operationId, where there is anything to show."""
    found: dict[str, Any] = {"healthz": {"status": "ok"}}
    for name in _NAMES:
        document = next((d for zone in ENDPOINTS[name].zones if (d := service.shelf.get(_NAMES[name](zone))) is not None), None)
        if document is not None:
            found[name] = _SAMPLES[name](document.json)
    snapshot = service.shelf.get(artefacts.SNAPSHOT)
    if snapshot is not None:
        whole = artefacts.sample_snapshot("price", snapshot.json)
        found["snapshot"] = {**whole, "zones": dict(list(whole["zones"].items())[:_ROWS])}
    try:
        held = service.holdings
    except holdings.NoCatalogue:
        return found
    found["zones"] = {"zones": catalogue.zones(held)["zones"][:_ROWS]}
    found["status"] = _few(catalogue.status(service.shelf, held, clock.now()), "sources")
    found["readyz"] = {"status": "ready", "catalogue": held.generated}
    return found | {name: example for name in SERIES if (example := _series(service, name)) is not None}


def _few(document: dict[str, Any], member: str) -> dict[str, Any]:
    return {**document, member: document[member][:_ROWS]}


def _series(service: Service, name: str) -> dict[str, Any] | None:
    """The newest rows of the first zone that has any."""
    now = clock.now()
    for zone in ENDPOINTS[name].zones:
        query = Query(zone, SERIES[name], now - _DAYS * DAY, now, _ROWS, "desc")
        try:
            page = reads.answer(service.reader, service.holdings, query)
        except CallerError:
            continue
        if page.count:
            answer: dict[str, Any] = orjson.loads(formats.encode("json", page, service.rows).body)
            return answer
    return None
