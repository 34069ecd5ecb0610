"""Return the rows of `get_history` as columns in the structured content and as a table in the text.

Both have every row with its time. Rows below a day have their UTC time and the zone's civil time, and longer rows have
the civil date on which they begin. Missing values are `null` in columns and `-` in the table, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from api.access.prices import for_zones
from api.documents.catalogue_reader import stored_metric
from api.endpoints.table import ENDPOINTS
from api.http.parameters import conflict
from api.mcp import text
from api.mcp.arguments import DEFAULT_ROWS
from api.mcp.calls import ToolAnswer, ToolRequest
from api.mcp.row_table import cell, columns, spell_instants, table, utc_offsets
from api.series import formats
from api.series import page as pages
from api.series.query import SeriesRequest, series_request
from api.service import Service
from warehouse.market import clock
from warehouse.market.clock import DAY, interval_end, iso, local_date, zone_of
from warehouse.market.metrics import BY_PATH, YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES

_OF_TOOLS = frozenset({"zone", "zones", "metric", "api_key"})
"""The key, and the arguments that are part of the path. Every other argument is a parameter of the path."""


def prepare(service: Service, arguments: Mapping[str, Any]) -> ToolRequest:
    """Return the call of `/v1/<metric>/{zone}`, or of `/v1/<metric>?zones=`, which is paid per zone."""
    several = arguments["zones"] is not None
    if several == (arguments["zone"] is not None):
        raise conflict("zone", "is required, unless you send zones")
    zones = tuple(sorted(arguments["zones"] or (arguments["zone"],)))
    request = request_of(service, zones, {**arguments, "order": arguments["order"] or "desc"})
    answer, name = partial(_answer_history, service, request, arguments["order"]), arguments["metric"]
    if several:
        return ToolRequest(for_zones(f"{name}-zones", len(zones)), f"/v1/{name}", answer)
    return ToolRequest(name, f"/v1/{name}/{zones[0]}", answer)


def request_of(service: Service, zones: tuple[str, ...], arguments: Mapping[str, Any]) -> SeriesRequest:
    """Return the REST request of the arguments. The gate decides about samples.

    Raises Problem 400 for arguments that the path of the metric does not take.
    """
    name, catalogue = arguments["metric"], service.documents.catalogue
    for argument, value in arguments.items():
        if value not in (None, "actual") and argument not in _OF_TOOLS | ENDPOINTS[name].parameters.keys():
            raise conflict(argument, f"cannot be used with the metric {name}")
    day_ahead, forecast = arguments["market"] is not None, arguments.get("kind") == "forecast"
    estimate = arguments.get("basis") is not None
    stored = tuple(stored_metric(catalogue, zone, BY_PATH[name], day_ahead, forecast, estimate) for zone in zones)
    rest = {"limit": DEFAULT_ROWS, "order": "asc", **arguments, "sample": False, "time": None}
    return series_request(BY_PATH[name], zones, stored, rest, several=arguments.get("zones") is not None)


def _answer_history(service: Service, request: SeriesRequest, order: str | None, sample: bool) -> ToolAnswer:
    """Return the response to a request. Without an `order`, rows descend only if some are left out."""
    page = pages.read_page(service.reader, service.documents.catalogue, request._replace(sample=sample))
    body, rows = text.with_times(formats.envelope(page)), formats.plain_columns(page)
    if order is None and page.following is None:
        rows = {name: column[::-1] for name, column in rows.items()}
    if "published_at" in rows:
        rows["published_at"] = spell_instants(rows["published_at"])
    if request.metric in YEARLY:  # means already have dates
        of_rows = rows.get("zone", request.zones * len(rows["ts"]))
        rows["date"] = [local_date(at, ZONES[z].tz).isoformat() for at, z in zip(rows["ts"], of_rows, strict=True)]
    ts, body["columns"], body["constant"] = columns(rows)
    lines = [_head(request, body, ts)]
    if page.following is not None:
        lines.insert(0, _go_on(request, body, page.following.ts))
    if ts:
        civil = _clock(request, ts) if "time" in body["columns"] else None
        if civil is not None:
            body["clock"] = {"tz": civil.key, "utc_offsets": utc_offsets(ts, civil)}
        lines += table(ts, body["columns"], body["constant"], civil)
    else:
        body |= why_empty(service, request)
        lines.append(body["reason"])
    names = ("attribution", "license")
    terms = [{name: body[name][zone] for name in names} for zone in request.zones] if request.several else [body]
    return ToolAnswer("\n".join([*lines, text.terms(terms)]), body, body["count"])


def _clock(request: SeriesRequest, ts: Sequence[int]) -> ZoneInfo | None:
    """Return the civil clock that the zones of a request share at every row, None if their clocks differ."""
    clocks = [*dict.fromkeys(zone_of(ZONES[zone].tz) for zone in request.zones)]
    offsets = [[datetime.fromtimestamp(at, clock).utcoffset() for at in ts] for clock in clocks]
    return clocks[0] if all(each == offsets[0] for each in offsets) else None


def _head(request: SeriesRequest, body: Mapping[str, Any], ts: Sequence[int]) -> str:
    """Describe the rows and their common values, and the extremes of a single series."""
    kinds = ["day-ahead auction"] if request.day_ahead else []
    kinds += ["the publisher's forecast"] if request.pick is not None else []
    kinds += [f"means of {request.interval}"] if request.interval else []
    what = f"{' '.join([request.metric, *(f'({kind})' for kind in kinds)])} of {', '.join(request.zones)}"
    window = f"in [{body['start_time']}, {body['end_time']})"
    if not ts:
        return f"{what}: no rows {window}."
    shared = (
        f"{name} {', '.join(f'{key} {cell(each)}' for key, each in of.items()) if isinstance(of, dict) else cell(of)}"
        for name, of in body["constant"].items()
    )
    answer = f"{what}: {body['count']} rows {window}; {'; '.join(shared)}."
    having = {name.partition(".")[0].partition("/")[0] for name in body["columns"]}
    if request.several and (silent := [zone for zone in request.zones if zone not in having]):
        answer += f" No rows: {', '.join(silent)}."
    if "value" in body["columns"]:
        (_, stamps), (_, values), *_ = body["columns"].items()
        places = {
            "Lowest": values.index(min(values)),
            "highest": values.index(max(values)),
            "newest": ts.index(max(ts)),
        }
        answer += f" {', '.join(f'{word} {cell(values[at])} at {stamps[at]}' for word, at in places.items())}."
    return answer


def _go_on(request: SeriesRequest, body: dict[str, Any], left_out: int) -> str:
    """Report which rows were left out, and add the window that continues with them to the body as `next`.

    `next` contains the resolved `as_of`, because a later call could resolve the argument differently.
    """
    if body.get("cursor_only"):
        return f"TRUNCATED: one instant has more rows than limit={request.limit}. Use a higher limit."
    side, window = "newest", {"start": request.start, "end": body["start"]}
    if request.order == "asc":
        side, window = "oldest", {"start": left_out, "end": request.end}
    body["next"] = window | ({} if request.as_of is None else {"as_of": request.as_of})
    named = " and ".join(f"{name}={instant}" for name, instant in body["next"].items())
    means = "" if request.pick is not None else ", or request means with interval=1h, 1d, 1w, 1mo or 1y"
    return f"TRUNCATED: only the {side} rows are shown. For the rest, call again with {named}{means}."


_NEARBY_DAYS = 31


def _nearest(service: Service, request: SeriesRequest, span: Mapping[str, int]) -> str:
    """Return a text with the start of the nearest rows before and after the window, empty if there are none.

    The rows of a window outside the zone's `span` are searched from its first or last interval.
    """
    near, stored = _NEARBY_DAYS * DAY, request._replace(interval=None)
    end = min(request.start, span.get("last", request.start) + DAY)
    start = max(request.end, span.get("first", request.end) - DAY)
    before = stored._replace(start=max(0, end - near), end=end, order="desc")
    behind = stored._replace(start=start, end=start + near, order="asc")
    times = []
    for word, window in (("the last row before it", before), ("the first row after it", behind)):
        rows = pages.read_page(service.reader, service.documents.catalogue, window).rows
        times += [f"{word} begins at {iso(int(rows.ts[0]))}"] if len(rows) else []
    return " and ".join(times)


def _refusals(service: Service, request: SeriesRequest) -> str:
    """Return why the intervals since the last estimate before the end of a window have none; empty if it is unknown.

    At most the last `_NEARBY_DAYS` of the window are examined.
    """
    if Metric.CARBON_ESTIMATE not in request.stored or request.start >= clock.now():
        return ""
    recent = request._replace(
        interval=None, start=max(0, min(request.end, clock.now()) - _NEARBY_DAYS * DAY), order="desc"
    )
    gaps = pages.read_page(service.reader, service.documents.catalogue, recent).gaps
    return ", ".join(dict.fromkeys(gap.reason for gap in gaps if gap.reason))


def why_empty(service: Service, request: SeriesRequest) -> dict[str, Any]:
    """Return the `reason` why a window has no rows and what to request, and the `available_range` if known."""
    catalogue, current = service.documents.catalogue, request._replace(as_of=None, limit=1)
    original = request._replace(interval=None, limit=1)
    if request.interval is not None and pages.read_page(service.reader, catalogue, original).rows:
        short = f"This window has rows, but they cover too little of an interval of {request.interval}"
        return {"reason": f"{short}. Request a shorter interval or a longer window."}
    if request.as_of is not None and pages.read_page(service.reader, catalogue, current).rows:
        return {"reason": f"No data was known at {iso(request.as_of)}. Omit as_of, or use a later time."}
    series = None if request.several else catalogue.entry(request.zones[0], request.stored[0])
    first, last = (series.first, series.last) if series else (None, None)
    span = text.with_times({"first": first, "last": last}) if first else {}
    if refused := _refusals(service, current):
        nearest = _nearest(service, current, span)
        refusal = f"The generation mix does not allow an estimate ({refused}; see /docs/carbon)"
        return {"reason": f"{refusal}{'; ' if nearest else ''}{nearest}."}
    is_within = bool(span) and span["first"] <= request.start and request.end <= span["last"] and not request.borders
    # The catalogue lists the range of a zone's net, not of its borders.
    available = {"available_range": span} if span and not request.borders else {}
    if request.metric not in YEARLY and (is_within or not available):
        nearest = _nearest(service, current, span)
        none = "No border has a row" if request.borders else "There are no rows"
        if nearest or is_within or (request.borders and span):
            nearby = f"; {nearest}. Request a longer window" if nearest else " or near it"
            return available | {"reason": f"{none} in this window{nearby}."}
    if not available:
        if progress := None if request.several else catalogue.filling.get(request.zones[0]):
            state = f"{progress.done} of {progress.of} runs for this zone are done"
            return {"reason": f"The first fill is in progress: {state}. Request again in a minute."}
        several = "None of these zones has data in this window."
        return {"reason": several if request.several else "No data has been ingested yet."}
    until = iso(interval_end(span["last"], "1y")) if request.metric in YEARLY else span["last_time"]
    words = f"Data is available from {span['first_time']} to {until}"
    return available | {"reason": f"{words}. Request a window within this range."}
