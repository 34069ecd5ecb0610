"""What each MCP tool reads: its price, the REST path that gives the same, and the work that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import orjson

from api.documents import published
from api.documents.cache import Document
from api.documents.catalogue import SERIES, LicenceTerms, stored_metric, zone_list
from api.documents.status import status
from api.mcp import derived, resources, several_zones, tables, text
from api.mcp.answers import ToolAnswer, ToolQuery, with_times
from api.mcp.arguments import BadArguments
from api.mcp.tools import COLUMNAR_FROM
from api.series import formats, rows
from api.series import page as pages
from api.series.page import Page
from api.series.query import SAMPLE_ROWS, SeriesRequest
from api.service import Service
from warehouse import clock, layout
from warehouse.clock import iso
from warehouse.market import Metric


def _list_zones(service: Service, _given: Mapping[str, Any]) -> ToolQuery:
    stated = resources.with_metrics(zone_list(service.catalogue))
    return ToolQuery("", "/v1/zones", lambda _sampled: ToolAnswer(text.zones(stated), orjson.dumps(stated)))


def _get_status(service: Service, _given: Mapping[str, Any]) -> ToolQuery:
    def work(_sampled: bool) -> ToolAnswer:
        stated = status(service.documents, service.catalogue, clock.now())
        return ToolAnswer(text.status(stated), orjson.dumps(stated | {"time": iso(stated["now"])}))

    return ToolQuery("", "/v1/status", work)


def _get_latest(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    zone = given["zone"]
    document = published.document(service.documents, layout.latest(zone))
    work = partial(_published, document, "sample", published.sample_latest, text.latest)
    return ToolQuery("latest", f"/v1/latest/{zone}", work, "the price")


def _get_zone_brief(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    zone = given["zone"]
    document = published.document(service.documents, layout.brief(zone))
    work = partial(_published, document, "sample", published.sample_brief, text.brief)
    return ToolQuery("brief", f"/v1/brief/{zone}", work, "context and trend of one metric")


def _get_map_snapshot(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    document = published.document(service.documents, layout.SNAPSHOT)
    metrics, zones = given["metric"], given["zones"]
    if metrics is None and zones is None:
        work = partial(_published, document, "sample", published.sample_snapshot, text.snapshot)
        return ToolQuery("snapshot", "/v1/map/snapshot", work, "the price of each zone")

    def filtered(sampled: bool) -> ToolAnswer:
        whole = published.sample_snapshot(document.json) if sampled else document.json
        stated = published.filtered_snapshot(whole, None if sampled else metrics, zones)
        due = published.overdue_after(stated)
        if metrics is None:
            sentences, structured = text.snapshot(stated), with_times(stated)
        else:
            structured = _narrowed(service, stated)
            sentences = text.narrowed(structured)
        return ToolAnswer(sentences, orjson.dumps(structured), 1, due if clock.now() > due else None)

    return ToolQuery("snapshot", "/v1/map/snapshot", filtered, "the price of each zone")


def _narrowed(service: Service, stated: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot of some metrics: the values in groups of one metric, instant and unit, under the terms of their
    sources alone."""
    zones = stated["zones"]
    values = [value for member in zones.values() for value in member["metrics"].values()]
    terms = service.catalogue.terms("", "", frozenset(value["source"] for value in values))
    if service.catalogue.simulated or not values:
        terms = LicenceTerms(
            *(
                "; ".join(dict.fromkeys(member[name] for member in zones.values()))
                for name in ("license", "attribution")
            )
        )
    return {
        **{name: part for name, part in stated.items() if name != "zones"},
        "generated_time": iso(stated["generated"]),
        "values": tables.by_instant(zones),
        "silent": [zone for zone, member in zones.items() if not member["metrics"]],
        "attribution": terms.attribution,
        "license": terms.license,
    }


def _published(
    document: Document,
    key: str,
    sample: Callable[[dict[str, Any]], dict[str, Any]],
    words: Callable[[Mapping[str, Any]], str],
    sampled: bool,
) -> ToolAnswer:
    """A published document or its sample form; its words are made once a publication."""
    due = document.derive("stale_after", published.stale_after)
    form = published.sampled(document, key, sample) if sampled else document
    sentences = form.derive("words", lambda shown: words(shown.json))
    structured = form.derive("with times", lambda shown: orjson.dumps(with_times(shown.json)))
    return ToolAnswer(sentences, structured, 1, due if clock.now() > due else None)


def _get_history(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    if (given["zone"] is None) == (given["zones"] is None):
        raise BadArguments("zone: required, or zones in its place")
    if given["zones"] is not None:
        return several_zones.history(service, given)
    zone, name = given["zone"], given["metric"]
    metric = SERIES[name]
    _check_conflicts(metric, given)
    day_ahead = given["market"] is not None
    query = SeriesRequest(
        metric,
        (zone,),
        (stored_metric(service.catalogue, zone, metric, day_ahead),),
        *derived.window(given, zone),
        given["limit"],
        given["order"],
        borders=given["by"] is not None,
        day_ahead=day_ahead,
        interval=given["interval"],
        as_of=derived.as_of(given, zone),
    )
    kept = f"the newest {SAMPLE_ROWS} rows of the window"
    return ToolQuery(name, f"/v1/{name}/{zone}", partial(_rows, service, query), kept)


def _check_conflicts(metric: Metric, given: Mapping[str, Any]) -> None:
    if given["interval"] is not None and metric is Metric.CAPACITY:
        raise BadArguments("interval: not for capacity, whose rows are yearly")
    if given["market"] is not None and metric is not Metric.PRICE:
        raise BadArguments("market: only for price")
    if given["by"] is not None and metric is not Metric.INTERCHANGE:
        raise BadArguments("by: only for interchange")


def _rows(service: Service, query: SeriesRequest, sampled: bool) -> ToolAnswer:
    page = pages.answer(service.reader, service.catalogue, query._replace(sample=sampled))
    stated = formats.envelope(page) | {"start_time": iso(page.start), "end_time": iso(page.end)}
    held = _held(service, query)
    columns = tables.PageColumns.of(page) if page.count else None
    answer = text.history(page, columns, held)
    if held is not None and columns is None:
        first, last = held
        stated["held"] = {"first": first, "last": last, "first_time": iso(first), "last_time": iso(last)}
    if page.following is not None:
        following = _following(page)
        stated |= {"next": following} if following else {}
        answer = f"{text.going_on(following, query.limit)}\n{answer}"
    if columns is not None and page.count >= COLUMNAR_FROM:
        stated |= tables.columns(columns)
    else:
        stated["data"] = with_times(orjson.loads(b"[%b]" % rows.text(page, "json")))
    return ToolAnswer(answer, orjson.dumps(stated), page.count)


def _held(service: Service, query: SeriesRequest) -> tuple[int, int] | None:
    """The first and last `ts` held of a query's series; None where nothing is."""
    entry = service.catalogue.entry(query.zones[0], query.stored[0])
    first, last = entry.get("first"), entry.get("last")
    return (first, last) if isinstance(first, int) and isinstance(last, int) else None


def _following(page: Page) -> dict[str, int]:
    """The window that goes on at the first row left out; none where it would give the same rows again."""
    query, left_out = page.request, page.following.ts if page.following else page.end
    if any(left_out == int(ts) for ts in page.rows.ts[[0, -1]]):
        return {}  # not even one instant fits into the limit
    if query.order == "asc":
        return {"start": left_out, "end": query.end}
    return {"start": query.start, "end": page.start}


QUERIES: Mapping[str, Callable[[Service, Mapping[str, Any]], ToolQuery]] = {
    "list_zones": _list_zones,
    "get_status": _get_status,
    "get_latest": _get_latest,
    "get_zone_brief": _get_zone_brief,
    "get_history": _get_history,
    "get_map_snapshot": _get_map_snapshot,
    "find_window": derived.find_window,
    "get_statistics": derived.get_statistics,
}
"""By the name of the tool; each raises BadArguments, Problem, CallerError or StorageError."""
