"""Rows of a page in the two forms of the history tool: columns in the structure, a compact table in the text.

Both hold every row with its time. Missing values are `null` in columns and `-` in the table, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from api.series import formats
from api.series.page import Page
from warehouse.clock import HOUR, RESOLUTIONS, iso
from warehouse.market import Metric

_SPAN = {300: HOUR, 900: HOUR, 1800: HOUR, HOUR: 6 * HOUR}
"""Seconds that a line of the table covers, by the rows' resolution: few enough values to count them."""
_KEYS = ("fuel", "counterparty", "link")


def number(value: float) -> str:
    """A figure in at most ten significant digits."""
    return f"{value:.10g}"


def columns(page: Page) -> dict[str, Any]:
    """`constant` for the members that are the same in every row, and the others in one of two forms.

    `by_time` where values alone differ and lie on a grid of short intervals: under each time the values from there on,
    one each `resolution`. Else `columns`, one array for each member, `time` among them; rows by fuel have an array for
    each fuel instead of `fuel` and `value`, so that each instant stands once.
    """
    named = formats.columns(page)
    constant = {
        name: column[0] for name, column in named.items() if name not in ("ts", "value") and len(set(column)) == 1
    }
    varying = {name: column for name, column in named.items() if name not in constant}
    if set(varying) == {"ts", "value"}:
        spans = _spans(varying["ts"], varying["value"], constant["resolution"])
        if spans is not None:
            return {"by_time": spans, "constant": constant}
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


def table(page: Page) -> str:
    """The rows as lines of text, oldest first, with a first line that says how to read them."""
    named = formats.columns(page)
    if page.query.order == "desc":
        named = {name: column[::-1] for name, column in named.items()}
    if any(len(set(named.get(name, ()))) > 1 for name in ("unit", "resolution", "source")):
        return _row_by_row(named)
    labels = [_label(parts) for parts in zip(*(named[key] for key in _KEYS if key in named), strict=True)]
    if labels:
        return _by_instant(named["ts"], labels, named["value"])
    lines = _by_span(named["ts"], named["value"], named["resolution"][0])
    return f"{lines}\n{_partial(named)}" if _partial(named) else lines


def _label(parts: Sequence[str | None]) -> str:
    return "/".join(part for part in parts if part)


def stamp(ts: int) -> str:
    """`2026-03-30T12:00Z`, or the whole stamp where seconds matter."""
    text = iso(ts)
    return f"{text[:16]}Z" if text.endswith(":00Z") else text


def _row_by_row(named: dict[str, list[Any]]) -> str:
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


def _by_instant(ts: Sequence[int], labels: Sequence[str], values: Sequence[float]) -> str:
    """A line an instant, a column a fuel or border."""
    pivoted = by_key(ts, labels, values)
    names = [name for name in pivoted if name != "ts"]
    lines = [" ".join(["time", *names])]
    for row, at in enumerate(pivoted["ts"]):
        lines.append(" ".join([stamp(at), *(cell(pivoted[name][row]) for name in names)]))
    return "\n".join(lines)


def _by_span(ts: Sequence[int], values: Sequence[float], resolution: str) -> str:
    """Several values a line where rows are short and lie on their grid, else one."""
    spans = _spans(ts, values, resolution)
    if spans is None:
        return "\n".join(["time value", *(f"{stamp(at)} {number(v)}" for at, v in zip(ts, values, strict=True))])
    lines = [
        f"Each line: the time of its first value, then one value each {RESOLUTIONS[resolution] // 60} min "
        "(- is missing)."
    ]
    lines += [f"{stamp} {' '.join(cell(value) for value in inside)}" for stamp, inside in spans.items()]
    return "\n".join(lines)


def _spans(ts: Sequence[int], values: Sequence[float], resolution: str) -> dict[str, list[float | None]] | None:
    """The values of each hour (six hours of hourly rows) under the time of its first, None for a missing one.

    None where rows are longer, or lie off the grid. Ascending, whatever the order of the rows.
    """
    step = RESOLUTIONS[resolution]
    span = _SPAN.get(step)
    if span is None or any(at % step for at in ts):
        return None
    by_ts = dict(zip(ts, values, strict=True))
    first, last = min(ts), max(ts)
    spans: dict[str, list[float | None]] = {}
    for begin in sorted({at - at % span for at in by_ts}):
        inside = [at for at in range(begin, begin + span, step) if first <= at <= last]
        spans[stamp(inside[0])] = [None if (value := by_ts.get(at)) is None else _short(value) for at in inside]
    return spans


def _short(value: float) -> float:
    """The same number, without `.0` in JSON: it takes two tokens a value."""
    return int(value) if value.is_integer() else value


def _partial(named: dict[str, list[Any]]) -> str:
    """Which means were taken of less than their whole interval."""
    covered = named.get("coverage", [])
    partial = [f"{stamp(at)} {part:.2g}" for at, part in zip(named["ts"], covered, strict=False) if part < 1]
    return f"Covered in part: {', '.join(partial[:20])}." if partial else ""
