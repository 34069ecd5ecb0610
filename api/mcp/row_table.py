"""Arrange the rows of `get_history` as columns of equal length, and write them as a table with times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from warehouse.market.clock import HOUR, RESOLUTIONS

_KEYS = ("zone", "fuel", "counterparty", "link")
"""Fields that distinguish rows of the same time."""
_LINE = {300: HOUR, 900: HOUR, 1800: HOUR, HOUR: 6 * HOUR}
"""The seconds that a table line covers, by the resolution of the rows. A line has few enough values to count."""


def columns(rows: Mapping[str, list[Any]]) -> tuple[list[int], dict[str, list[Any]], dict[str, Any]]:
    """Return the time of each line, the rows as arrays of equal length, and the fields that all rows share.

    `time` or `date` comes first, then `value`, or an array per fuel, border or zone. Another field that differs has a
    single array (`coverage`) if rows of the same time share it, otherwise an array per key (`FR.coverage`). A field
    that is constant within each fuel, border or zone is listed by key. Time, fuel, border and zone identify a row,
    because actual values do not overlap and a single vintage is picked.
    """
    stamp = "date" if "date" in rows else "time"
    stamps = rows.get("date") or spell_instants(rows["ts"])
    instants = dict(zip(stamps[::-1], rows["ts"][::-1], strict=True))
    place = {each: place for place, each in enumerate(dict.fromkeys(stamps))}
    keyed = [rows[name] for name in _KEYS if name in rows]
    keys = ["/".join(filter(None, key)) for key in zip(*keyed, strict=True)] if keyed else [""] * len(stamps)
    arrays: dict[str, list[Any]] = {stamp: [*place], **({} if stamps else {"value": []})}
    constant: dict[str, Any] = {}
    for name in [name for name in rows if name not in ("ts", "date", *_KEYS)]:
        by_key: dict[str, dict[str, Any]] = {key: {} for key in sorted(set(keys))}
        for key, each, value in zip(keys, stamps, rows[name], strict=True):
            by_key[key][each] = value
        shared = {key: {*values.values()} for key, values in by_key.items()}
        if name != "value" and shared and all(len(each) == 1 for each in shared.values()):
            one = {key: each.pop() for key, each in shared.items()}
            constant[name] = rows[name][0] if len({*one.values()}) == 1 else one
            continue
        if name != "value" and len(by_key) > 1 and (common := _common(by_key.values())) is not None:
            arrays[name] = [common.get(each) for each in place]
            continue
        for key, values in by_key.items():
            title = ".".join(filter(None, (key, name if name != "value" or not key else "")))
            arrays[title] = [values.get(each) for each in place]
    return [instants[each] for each in place], arrays, constant


def _common(by_key: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return a field's values by time if rows of the same time share them, otherwise None."""
    common: dict[str, Any] = {}
    for values in by_key:
        if any(common.setdefault(each, value) != value for each, value in values.items()):
            return None
    return common


def spell_instants(ts: Sequence[int]) -> list[str]:
    """Return times as text, such as `2026-03-30T12:00Z`, with seconds unless these are 0."""
    texts = np.datetime_as_string(np.array(ts, "datetime64[s]"), unit="s").tolist()
    return [f"{text.removesuffix(':00')}Z" for text in texts]


def utc_offsets(ts: Sequence[int], clock: ZoneInfo) -> dict[str, str]:
    """Return a clock's offsets from UTC, each by the first of the times at which it applies."""
    spans = groupby(sorted(ts), lambda at: datetime.fromtimestamp(at, clock).isoformat()[-6:])
    return {spell_instants([next(span)])[0]: offset for offset, span in spans}


def table(
    ts: Sequence[int], arrays: Mapping[str, list[Any]], constant: Mapping[str, Any], clock: ZoneInfo | None
) -> list[str]:
    """Return columns as lines of text, oldest first, below their names.

    The day and time of `clock` follow UTC. Values of short intervals share a line.
    """
    step = -1 if ts[0] > ts[-1] else 1
    ts, arrays = ts[::step], {name: column[::step] for name, column in arrays.items()}
    if arrays.keys() == {"time", "value"} and (spans := _spans(ts, arrays["value"], constant)):
        every = RESOLUTIONS[constant["resolution"]] // 60
        ts, values = [*spans], [*spans.values()]
        arrays = {"time": spell_instants(ts), f"value, then one each {every} min": values}
    (stamp, stamps), *others = arrays.items()
    printed = {stamp: stamps}
    if clock is not None:
        civil = [datetime.fromtimestamp(at, clock) for at in ts]
        printed |= {"day": [f"{at:%a}" for at in civil], clock.key: [f"{at:%H:%M}" for at in civil]}
    printed |= {name: [*map(cell, column)] for name, column in others if not name.endswith(("samples", "lead_s"))}
    return ["- is missing.", " ".join(printed), *(" ".join(line) for line in zip(*printed.values(), strict=True))]


def cell(value: Any) -> str:
    """Return a value as text in the table."""
    return "-" if value is None else value if isinstance(value, str) else f"{value:.10g}"


def _spans(ts: Sequence[int], values: Sequence[float], constant: Mapping[str, Any]) -> dict[int, str]:
    """Return the values of each hour (six hours for hourly rows) by the time of the first, `-` for a missing value.

    Returns {} if rows are longer than an hour, are off their grid or differ in length.
    """
    step = RESOLUTIONS.get(constant.get("resolution", ""), 0)
    line = _LINE.get(step)
    if line is None or any(at % step for at in ts):
        return {}
    by_ts, first, behind = dict(zip(ts, values, strict=True)), ts[0], ts[-1] + step
    return {
        begin: " ".join(cell(by_ts.get(at)) for at in range(begin, min(begin - begin % line + line, behind), step))
        for begin in dict.fromkeys(max(at - at % line, first) for at in ts)
    }
