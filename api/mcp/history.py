"""`get_history`: rows of one zone or several, as columns in the structure and as a table in the text.

Both hold every row with its time. Missing values are `null` in columns and `-` in the table, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import orjson

from api.access.prices import for_zones
from api.documents.catalogue import stored_metric
from api.http.parameters import conflict
from api.mcp.arguments import DEFAULT_ROWS
from api.mcp.calls import ToolAnswer, ToolRequest
from api.mcp.text import number, terms
from api.series import formats
from api.series import page as pages
from api.series.page import Page
from api.series.query import SAMPLE_ROWS, SeriesRequest, series_request
from api.series.rows import plain_columns
from api.service import Service
from warehouse.market.clock import HOUR, RESOLUTIONS, iso
from warehouse.market.metrics import BY_FUEL, BY_PATH, YEARLY, Metric

_KEYS = ("zone", "fuel", "counterparty", "link")
"""Members that tell rows of one instant apart."""
_LINE = {300: HOUR, 900: HOUR, 1800: HOUR, HOUR: 6 * HOUR}
"""Seconds that a line of the table covers, by the rows' resolution: few enough values to count them."""
_EXACT = 2**53
"""Below it a double that is whole is an integer of JSON (RFC 8259 section 6)."""


def prepare(service: Service, arguments: Mapping[str, Any]) -> ToolRequest:
    """The request of `/v1/<metric>/{zone}`, or of `/v1/<metric>?zones=`, which costs a call a zone."""
    if (arguments["zone"] is None) == (arguments["zones"] is None):
        raise conflict("zone", "required, or zones in its place")
    name, metric, several = arguments["metric"], BY_PATH[arguments["metric"]], arguments["zones"] is not None
    _check(metric, arguments)
    zones = tuple(sorted(arguments["zones"] or (arguments["zone"],)))
    request = request_of(service, metric, zones, arguments, several)
    answer, holds = partial(_answer, service, request), f"the newest {SAMPLE_ROWS} rows of the window"
    if several:
        return ToolRequest(for_zones(f"{name}-zones", len(zones)), f"/v1/{name}", answer, f"{holds} over all zones")
    return ToolRequest(name, f"/v1/{name}/{zones[0]}", answer, holds)


def request_of(
    service: Service, metric: Metric, zones: tuple[str, ...], arguments: Mapping[str, Any], several: bool = False
) -> SeriesRequest:
    """Return the request of REST that arguments make up; a sample is decided at the gate."""
    day_ahead = arguments["market"] is not None
    stored = tuple(stored_metric(service.catalogue, zone, metric, day_ahead) for zone in zones)
    rest = {"limit": DEFAULT_ROWS, "order": "asc", **arguments, "sample": False, "time": None}
    return series_request(metric, zones, stored, rest, several)


def _check(metric: Metric, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that do not go together. Raises Problem 400."""
    if arguments["interval"] is not None and metric in YEARLY:
        raise conflict("interval", f"not for {metric}, whose rows are yearly")
    if arguments["market"] is not None and metric is not Metric.PRICE:
        raise conflict("market", "only for price")
    if arguments["by"] is not None and metric is not Metric.INTERCHANGE:
        raise conflict("by", "only for interchange")
    if arguments["zones"] is not None and (metric in BY_FUEL or arguments["by"] is not None):
        raise conflict("zones", "not with generation, capacity or by=border; ask zone by zone")


def _answer(service: Service, request: SeriesRequest, sample: bool) -> ToolAnswer:
    page = pages.answer(service.reader, service.catalogue, request._replace(sample=sample))
    body, rows = formats.envelope(page), plain_columns(page)
    body |= {"start_time": iso(page.start), "end_time": iso(page.end)}
    lines = [_head(page, rows)]
    if page.following is not None:
        going_on = _next(page, page.following.ts)
        body |= {"next": going_on} if going_on else {}
        lines.insert(0, _truncated(going_on, request.limit))
    if request.several:
        body |= _move_by_zone(rows)
    elif not page.count:
        span = _stored_span(service, request)
        body |= {"held": span} if span else {}
        lines.append(_span_words(span, page))
    body["columns"], body["constant"] = columns(rows)
    if page.count:
        lines += table(rows, body["columns"], body["constant"])
    of_zones = ({"attribution": zone.attribution, "license": zone.license} for zone in page.terms.values())
    return ToolAnswer("\n".join([*lines, terms(of_zones)]), orjson.dumps(body), page.count)


def _move_by_zone(rows: dict[str, list[Any]]) -> dict[str, dict[str, str]]:
    """Take out of the rows what is the same in all rows of a zone; return unit and resolution by zone."""
    zone = rows["zone"]
    by_zone = {
        name: dict(zip(zone, rows[name], strict=True)) for name in ("unit", "resolution", "source") if name in rows
    }
    for name, values in by_zone.items():
        if [values[each] for each in zone] == rows[name]:
            del rows[name]
    return {"units": by_zone["unit"], "resolutions": by_zone["resolution"]}


def _next(page: Page, left_out: int) -> dict[str, int]:
    """Return the window that goes on at the first row left out; none where it would give the same rows again.

    With `as_of` as it was used, which a later call of the last seconds would put elsewhere.
    """
    if left_out in page.rows.ts[[0, -1]]:
        return {}  # not even one instant fits into the limit
    known = {} if page.request.as_of is None else {"as_of": page.request.as_of}
    if page.request.order == "asc":
        return {"start": left_out, "end": page.request.end, **known}
    return {"start": page.request.start, "end": page.start, **known}


def _stored_span(service: Service, request: SeriesRequest) -> dict[str, Any]:
    """Return the first and last `ts` held of a series; empty where nothing is."""
    entry = service.catalogue.entry(request.zones[0], request.stored[0])
    first, last = entry.get("first"), entry.get("last")
    if not (isinstance(first, int) and isinstance(last, int)):
        return {}
    return {"first": first, "last": last, "first_time": iso(first), "last_time": iso(last)}


def columns(rows: Mapping[str, list[Any]]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the rows as arrays of one length, `time` first, and the members that are the same in every row.

    Beside `time` stands `value`, or an array for each fuel, border or zone. Where other members differ too, each has
    its array, and instants repeat.
    """
    if not rows["ts"]:
        return {"time": [], "value": []}, {}
    constant = {
        name: column[0]
        for name, column in rows.items()
        if name not in ("ts", "value", "zone") and len(set(column)) == 1
    }
    varying = {name: column for name, column in rows.items() if name not in constant}
    varying["value"] = [int(v) if v.is_integer() and abs(v) < _EXACT else v for v in varying["value"]]
    if varying.keys() & _KEYS and varying.keys() <= {"ts", "value", *_KEYS}:
        keys = zip(*(varying[name] for name in _KEYS if name in varying), strict=True)
        varying = _pivoted(varying["ts"], ["/".join(filter(None, key)) for key in keys], varying["value"])
    return {"time": _stamps(varying.pop("ts")), **varying}, constant


def _pivoted(ts: Sequence[int], keys: Sequence[str], values: Sequence[float]) -> dict[str, list[Any]]:
    """Turn rows of (instant, key) into one column of instants and one of values for each key."""
    place = {at: place for place, at in enumerate(dict.fromkeys(ts))}
    pivoted: dict[str, list[Any]] = {"ts": list(place), **{key: [None] * len(place) for key in sorted(set(keys))}}
    for at, key, value in zip(ts, keys, values, strict=True):
        pivoted[key][place[at]] = value
    return pivoted


def _stamps(ts: Sequence[int]) -> list[str]:
    """Spell instants, `2026-03-30T12:00Z`; with their seconds where those matter."""
    texts = np.datetime_as_string(np.array(ts, "datetime64[s]"), unit="s").tolist()
    return [f"{text.removesuffix(':00')}Z" for text in texts]


def table(rows: Mapping[str, list[Any]], printed: Mapping[str, list[Any]], constant: Mapping[str, Any]) -> list[str]:
    """Return rows and their columns as lines of text, oldest first, below a line that says how to read them.

    Of means it says which were taken of less than their whole interval.
    """
    notes = []
    if "coverage" in rows:
        printed, constant = columns({n: column for n, column in rows.items() if n not in ("samples", "coverage")})
        partial = [place for place, part in enumerate(rows["coverage"]) if part < 1][:20]
        stamps = _stamps([rows["ts"][place] for place in partial])
        words = ", ".join(f"{at} {rows['coverage'][place]:.2g}" for at, place in zip(stamps, partial, strict=True))
        notes = [f"Covered in part: {words}."] if partial else []
    ts = rows["ts"]
    if ts[0] > ts[-1]:
        ts, printed = ts[::-1], {name: column[::-1] for name, column in printed.items()}
    if printed.keys() == {"time", "value"} and (spans := _spans(ts, printed["value"], constant)):
        step = RESOLUTIONS[constant["resolution"]] // 60
        how = f"Each line: the time of its first value, then one value each {step} min (- is missing)."
        return [how, *(f"{time} {' '.join(cells(values))}" for time, values in spans.items()), *notes]
    texts = [cells(column) for name, column in printed.items() if name != "time"]
    head = ["- is missing."] if any("-" in column for column in texts) else []
    return [*head, " ".join(printed), *map(" ".join, zip(printed["time"], *texts, strict=True)), *notes]


def cells(column: Sequence[Any]) -> list[str]:
    """Return a column's values as the table shows them."""
    return ["-" if v is None else v if isinstance(v, str) else f"{v:.10g}" for v in column]


def _spans(
    ts: Sequence[int], values: Sequence[float], constant: Mapping[str, Any]
) -> dict[str, list[float | None]] | None:
    """Return the values of each hour (six hours of hourly rows) under the time of the first, None for a missing one.

    None where rows are longer, lie off their grid, differ in length, or share an instant.
    """
    step = RESOLUTIONS.get(constant.get("resolution", ""), 0)
    line = _LINE.get(step)
    by_ts = dict(zip(ts, values, strict=True))
    if line is None or len(by_ts) < len(ts) or any(at % step for at in ts):
        return None
    first, behind = min(ts), max(ts) + step
    begins = sorted({max(at - at % line, first) for at in ts})
    return {
        stamp: [by_ts.get(at) for at in range(begin, min(begin - begin % line + line, behind), step)]
        for stamp, begin in zip(_stamps(begins), begins, strict=True)
    }


def _head(page: Page, rows: Mapping[str, list[Any]]) -> str:
    """Say what the rows are, and how far they reach."""
    request, zones = page.request, page.request.zones
    kinds = ["day-ahead auction"] if request.day_ahead else []
    kinds += [f"means of {request.interval}"] if request.interval else []
    what = request.metric.value + (f" ({', '.join(kinds)})" if kinds else "")
    window = f"in [{iso(page.start)}, {iso(page.end)})"
    if not page.count:
        return f"{what} of {', '.join(zones)}: no rows {window}."
    series: dict[str, set[str]] = {}
    of_rows = rows.get("zone", zones * page.count)
    for zone, unit, resolution in set(zip(of_rows, rows["unit"], rows["resolution"], strict=True)):
        series.setdefault(zone, set()).add(f"{unit}, {resolution}")
    named = ", ".join(f"{zone} ({' and '.join(sorted(series[zone]))})" for zone in sorted(series))
    ts, values = rows["ts"], rows["value"]
    answer = (
        f"{what} of {named}: {page.count} rows {window}, the oldest at {iso(min(ts))}, the newest at {iso(max(ts))}."
    )
    if silent := [zone for zone in zones if zone not in series]:
        answer += f" No rows: {', '.join(silent)}."
    if len(series) == 1 and request.metric not in BY_FUEL and not request.borders:
        places = {
            "Lowest": values.index(min(values)),
            "highest": values.index(max(values)),
            "newest": ts.index(max(ts)),
        }
        reach = ", ".join(f"{word} {number(values[at])} at {iso(ts[at])}" for word, at in places.items())
        answer += f" {reach}."
    return answer


def _truncated(going_on: Mapping[str, int], limit: int) -> str:
    """Say how to get the rows that were left out."""
    if not going_on:
        return f"TRUNCATED: one instant has more than limit={limit} rows: raise limit."
    named = " and ".join(f"{name}={instant}" for name, instant in going_on.items())
    return f"TRUNCATED: more rows exist; call again with {named}, or ask for interval=1h or 1d."


def _span_words(span: Mapping[str, Any], page: Page) -> str:
    """Say which span is held where a window has no rows."""
    if not span:
        return "None are held yet for this zone and metric."
    words = f"from {span['first_time']} to {span['last_time']}"
    if page.start <= span["last"] and span["first"] < page.end:
        return f"None begins in it of those held, {words}: widen the window."
    return f"Held are intervals {words}: ask for a window in that span."
