"""`get_changes`: which series were corrected since a time, summed up from the log of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from api.documents import changes
from api.documents.changes import Wanted
from api.http.problems import Problem
from api.mcp.calls import ToolAnswer, ToolRequest
from api.service import Service
from warehouse.market.clock import iso
from warehouse.series.change_log import UnknownCursor

_MOST_ENTRIES = 5000
_COUNTS = ("added", "changed", "withdrawn")
Series = tuple[str, str, str]
"""Zone, metric, and `day_ahead` or nothing."""


def get_changes(service: Service, arguments: Mapping[str, Any]) -> ToolRequest:
    """The call of `/v1/changes`: free, and of as many entries as make one answer."""
    zone, metric = arguments["zone"], arguments["metric"]
    wanted = Wanted(None if zone is None else (zone,), metric)

    def answer(_sample: bool) -> ToolAnswer:
        try:
            since = changes.cursor_of(service.storage, arguments["since"], wanted.zones)
            page = changes.page(service.storage, since, _MOST_ENTRIES, wanted, service.lag_s)
        except UnknownCursor as gone:
            raise Problem(
                "cursor-gone", f"Changes are kept for 30 days: give a later time, or since={gone.oldest} for all."
            ) from None
        body = _summed(page)
        return ToolAnswer(_text(body), orjson.dumps(body))

    return ToolRequest("", "/v1/changes", answer)


def _summed(page: Mapping[str, Any]) -> dict[str, Any]:
    """Sum a page's entries up by series: what was corrected in each, and which only grew."""
    of_series: dict[Series, list[Mapping[str, Any]]] = {}
    for entry in page["entries"]:
        of_series.setdefault((entry["zone"], entry["metric"], entry.get("market", "")), []).append(entry)
    corrected, only_new = [], dict[str, list[str]]()
    for series, entries in sorted(of_series.items()):
        corrections = [entry for entry in entries if entry["changed"] or entry["withdrawn"] != 0]
        if corrections:
            corrected.append(_correction(series, entries, corrections))
        else:
            zone, *name = series
            only_new.setdefault(zone, []).append(" ".join(filter(None, name)))
    members = {name: page[name] for name in ("next", "more", "oldest")}
    return {"corrected": corrected, "only_new": only_new, "entries": page["count"], **members}


def _correction(
    series: Series, entries: Iterable[Mapping[str, Any]], corrections: list[Mapping[str, Any]]
) -> dict[str, Any]:
    zone, metric, market = series
    counts = {name: [entry[name] for entry in entries] for name in _COUNTS}
    return {
        "zone": zone,
        "metric": metric,
        **({"market": market} if market else {}),
        **{name: None if None in each else sum(each) for name, each in counts.items()},
        "first_time": iso(min(entry["first"] for entry in corrections)),
        "last_time": iso(max(entry["last"] for entry in corrections)),
        "at_time": iso(max(entry["at"] for entry in corrections)),
        "feeds": sorted({entry["feed"] for entry in corrections if entry["feed"]}),
    }


def _text(body: Mapping[str, Any]) -> str:
    """A line a corrected series, then the series that only grew."""
    lines = [f"{body['entries']} changes. Corrected series: {len(body['corrected'])}."]
    for series in body["corrected"]:
        name = f"{series['zone']} {series['metric']}{' (day-ahead auction)' if 'market' in series else ''}"
        withdrawn = "unknown" if series["withdrawn"] is None else series["withdrawn"]
        lines.append(
            f"{name}: {series['changed']} rows changed, {withdrawn} withdrawn, {series['added']} added; corrected "
            f"within {series['first_time']} to {series['last_time']}, last at {series['at_time']}."
        )
    if body["only_new"]:
        grown = "; ".join(f"{zone} {', '.join(names)}" for zone, names in body["only_new"].items())
        lines.append(f"New rows alone: {grown}.")
    lines += [f"More changes follow: call again with since={body['next']}."] if body["more"] else []
    return "\n".join([*lines, "get_history with as_of gives the rows as they were known before."])
