"""Rows of a page in the two forms of the history tool: columns in the structure, a compact table in the text.

Both hold every row with its time. Missing values are `null` in columns and `-` in the table, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from api.series import rows as series_rows
from api.series.page import Page
from warehouse.clock import HOUR, RESOLUTIONS, iso
from warehouse.market import Metric
from warehouse.versions import Ints

_SPAN = {300: HOUR, 900: HOUR, 1800: HOUR, HOUR: 6 * HOUR}
"""Seconds that a line of the table covers, by the rows' resolution: few enough values to count them."""
_KEYS = ("fuel", "counterparty", "link")
_EXACT = 2**53
"""Below it a double that is whole is an integer of JSON (RFC 8259 section 6)."""


def number(value: float) -> str:
    """A figure in at most ten significant digits."""
    return f"{value:.10g}"


@dataclass(frozen=True, slots=True)
class PageColumns:
    """What both forms are made of: the rows in the order of the page."""

    named: Mapping[str, list[Any]]
    """As columns of plain values, named as JSON names them."""
    spans: Mapping[str, list[float | None]] | None
    """The values of each hour (six hours of hourly rows) under the time of its first, ascending, None for a missing
    one; None where rows are longer, lie off their grid, differ in length, or share an instant."""

    @classmethod
    def of(cls, page: Page) -> PageColumns:
        named = series_rows.plain_columns(page)
        lengths = set(named["resolution"])
        return cls(named, _spans(page.rows.ts, named["value"], lengths.pop()) if len(lengths) == 1 else None)


def columns(rows: PageColumns) -> dict[str, Any]:
    """`constant` for the members that are the same in every row, and the others in one of two forms.

    `by_time` where values alone differ and lie on a grid of short intervals: under each time the values from there on,
    one each `resolution`. Else `columns`, one array for each member, `time` among them; rows by fuel have an array for
    each fuel instead of `fuel` and `value`, so that each instant stands once.
    """
    constant = {
        name: column[0] for name, column in rows.named.items() if name not in ("ts", "value") and len(set(column)) == 1
    }
    varying = {name: column for name, column in rows.named.items() if name not in constant}
    if set(varying) == {"ts", "value"} and rows.spans is not None:
        return {"by_time": rows.spans, "constant": constant}
    if set(varying) == {"fuel", "ts", "value"}:
        varying = by_key(varying["ts"], varying["fuel"], varying["value"])
    times = [stamp(at) for at in varying.pop("ts")]
    return {"columns": {"time": times, **varying}, "constant": constant}


def by_key(ts: Sequence[int], keys: Sequence[str], values: Sequence[float]) -> dict[str, list[Any]]:
    """Rows of (instant, key) as one column of instants and one of values for each key."""
    instants = {at: place for place, at in enumerate(dict.fromkeys(ts))}
    pivoted: dict[str, list[Any]] = {"ts": list(instants)}
    for key in sorted(set(keys)):
        pivoted[key] = [None] * len(instants)
    for at, key, value in zip(ts, keys, values, strict=True):
        pivoted[key][instants[at]] = value
    return pivoted


def by_instant(zones: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The values of a snapshot's zones in groups of one metric, instant and unit, by metric, the newest first."""
    groups: dict[tuple[str, int, str], dict[str, float]] = {}
    for zone, member in zones.items():
        for name, value in member["metrics"].items():
            groups.setdefault((name, value["ts"], value["unit"]), {})[zone] = value["value"]
    order = {metric.value: place for place, metric in enumerate(Metric)}
    return [
        {"metric": name, "unit": unit, "time": iso(ts), "zones": values}
        for (name, ts, unit), values in sorted(groups.items(), key=lambda item: (order[item[0][0]], -item[0][1]))
    ]


def table(page: Page, rows: PageColumns) -> str:
    """The rows as lines of text, oldest first, with a first line that says how to read them."""
    named = rows.named
    if page.request.order == "desc":
        named = {name: column[::-1] for name, column in named.items()}
    if any(len(set(named.get(name, ()))) > 1 for name in ("unit", "resolution", "source")):
        return _row_by_row(named)
    labels = [_label(parts) for parts in zip(*(named[key] for key in _KEYS if key in named), strict=True)]
    if labels:
        return _by_instant(named["ts"], labels, named["value"])
    lines = _one_by_one(named) if rows.spans is None else _by_span(rows.spans, named["resolution"][0])
    partial = _partial(named)
    return f"{lines}\n{partial}" if partial else lines


def _label(parts: Sequence[str | None]) -> str:
    return "/".join(part for part in parts if part)


def stamp(ts: int) -> str:
    """`2026-03-30T12:00Z`, or the whole stamp where seconds matter."""
    text = iso(ts)
    return f"{text[:16]}Z" if text.endswith(":00Z") else text


def _row_by_row(named: Mapping[str, list[Any]]) -> str:
    """One row a line, for rows of several units, resolutions or sources."""
    names = ["ts", *(name for name in named if name != "ts")]
    lines = [" ".join(["time", *names[1:]])]
    for row in zip(*(named[name] for name in names), strict=True):
        ts, *rest = row
        lines.append(" ".join([stamp(ts), *(cell(value) for value in rest)]))
    return "\n".join(lines)


def cell(value: Any) -> str:
    if value is None:
        return "-"
    return number(value) if isinstance(value, float) else str(value)


def pivoted_lines(times: Sequence[str], pivoted: Mapping[str, Sequence[Any]]) -> list[str]:
    """A line an instant, a column a key, under the keys."""
    cells = ([cell(value) for value in column] for column in pivoted.values())
    return [" ".join(["time", *pivoted]), *map(" ".join, zip(times, *cells, strict=True))]


def _by_instant(ts: Sequence[int], labels: Sequence[str], values: Sequence[float]) -> str:
    """A line an instant, a column a fuel or border."""
    pivoted = by_key(ts, labels, values)
    times = [stamp(at) for at in pivoted.pop("ts")]
    return "\n".join(pivoted_lines(times, pivoted))


def _by_span(spans: Mapping[str, list[float | None]], resolution: str) -> str:
    """Several values a line."""
    how = f"Each line: the time of its first value, then one value each {RESOLUTIONS[resolution] // 60} min"
    lines = [f"{time} {_written(values)}" for time, values in spans.items()]
    return "\n".join([f"{how} (- is missing).", *lines])


def _one_by_one(named: Mapping[str, list[Any]]) -> str:
    """One value a line."""
    return "\n".join(
        ["time value", *(f"{stamp(at)} {number(v)}" for at, v in zip(named["ts"], named["value"], strict=True))]
    )


def _written(values: Sequence[float | None]) -> str:
    """The values of a span as `number` writes them: all at once where none is missing."""
    if None in values:
        return " ".join(["-" if value is None else number(value) for value in values])
    return " ".join(["%.10g"] * len(values)) % tuple(values)


def _spans(ts: Ints, values: Sequence[float], resolution: str) -> dict[str, list[float | None]] | None:
    """The values of each span, as `PageColumns` describes them."""
    step = RESOLUTIONS[resolution]
    span = _SPAN.get(step)
    if span is None or (ts % step).any():
        return None
    by_ts = dict(zip(ts.tolist(), _short(values), strict=True))
    if len(by_ts) < len(ts):
        return None
    first, behind = int(ts.min()), int(ts.max()) + step
    begins = np.unique(np.maximum(ts - ts % span, first))
    times = np.datetime_as_string(begins.astype("datetime64[s]"), unit="m").tolist()
    return {
        f"{time}Z": [*map(by_ts.get, range(begin, min(begin - begin % span + span, behind), step))]
        for time, begin in zip(times, begins.tolist(), strict=True)
    }


def _short(values: Sequence[float]) -> list[float]:
    """The same numbers, without `.0` in JSON: it takes two tokens a value."""
    return [int(value) if value.is_integer() and abs(value) < _EXACT else value for value in values]


def _partial(named: Mapping[str, list[Any]]) -> str:
    """Which means were taken of less than their whole interval."""
    covered = named.get("coverage", [])
    partial = [f"{stamp(at)} {part:.2g}" for at, part in zip(named["ts"], covered, strict=False) if part < 1]
    return f"Covered in part: {', '.join(partial[:20])}." if partial else ""
