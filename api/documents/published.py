"""Serve published documents unchanged or as samples: `/v1/latest`, `/v1/brief`, `/v1/map/snapshot` and map history.

`/v1/zones` comes from the catalogue, and `/v1/publishers` can be filtered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from api.access.gate import Admission
from api.documents.catalogue_reader import Catalogue
from api.http import parameters, responses
from api.http.document import Document
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.parameters import conflict
from api.http.problems import ParameterFault
from api.service import Service
from warehouse.documents.present import Expiry
from warehouse.figures.context import ContextBlock, coverage_note
from warehouse.figures.wind_solar import WIND_SOLAR
from warehouse.market import clock
from warehouse.market.metric_definition import CurrentMix
from warehouse.market.metrics import AWAITED, MIXES
from warehouse.market.vocabulary import Metric
from warehouse.store import layout

_ZONE_FIELDS = ("id", "name", "source", "tz", "market_tz", "currency", "license", "attribution")
_HEAD = ("as_of", "method", "docs", "months")
"""The fields of `/v1/publishers` beside its entries."""
_OF_CARBON = ("carbon_basis", "carbon_omitted")
"""The fields of a zone's document that describe its `carbon`."""


def _snapshot(service: Service, request: HttpRequest, query: QueryValues) -> Response:
    metrics, zones = query["metric"], query["zones"]
    if query["sample"] and metrics is not None and "price" not in metrics:
        raise conflict(
            "metric", "must include `price`, because a sample returns prices only; send a key for other metrics"
        )
    if metrics is None and zones is None:
        return _document(service, request, query, layout.SNAPSHOT, "snapshot", sample_snapshot)
    with service.gate.enter(request, "snapshot") as entry:
        whole = service.documents.require(layout.SNAPSHOT).json
        body = filtered_snapshot(sample_snapshot(whole) if entry.method == "sample" else whole, metrics, zones)
        stale = clock.now() > body["valid_until"]
        values = sum(_count_values(member) for member in body["zones"].values())
        return entry.json(body, service.documents.catalogue.simulated, 0 if stale else values, stale)


def _document(
    service: Service,
    request: HttpRequest,
    _query: QueryValues,
    name: str | Callable[[str], str],
    price: str = "",
    sample: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    zone: str = "",
) -> Response:
    """Return a document as published, or its sample. `name` is its name, or a function from zone to name."""
    with service.gate.enter(request, price) as entry:
        whole = service.documents.require(name if isinstance(name, str) else name(zone), zone)
        stale = clock.now() > whole.decode(Expiry).valid_until
        form = whole.render("sample", lambda: sample(whole.json)) if sample and entry.method == "sample" else whole
        return entry.document(form, service.documents.catalogue.simulated, stale)


def _zones(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    with service.gate.enter(request) as entry:
        catalogue = service.documents.catalogue
        return once_a_publication(entry, catalogue, "zones", partial(zone_list, catalogue))


def zone_list(catalogue: Catalogue) -> dict[str, Any]:
    """Return the body of `/v1/zones`."""
    return {"zones": [{name: getattr(zone, name) for name in _ZONE_FIELDS} for zone in catalogue.zones.values()]}


def once_a_publication(
    entry: Admission, catalogue: Catalogue, name: str, build: Callable[[], dict[str, Any]]
) -> Response:
    """Return a response whose body is computed once per publication of the catalogue, and once as a sample."""
    sample = {"sample": True} if entry.method == "sample" else {}
    body = catalogue.document.render(f"{name} {sample}", lambda: build() | sample)
    return entry.document(body, catalogue.simulated)


def _publishers(service: Service, request: HttpRequest, query: QueryValues) -> Response:
    catalogue = service.documents.catalogue
    faults = [
        ParameterFault(name, "invalid", f"must be one of {', '.join(sorted(words))}")
        for name, words in (("source", catalogue.sources), ("feed", catalogue.feeds))
        if query[name] is not None and query[name] not in words
    ]
    if faults:
        raise parameters.invalid(faults)
    with service.gate.enter(request) as entry:
        body = publishers_of(service.documents.require(layout.PUBLISHERS), query)
        return entry.json(body, catalogue.simulated, caching=responses.caching("free"))


def publishers_of(document: Document, query: QueryValues) -> dict[str, Any]:
    """Return the document with the entries that match the `source`, `feed` and `month` that are not None."""
    members = document.json
    wanted = {name: query[name] for name in ("source", "feed", "month") if query[name]}
    entries = [e for e in members["publishers"] if all(e[name] == value for name, value in wanted.items())]
    wanted.pop("month", None)
    scores = [e for e in members.get("scores", ()) if all(e[name] == value for name, value in wanted.items())]
    shares = [e for e in members.get("shares", ()) if query["source"] in (None, e["source"]) and not query["feed"]]
    return {
        **{name: members[name] for name in _HEAD},
        "count": len(entries),
        "publishers": entries,
        "scores": scores,
        "shares": shares,
    }


def sample_latest(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the price as its only metric, and with the zone's attribution and licence."""
    metrics = {metric: value for metric, value in body["metrics"].items() if metric == Metric.PRICE}
    return {**_without_carbon(_without_mixes(body, MIXES.values())), "metrics": metrics, "sample": True}


def sample_brief(body: dict[str, Any]) -> dict[str, Any]:
    """Return the brief with a single context block, its trend and the summary's sentences about it.

    The block is the price if the brief has it.
    """
    blocks = ("context", "trend_24h")
    metric = next((m for name in blocks for m in ("price", *body.get(name, {})) if m in body.get(name, {})), None)
    left_out = {WIND_SOLAR, *(m for name in blocks for m in body.get(name, {}) if m != metric)}
    document = _without_mixes(body, (words for words in MIXES.values() if not words.is_awaited))
    for name, omitted in zip(blocks, ("context_omitted", "trend_omitted"), strict=True):
        of_metrics = body.get(name, {})
        document[name] = {m: block for m, block in of_metrics.items() if m == metric}
        document[omitted] = body.get(omitted, {}) | {m: "sample" for m in of_metrics if m != metric}
    # The sentences are those of the full summary, so that a sample cannot contradict it.
    parts, figures = (
        {m: part for m, part in body.get(name, {}).items() if m not in left_out}
        for name in ("summary_parts", "summary_figures")
    )
    parts["sample"] = "This is a sample. The full brief ranks every metric of the zone."
    return {
        **document,
        "sample": True,
        "summary": " ".join(parts.values()),
        "summary_parts": parts,
        "summary_figures": figures,
        "coverage_note": coverage_note(
            msgspec.convert(document["context"], dict[str, ContextBlock]), document["context_omitted"]
        ),
    }


def sample_snapshot(body: dict[str, Any]) -> dict[str, Any]:
    """Return the snapshot with the price of every zone that has a price."""
    return {**filtered_snapshot(body, (Metric.PRICE,), None), "sample": True}


def filtered_snapshot(
    body: dict[str, Any], metrics: Collection[str] | None, zones: Collection[str] | None
) -> dict[str, Any]:
    """Return the snapshot of the given metrics and zones; None selects all.

    Its `valid_until`, and that of each zone, is computed from the values that remain.
    """
    selected = {
        zone: _of_metrics(member, metrics) for zone, member in body["zones"].items() if zones is None or zone in zones
    }
    ends = [end for member in selected.values() for end in _ends(member)]
    return {**body, "valid_until": min(ends, default=body["valid_until"]), "zones": selected}


def _of_metrics(member: dict[str, Any], metrics: Collection[str] | None) -> dict[str, Any]:
    """Return a zone of the snapshot with only the given metrics."""
    if metrics is None:
        return member
    selected = _without_mixes(member, (words for metric, words in MIXES.items() if metric not in metrics))
    if Metric.CARBON not in metrics:
        selected = _without_carbon(selected)
    selected["metrics"] = {metric: value for metric, value in member["metrics"].items() if metric in metrics}
    ends = _ends(selected)
    return selected | ({"valid_until": min(ends)} if ends else {})


def _ends(member: dict[str, Any]) -> list[int]:
    """Return the times at which the values of a zone are due to be replaced."""
    return [figure["expected_by"] for figure in _awaited(member) if "expected_by" in figure]


def _awaited(member: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the values of a zone on which its staleness depends."""
    mixes = [member[words.member] for words in MIXES.values() if words.is_awaited and words.member in member]
    return [*(value for metric, value in member["metrics"].items() if metric in AWAITED), *mixes]


def _count_values(member: dict[str, Any]) -> int:
    """Return the number of metrics for which a zone has a value, including mixes."""
    return len(member["metrics"]) + sum(bool(member.get(words.member)) for words in MIXES.values())


def _without_mixes(body: Mapping[str, Any], left_out: Iterable[CurrentMix]) -> dict[str, Any]:
    """Return a body, or a zone in it, without the given mixes."""
    words = [*left_out]
    return {name: part for name, part in body.items() if not any(mix.names(name) for mix in words)}


def _without_carbon(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in body.items() if name not in _OF_CARBON}


VIEWS: dict[str, View] = {
    "zones": _zones,
    "publishers": _publishers,
    "latest": partial(_document, name=layout.latest, price="latest", sample=sample_latest),
    "brief": partial(_document, name=layout.brief, price="brief", sample=sample_brief),
    "snapshot": _snapshot,
    "live-hours": partial(_document, name=layout.LIVE_HOURS),
    "live-zone": partial(_document, name=layout.live_history),
}
