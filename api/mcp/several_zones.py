"""`get_history` of several zones at once: a column a zone, in the text and in the structure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

import orjson

from api.access.prices import for_zones
from api.documents.catalogue import SERIES, stored_metric
from api.mcp import derived, tables, text
from api.mcp.answers import ToolAnswer, ToolQuery
from api.mcp.arguments import BadArguments
from api.series import formats, rows
from api.series import page as pages
from api.series.page import Page
from api.series.query import SAMPLE_ROWS, SeriesRequest
from api.service import Service
from warehouse.clock import iso
from warehouse.market import Metric

_ONE_ONLY = (Metric.GENERATION, Metric.CAPACITY)


def history(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    """The call of `/v1/<metric>?zones=`; it costs a call a zone. Raises BadArguments, and what a single zone raises."""
    name, zones = given["metric"], tuple(sorted(given["zones"]))
    metric = SERIES[name]
    if metric in _ONE_ONLY or given["by"] is not None:
        raise BadArguments("zones: not with generation, capacity or by=border; ask zone by zone")
    if len(zones) > 1 and any(isinstance(given[word], date) for word in ("start", "end", "as_of")):
        raise BadArguments("start: a date takes one zone; give Unix seconds or RFC 3339 with an offset")
    start, end = derived.window(given, zones[0])
    day_ahead = given["market"] is not None
    stored = tuple(stored_metric(service.catalogue, zone, metric, day_ahead) for zone in zones)
    request = SeriesRequest(
        metric,
        zones,
        stored,
        start,
        end,
        given["limit"],
        given["order"],
        day_ahead=day_ahead,
        interval=given["interval"],
        as_of=derived.as_of(given, zones[0]),
        several=True,
    )
    kept = f"the newest {SAMPLE_ROWS} rows of the window over all zones"
    return ToolQuery(for_zones(f"{name}-zones", len(zones)), f"/v1/{name}", partial(_answer, service, request), kept)


def _answer(service: Service, request: SeriesRequest, sampled: bool) -> ToolAnswer:
    page = pages.answer(service.reader, service.catalogue, request._replace(sample=sampled))
    named = rows.plain_columns(page)
    stated = formats.envelope(page) | {"start_time": iso(page.start), "end_time": iso(page.end)}
    following = _following(page)
    if page.following is not None and following:
        stated["next"] = following
    pivoted = tables.by_key(named["ts"], named["zone"], named["value"])
    times = [tables.stamp(at) for at in pivoted.pop("ts")]
    units = dict(zip(named["zone"], named["unit"], strict=True))
    resolutions = dict(zip(named["zone"], named["resolution"], strict=True))
    stated |= {"units": units, "resolutions": resolutions, "columns": {"time": times, **pivoted}}
    lines = [_head(page, units, resolutions)]
    if page.following is not None:
        lines.insert(0, text.going_on(following, request.limit))
    lines += tables.pivoted_lines(times, pivoted)
    members = [
        {"attribution": stated["attribution"][zone], "license": stated["license"][zone]} for zone in request.zones
    ]
    return ToolAnswer("\n".join([*lines, text.terms_of(members)]), orjson.dumps(stated), page.count)


def _head(page: Page, units: Mapping[str, str], resolutions: Mapping[str, str]) -> str:
    """What the rows are and reach."""
    of = page.request
    what = f"{of.metric.value}" + (", day-ahead auction" if of.day_ahead else "")
    what += f", means of {of.interval}" if of.interval else ""
    window = f"in [{iso(page.start)}, {iso(page.end)})"
    if not page.count:
        return f"{what} of {', '.join(page.request.zones)}: no rows {window}."
    each = ", ".join(f"{zone} ({unit}, {resolutions[zone]})" for zone, unit in sorted(units.items()))
    silent = [zone for zone in page.request.zones if zone not in units]
    more = f" No rows: {', '.join(silent)}." if silent else ""
    return f"{what} of {each}: {page.count} rows {window}, - where a zone has none.{more}"


def _following(page: Page) -> dict[str, int]:
    """The window that goes on at the first row left out; none where it would give the same rows again."""
    if page.following is None or any(page.following.ts == int(ts) for ts in page.rows.ts[[0, -1]]):
        return {}
    of = page.request
    if of.order == "asc":
        return {"start": page.following.ts, "end": of.end}
    return {"start": of.start, "end": page.start}
