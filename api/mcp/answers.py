"""Prepare the call of each tool except `get_history`: its price, the equivalent REST path and its response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from api.documents import changes, published
from api.documents.catalogue_reader import Catalogue
from api.documents.status import status
from api.http.document import Document
from api.http.parameters import conflict
from api.mcp import text
from api.mcp.calls import ToolAnswer, ToolRequest
from api.mcp.history import request_of, why_empty
from api.series import views, window_statistics, windows
from api.service import Service
from warehouse.documents.present import Expiry
from warehouse.market import clock
from warehouse.market.clock import iso
from warehouse.market.metrics import BY_PATH, PUBLIC, YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.store import layout

Arguments = Mapping[str, Any]
"""A tool's validated arguments."""
_MOST_ENTRIES = 5000


def zones_with_metrics(catalogue: Catalogue) -> dict[str, Any]:
    """Return the zone list with each zone's metrics, which REST has only in the catalogue."""
    body = published.zone_list(catalogue)
    for zone in body["zones"]:
        zone["metrics"] = [metric.value for metric in PUBLIC if metric in ZONES[zone["id"]].metrics]
    return body


def _worded(macro: str, body: dict[str, Any], rows: int = 1, *more: Any) -> ToolAnswer:
    return ToolAnswer(text.words(macro, body, *more), text.with_times(body), rows)


def list_zones(service: Service, _arguments: Arguments) -> ToolRequest:
    body = zones_with_metrics(service.documents.catalogue)
    return ToolRequest("", "/v1/zones", lambda _sample: _worded("zones", body))


def get_status(service: Service, _arguments: Arguments) -> ToolRequest:
    answer = partial(status, service.documents, service.documents.catalogue)
    return ToolRequest("", "/v1/status", lambda _sample: _worded("status", answer(clock.now())))


Sampled = Callable[[dict[str, Any]], dict[str, Any]]


def _of_zone(
    service: Service, arguments: Arguments, name: str, key: Callable[[str], str], sampled: Sampled
) -> ToolRequest:
    """Return the call of `/v1/<name>/{zone}`, a published document."""
    document = service.documents.require(key(arguments["zone"]), arguments["zone"])
    answer = partial(_published, document, sampled, partial(text.words, name))
    return ToolRequest(name, f"/v1/{name}/{arguments['zone']}", answer)


get_latest = partial(_of_zone, name="latest", key=layout.latest, sampled=published.sample_latest)
get_zone_brief = partial(_of_zone, name="brief", key=layout.brief, sampled=published.sample_brief)


def get_map_snapshot(service: Service, arguments: Arguments) -> ToolRequest:
    document = service.documents.require(layout.SNAPSHOT)
    if arguments["metric"] is None and arguments["zones"] is None:
        answer = partial(_published, document, published.sample_snapshot, text.snapshot)
    else:
        answer = partial(_filtered, service.documents.catalogue, document, arguments)
    return ToolRequest("snapshot", "/v1/map/snapshot", answer)


def _published(document: Document, sampled: Sampled, words: Callable[[Arguments], str], sample: bool) -> ToolAnswer:
    """Return a published document, or its sample, with a text that is written once per publication."""
    form = document.render("sample", lambda: sampled(document.json)) if sample else document
    sentences = form.derive("words", lambda sent: words(sent.json))
    body = form.derive("with times", lambda sent: text.with_times(sent.json))
    return ToolAnswer(sentences, body, 1, document.decode(Expiry).valid_until)


def _filtered(catalogue: Catalogue, document: Document, arguments: Arguments, sample: bool) -> ToolAnswer:
    """Return the snapshot of some metrics or zones.

    Selected metrics are returned as `values` by rank, under the terms of their sources.
    """
    metrics = arguments["metric"]
    whole = published.sample_snapshot(document.json) if sample else document.json
    body = published.filtered_snapshot(whole, None if sample else metrics, arguments["zones"])
    valid_until = body["valid_until"]
    if metrics is not None:
        members = body.pop("zones")
        values = [(zone, name, value) for zone, of in members.items() for name, value in of["metrics"].items()]
        terms = [
            catalogue.terms(zone, _stored(zone, name), frozenset([value["source"]])) for zone, name, value in values
        ]
        for name in ("attribution", "license"):
            body[name] = "; ".join(dict.fromkeys(of[name] for of in terms))
        without_data = [zone for zone, of in members.items() if not of["metrics"]]
        body |= {"values": text.ranked(members), "zones_without_data": without_data}
    return ToolAnswer(text.snapshot(body), text.with_times(body), 1, valid_until)


def _stored(zone: str, metric: str) -> str:
    return ZONES[zone].carbon_metric if metric == Metric.CARBON else metric


def find_window(service: Service, arguments: Arguments) -> ToolRequest:
    """Return the call of `/v1/windows/{zone}`. It is free of charge if no future prices are known."""
    zone = arguments["zone"]
    question = windows.question(service.documents.catalogue, zone, arguments)

    def answer(sample: bool) -> ToolAnswer:
        body = windows.find_windows(service, question, sample)
        return _worded("window", body, int(body["available"]), ZONES[zone])

    return ToolRequest("windows", f"/v1/windows/{zone}", answer)


def get_statistics(service: Service, arguments: Arguments) -> ToolRequest:
    """Return the call of a series path with `stats=true`."""
    zone, name, above, below = (arguments[each] for each in ("zone", "metric", "above", "below"))
    if BY_PATH[name] in YEARLY:
        raise conflict("metric", f"must not be {name}: its rows are yearly; use get_history")
    request = request_of(service, (zone,), arguments)
    if request.end - request.start > views.LONGEST_OF_STATISTICS:
        raise conflict("start", "must be at most ten years before end")

    def answer(sample: bool) -> ToolAnswer:
        sampled, catalogue = request._replace(sample=sample), service.documents.catalogue
        body, rows = window_statistics.statistics_of(service.reader, catalogue, sampled, above, below)
        series = catalogue.entry(zone, request.stored[0])
        if not rows:
            body |= why_empty(service, request)
        elif series and series.first is not None and series.first > request.start:
            body["available_range"] = {"first": series.first}
        return _worded("statistics", body, rows)

    return ToolRequest(name, f"/v1/{name}/{zone}", answer)


def get_changes(service: Service, arguments: Arguments) -> ToolRequest:
    """Return the call of `/v1/changes` for as many entries as fit into a response, summed by series."""
    zone = arguments["zone"]
    wanted = changes.ChangeFilter(None if zone is None else (zone,), arguments["metric"])

    def answer(_sample: bool) -> ToolAnswer:
        return _worded("changes", _summed(changes.read_changes(service, arguments["since"], _MOST_ENTRIES, wanted)))

    return ToolRequest("", "/v1/changes", answer)


def _summed(page: Mapping[str, Any]) -> dict[str, Any]:
    """Sum the entries of a page by series: the corrections of each, and the series with only new rows."""
    by_series: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in page["entries"]:
        by_series.setdefault((entry["zone"], entry["metric"], entry.get("market", "")), []).append(entry)
    corrected, new_rows_only = [], dict[str, list[str]]()
    for (zone, metric, market), entries in sorted(by_series.items()):
        corrections = [entry for entry in entries if entry["changed"] or entry["withdrawn"] != 0]
        if not corrections:
            new_rows_only.setdefault(zone, []).append(f"{metric} {market}".rstrip())
            continue
        series: dict[str, Any] = {"zone": zone, "metric": metric, **({"market": market} if market else {})}
        for name in ("added", "changed", "withdrawn"):
            counts = [entry[name] for entry in entries]
            series[name] = None if None in counts else sum(counts)
        for name, bound in (("first", min), ("last", max), ("at", max)):
            series[f"{name}_time"] = iso(bound(entry[name] for entry in corrections))
        corrected.append({**series, "feeds": sorted({entry["feed"] for entry in corrections if entry["feed"]})})
    members = {name: page[name] for name in ("next", "more", "oldest")}
    return {"corrected": corrected, "new_rows_only": new_rows_only, "entries": page["count"], **members}
