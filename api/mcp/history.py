"""`get_history`: rows of one zone or several, as columns in the structure and as a table in the text.

Both hold every row with its time: rows below a day with their UTC instant and the zone's clock, longer ones with the
civil date on which they begin. Missing values are `null` in columns and `-` in the table, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import orjson

from api.access.prices import for_zones
from api.documents.catalogue import stored_metric
from api.http.parameters import conflict
from api.http.times import first_instant
from api.mcp.arguments import DEFAULT_ROWS, require_taken
from api.mcp.calls import ToolAnswer, ToolRequest
from api.mcp.text import number, terms
from api.series import formats
from api.series import page as pages
from api.series.page import Page
from api.series.query import SAMPLE_ROWS, SeriesRequest, series_request
from api.series.rows import plain_columns
from api.service import Service
from warehouse.figures.resample import CIVIL
from warehouse.market.clock import HOUR, RESOLUTIONS, iso, local_date, now, zone_of
from warehouse.market.metrics import BY_FUEL, BY_PATH, YEARLY, Metric
from warehouse.market.zones import ZONES

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
    require_taken(name, arguments)
    if several and (metric in BY_FUEL or arguments["by"] is not None):
        raise conflict("zones", "not with generation, capacity or by=border; ask zone by zone")
    zones = tuple(sorted(arguments["zones"] or (arguments["zone"],)))
    if arguments["interval"] in CIVIL:
        # Dates are those of the zone whose day begins first: no two zones are a day apart, so every zone's days of the
        # dates asked for begin in between, and no others.
        first = {name: first_instant(name, arguments[name], zones, now()) for name in ("start", "end")}
        arguments = {**arguments, **{name: at for name, at in first.items() if at is not None}}
    newest_first = arguments["order"] is None
    request = request_of(service, metric, zones, {**arguments, "order": arguments["order"] or "desc"}, several)
    answer, holds = partial(_answer, service, request, newest_first), f"the newest {SAMPLE_ROWS} rows of the window"
    if several:
        return ToolRequest(for_zones(f"{name}-zones", len(zones)), f"/v1/{name}", answer, f"{holds} over all zones")
    return ToolRequest(name, f"/v1/{name}/{zones[0]}", answer, holds)


def request_of(
    service: Service, metric: Metric, zones: tuple[str, ...], arguments: Mapping[str, Any], several: bool = False
) -> SeriesRequest:
    """Return the request of REST that arguments make up; a sample is decided at the gate."""
    day_ahead, forecast = arguments["market"] is not None, arguments.get("kind") == "forecast"
    stored = tuple(stored_metric(service.catalogue, zone, metric, day_ahead, forecast) for zone in zones)
    rest = {"limit": DEFAULT_ROWS, "order": "asc", **arguments, "sample": False, "time": None}
    return series_request(metric, zones, stored, rest, several)


def _answer(service: Service, request: SeriesRequest, newest_first: bool, sample: bool) -> ToolAnswer:
    """Answer a request. `newest_first`: no order was asked, and rows descend only where some are left out."""
    page = pages.answer(service.reader, service.catalogue, request._replace(sample=sample))
    body, rows = formats.envelope(page), plain_columns(page)
    if newest_first and page.following is None:
        rows = {name: column[::-1] for name, column in rows.items()}
    if "published_at" in rows:
        rows["published_at"] = _stamps(rows["published_at"])
    clock = _clock(request, rows["ts"])
    if request.metric in YEARLY:  # means have their dates already
        of_rows = rows.get("zone", request.zones * len(rows["ts"]))
        rows["date"] = [local_date(at, ZONES[z].tz).isoformat() for at, z in zip(rows["ts"], of_rows, strict=True)]
    body |= {"start_time": iso(page.start), "end_time": iso(page.end)}
    lines = [_head(page, rows)]
    if page.following is not None:
        going_on = _next(page, page.following.ts)
        body |= {"next": going_on} if going_on else {}
        lines.insert(0, _truncated(going_on, request))
    if not page.count:
        entry = {} if request.several else service.catalogue.entry(request.zones[0], request.stored[0])
        span = {name: entry[name] for name in ("first", "last") if isinstance(entry.get(name), int)}
        span |= {f"{name}_time": iso(at) for name, at in span.items()}
        body |= {"held": span} if span else {}
        body["reason"] = _why_empty(service, page, span)
        lines.append(body["reason"])
    in_part = _covered_in_part(rows)
    if request.several:
        body |= _move_by_zone(rows) | ({"covered_in_part": in_part} if in_part else {})
    body["columns"], body["constant"] = columns(rows)
    if clock is not None and (times := body["columns"].get("time")):
        body["clock"] = {"tz": clock.key, "utc_offsets": _utc_offsets(times, clock)}
    if page.count:
        printed = {name: column for name, column in body["columns"].items() if name != "lead_s"}
        lines += table(rows, printed, body["constant"], clock)
        parts = (f"{' '.join([*map(str, part.values())][:-1])} {part['coverage']:.2g}" for part in in_part[:20])
        lines += [f"Covered in part: {', '.join(parts)}."] if in_part else []
    of_zones = ({"attribution": zone.attribution, "license": zone.license} for zone in page.terms.values())
    return ToolAnswer("\n".join([*lines, terms(of_zones)]), orjson.dumps(body), page.count)


def _clock(request: SeriesRequest, ts: Sequence[int]) -> ZoneInfo | None:
    """Return the civil clock that the zones of a request share at every row; None where their clocks differ."""
    clocks = [zone_of(tz) for tz in dict.fromkeys(ZONES[zone].tz for zone in request.zones)]
    if len(clocks) == 1:
        return clocks[0]
    offsets = ({datetime.fromtimestamp(at, clock).utcoffset() for clock in clocks} for at in set(ts))
    return clocks[0] if all(len(each) == 1 for each in offsets) else None


def _utc_offsets(times: Sequence[str], clock: ZoneInfo) -> dict[str, str]:
    """Return a clock's offset from UTC by the first of the times from which on it holds."""
    offsets: dict[str, str] = {}
    for time in sorted(times):
        offset = datetime.fromisoformat(time).astimezone(clock).isoformat()[-6:]
        if offset not in [*offsets.values()][-1:]:
            offsets[time] = offset
    return offsets


def _covered_in_part(rows: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the means that were taken of less than their whole interval: when, of what, and `coverage`."""
    stamp, stamps = ("date", rows["date"]) if "date" in rows else ("time", _stamps(rows["ts"]))
    named = {stamp: stamps, **{name: rows[name] for name in (*_KEYS, "coverage") if name in rows}}
    parts = [place for place, part in enumerate(rows.get("coverage", ())) if part < 1]
    return [{name: column[place] for name, column in named.items()} for place in parts]


def _move_by_zone(rows: dict[str, list[Any]]) -> dict[str, dict[str, str]]:
    """Take out of the rows what is the same in all rows of a zone, and how means are covered.

    Return unit and resolution by zone.
    """
    zone = rows["zone"]
    for name in ("samples", "coverage"):
        rows.pop(name, None)
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
    if page.cursor_only:
        return {}  # not even one instant fits into the limit
    known = {} if page.request.as_of is None else {"as_of": page.request.as_of}
    if page.request.order == "asc":
        return {"start": left_out, "end": page.request.end, **known}
    return {"start": page.request.start, "end": page.start, **known}


def columns(rows: Mapping[str, list[Any]]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the rows as arrays of one length, `time` or `date` first, and the members that are the same in every row.

    Beside it stands `value`, or an array for each fuel, border or zone. Where other members differ too, each has its
    array, and instants repeat.
    """
    if not rows["ts"]:
        return {"time": [], "value": []}, {}
    stamp = "date" if "date" in rows else "time"
    constant = {
        name: column[0]
        for name, column in rows.items()
        if name not in ("ts", "date", "value", "zone") and len(set(column)) == 1
    }
    varying = {name: column for name, column in rows.items() if name not in constant and name not in ("ts", "date")}
    varying["value"] = [int(v) if v.is_integer() and abs(v) < _EXACT else v for v in varying["value"]]
    stamps = rows.get("date") or _stamps(rows["ts"])
    if varying.keys() & _KEYS and varying.keys() <= {"value", *_KEYS}:
        keys = zip(*(varying[name] for name in _KEYS if name in varying), strict=True)
        stamps, varying = _pivoted(stamps, ["/".join(filter(None, key)) for key in keys], varying["value"])
    return {stamp: stamps, **varying}, constant


def _pivoted(
    stamps: Sequence[str], keys: Sequence[str], values: Sequence[float]
) -> tuple[list[str], dict[str, list[Any]]]:
    """Turn rows of (stamp, key) into one column of stamps and one of values for each key."""
    place = {stamp: place for place, stamp in enumerate(dict.fromkeys(stamps))}
    pivoted: dict[str, list[Any]] = {key: [None] * len(place) for key in sorted(set(keys))}
    for stamp, key, value in zip(stamps, keys, values, strict=True):
        pivoted[key][place[stamp]] = value
    return [*place], pivoted


def _stamps(ts: Sequence[int]) -> list[str]:
    """Spell instants, `2026-03-30T12:00Z`; with their seconds where those matter."""
    texts = np.datetime_as_string(np.array(ts, "datetime64[s]"), unit="s").tolist()
    return [f"{text.removesuffix(':00')}Z" for text in texts]


def table(
    rows: Mapping[str, list[Any]], printed: Mapping[str, list[Any]], constant: Mapping[str, Any], clock: ZoneInfo | None
) -> list[str]:
    """Return rows and their columns as lines of text, oldest first, below a line that says how to read them.

    The day and time of `clock` stand beside UTC.
    """
    if "coverage" in rows:
        printed, constant = columns({n: column for n, column in rows.items() if n not in ("samples", "coverage")})
    ts = rows["ts"]
    if ts[0] > ts[-1]:
        ts, printed = ts[::-1], {name: column[::-1] for name, column in printed.items()}
    if printed.keys() == {"time", "value"} and (spans := _spans(ts, printed["value"], constant)):
        step = RESOLUTIONS[constant["resolution"]] // 60
        how = f"Each line: {' '.join(_civil({'time': []}, clock))} of its first value, then one value each {step} min"
        times = _civil({"time": [*spans]}, clock).values()
        head, texts = [f"{how} (- is missing)."], [*times, [" ".join(cells(values)) for values in spans.values()]]
    else:
        visible = _civil(printed, clock)
        texts = [cells(column) for column in visible.values()]
        head = [*(["- is missing."] if any("-" in column for column in texts) else []), " ".join(visible)]
    return [*head, *(" ".join(line) for line in zip(*texts, strict=True))]


def _civil(printed: Mapping[str, list[Any]], clock: ZoneInfo | None) -> dict[str, list[Any]]:
    """Return columns with `day` and the time of a civil clock, under the clock's name, behind their UTC times."""
    if clock is None or "time" not in printed:
        return dict(printed)
    civil = [datetime.fromisoformat(time).astimezone(clock) for time in printed["time"]]
    beside = {"day": [f"{at:%a}" for at in civil], clock.key: [f"{at:%H:%M}" for at in civil]}
    return {"time": printed["time"], **beside, **printed}


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
    kinds += ["the publisher's forecast"] if request.pick is not None else []
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
    stamps = rows.get("date") or [iso(at) for at in ts]
    oldest, newest = ts.index(min(ts)), ts.index(max(ts))
    answer = f"{what} of {named}: {page.count} rows {window}, the oldest at {stamps[oldest]}, the newest at "
    answer += f"{stamps[newest]}."
    if published := rows.get("published_at"):
        answer += f" Published {' to '.join(sorted({min(published), max(published)}))}."
    if silent := [zone for zone in zones if zone not in series]:
        answer += f" No rows: {', '.join(silent)}."
    if len(series) == 1 and request.metric not in BY_FUEL and not request.borders:
        places = {"Lowest": values.index(min(values)), "highest": values.index(max(values)), "newest": newest}
        reach = ", ".join(f"{word} {number(values[row])} at {stamps[row]}" for word, row in places.items())
        answer += f" {reach}."
    return answer


def _truncated(going_on: Mapping[str, int], request: SeriesRequest) -> str:
    """Say which rows these are, and how to get those that were left out."""
    if not going_on:
        return f"TRUNCATED: one instant has more than limit={request.limit} rows: raise limit."
    side, others = ("newest", "Older") if request.order == "desc" else ("oldest", "Newer")
    named = " and ".join(f"{name}={instant}" for name, instant in going_on.items())
    means = "" if request.pick is not None else ", or ask for means: interval=1h, 1d, 1w, 1mo or 1y"
    return f"TRUNCATED to the {side} rows. {others} ones exist: call again with {named}{means}."


def _why_empty(service: Service, page: Page, span: Mapping[str, Any]) -> str:
    """Say why a window has no rows, and what to ask instead."""
    request = page.request
    if request.as_of is not None:
        current = request._replace(as_of=None, limit=1, sample=False)
        if pages.answer(service.reader, service.catalogue, current).count:
            return (
                f"Rows of this window are held, but none was known yet as of {iso(request.as_of)}: leave out as_of, or "
                "give a later one."
            )
    if request.several:
        return "None of these zones has rows in it: get_history of one zone says what is held."
    if not span:
        return "None are held yet for this zone and metric."
    words = f"from {span['first_time']} to {span['last_time']}"
    if page.start <= span["last"] and span["first"] < page.end:
        if request.pick is not None and request.pick.lead_s is not None:
            return "Its forecasts were published later than that: give a shorter lead."
        return f"None begins in it of those held, {words}: widen the window."
    return f"Held are intervals {words}: ask for a window in that span."
