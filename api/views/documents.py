"""Brief, latest and snapshot: published documents, byte for byte, and their sample forms. How they are made is not decided here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
from flask import Response, request

from api.access.values import Grant
from api.documents.cache import Document
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.problems import ParameterFault, Problem
from api.service import Service
from warehouse import clock, layout
from warehouse.clock import LAST_INSTANT
from warehouse.coverage_note import coverage_note
from warehouse.market import Metric

_JSON = "application/json"


def document(service: Service, name: str) -> Document:
    """A published document. Raises Problem 503 where it does not exist yet."""
    found = service.documents.get(name)
    if found is None:
        raise Problem(
            "not-yet-available",
            f"{name.removesuffix('.json')} does not exist yet: nothing was ingested for it so far.",
            headers=[("Retry-After", "60")],
        )
    return found


def sample_latest(stated: dict[str, Any]) -> dict[str, Any]:
    """Latest values are short: a sample holds them all."""
    return {**stated, "sample": True}


def sample_brief(stated: dict[str, Any]) -> dict[str, Any]:
    """One context block and its trend, the price's where there is one, and of the summary what does not tell of the others."""
    blocks = ("context", "trend_24h")
    kept = next((m for name in blocks for m in ("price", *stated.get(name, {})) if m in stated.get(name, {})), None)
    taken = {m for name in blocks for m in stated.get(name, {}) if m != kept}
    found = dict(stated)
    for name, omitted in zip(blocks, ("context_omitted", "trend_omitted"), strict=True):
        there = stated.get(name, {})
        found[name] = {m: block for m, block in there.items() if m == kept}
        found[omitted] = stated.get(omitted, {}) | {m: "sample" for m in there if m != kept}
    # The whole summary's own sentences, so that a sample cannot say otherwise.
    parts, said = (
        {m: part for m, part in stated.get(name, {}).items() if m not in taken}
        for name in ("summary_parts", "summary_figures")
    )
    parts["sample"] = "This is a sample: the brief ranks every metric that the zone publishes."
    return {
        **found,
        "sample": True,
        "summary": " ".join(parts.values()),
        "summary_parts": parts,
        "summary_figures": said,
        "coverage_note": coverage_note(found),
    }


def sample_snapshot(metric: str, stated: dict[str, Any]) -> dict[str, Any]:
    """One metric of every zone; the mix is generation's."""
    zones = {
        zone: {name: part for name, part in member.items() if name != "generation_mix" or metric == Metric.GENERATION}
        | {"metrics": {m: value for m, value in member["metrics"].items() if m == metric}}
        for zone, member in stated["zones"].items()
    }
    return {**stated, "sample": True, "zones": zones}


def sampled(found: Document, key: str, make: Callable[[dict[str, Any]], dict[str, Any]]) -> Document:
    """The sample form of a document, made once a publication."""
    form: Document = found.derive(key, lambda held: Document(held.name, orjson.dumps(make(held.json)), held.identity))
    return form


def stale_after(found: Document) -> int:
    """The instant after which a document's figures are overdue: its `valid_until`, or the first `expected_by` in it."""
    stated = found.json
    ends = [stated.get("valid_until"), *(value.get("expected_by") for value in stated.get("metrics", {}).values())]
    return min((end for end in ends if end is not None), default=LAST_INSTANT)


def views(service: Service) -> dict[str, Callable[..., Response]]:
    """The views of this file's paths, by operationId."""

    def latest(zone: str) -> Response:
        return _zone_view(service, "latest", layout.latest(zone), sample_latest)

    def brief(zone: str) -> Response:
        return _zone_view(service, "brief", layout.brief(zone), sample_brief)

    def snapshot() -> Response:
        asked = parameters.values(ENDPOINTS["snapshot"].parameters, request.args)
        if asked["metric"] and not asked["sample"]:
            raise parameters.invalid([ParameterFault("metric", "conflict", "only with sample=true")])
        metric = asked["metric"] or "price"
        return service.guarded(
            "snapshot", partial(_answer, service, layout.SNAPSHOT, f"sample-{metric}", partial(sample_snapshot, metric))
        )

    return {"latest": latest, "brief": brief, "snapshot": snapshot}


def _zone_view(service: Service, price: str, name: str, sample: Callable[[dict[str, Any]], dict[str, Any]]) -> Response:
    parameters.values(ENDPOINTS[price].parameters, request.args)
    return service.guarded(price, partial(_answer, service, name, "sample", sample))


def _answer(
    service: Service,
    name: str,
    key: str,
    sample: Callable[[dict[str, Any]], dict[str, Any]],
    entry: Grant,
) -> tuple[Response, int]:
    found = document(service, name)
    stale = clock.now() > found.derive("stale_after", stale_after)
    headers = [*responses.caching(entry.method), *responses.marks(service.holdings.simulated, stale)]
    response = responses.document(
        request, sampled(found, key, sample) if entry.method == "sample" else found, _JSON, headers
    )
    return response, 0 if response.status_code == 304 else 1
