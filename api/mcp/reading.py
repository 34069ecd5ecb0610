"""Serve resources, which hosts read, and prompts, which people pick. Both are free and need no tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from api.documents.catalogue_reader import Catalogue
from api.endpoints.guides import DOC_PAGES, FOLDER
from api.mcp.answers import zones_with_metrics
from api.mcp.protocol import INVALID_PARAMS, RpcError
from api.mcp.text import with_times
from warehouse.market.metrics import SCALAR
from warehouse.market.zones import ZONES


def _catalogue_in_short(catalogue: Catalogue) -> Any:
    """Return a short catalogue, because complete entries fill a book."""
    members = ("unit", "resolution", "first", "last", "rows")
    in_short = {
        zone: {
            name: {member: getattr(series, member) for member in members}
            | {"sources": list(dict.fromkeys(feed.source for feed in series.feeds))}
            for name, series in catalogue.zones[zone].metrics.items()
        }
        for zone in ZONES
    }
    return with_times(in_short)


_JSON, _MARKDOWN = "application/json", "text/markdown"
_TABLE: tuple[tuple[str, str, str, str, Callable[[Catalogue], Any]], ...] = (
    ("zones", "Grid zones", f"The {len(ZONES)} zones with name, time zones, currency, licence, attribution and "
        "metrics.",
     _JSON, zones_with_metrics),
    ("catalogue", "Catalogue",
     "The metrics of every zone in short: unit, resolution, sources, first and last interval, number of rows.",
     _JSON, _catalogue_in_short),
    *((f"docs/{page}", title, f"{title}: the page /docs/{page} of this service.", _MARKDOWN,
       lambda _, page=page: (FOLDER / f"{page}.md").read_text())
      for page, title in DOC_PAGES.items()),
)  # fmt: skip
RESOURCES = {
    (uri := f"emds://{path}"): (
        {"uri": uri, "name": path.replace("/", "-"), "title": title, "description": description, "mimeType": media},
        read,
    )
    for path, title, description, media, read in _TABLE
}
"""By URI and in order: the entry in resources/list, and the function that returns the text or JSON."""

_ARGUMENTS = {
    "zone": "Zone ID, for example GB or DE-LU.",
    "zones": "Zone IDs separated by commas, for example FR,DE-LU,ES.",
    "hours": "Hours that the load needs, in steps of 0.25, for example 3 or 1.5.",
    "metric": f"{', '.join(SCALAR[:-1])} or {SCALAR[-1]}.",
}
_DEFAULTS = {"hours": "3", "metric": "price"}
_HONEST = (
    " State units, use the zone's local time, cite the source and licence, and say clearly if a result is a sample, "
    "stale or missing."
)
# fmt: off
PROMPTS = {
    "market_briefing": (
        "Market briefing of a zone",
        "Current state of a zone's power market, how unusual it is, and known prices for the hours ahead.", ("zone",),
        "Brief me on the electricity market in {zone}. Use get_zone_brief for current values and their rank over the "
        "past 30 days. Use get_statistics of price over the last 7 days for the range, and find_window for the "
        "cheapest and the most expensive 3 hours ahead. Start with one headline sentence, followed by at most five "
        "short bullet points."
        + _HONEST),
    "plan_flexible_load": (
        "Plan a flexible load",
        "The best time to run a load of a given length: the cheapest block and its alternatives.",
        ("zone", "hours"),
        "I want to run a load of {hours} hours in {zone} when power is cheapest. Use find_window with hours={hours}. "
        "Tell me when to start and what it saves against the mean of the known hours, two alternatives, and whether "
        "starting now would be worse. If no prices are known ahead, say why and when the next auction is due; do not "
        "guess." + _HONEST),
    "compare_zones": (
        "Compare zones", "Compare zones now and over the last week.", ("zones", "metric"),
        "Compare {metric} of the zones {zones}. Use get_map_snapshot with metric={metric} and these zones for current "
        "values, and get_statistics of {metric} for each over the last 7 days. Give a table of now, mean, minimum and "
        "maximum, then two sentences on what differs. If prices are in different currencies, say that they cannot be "
        "compared directly." + _HONEST),
}
"""Title, description, arguments and text of each prompt. `{argument}` marks the place of an argument."""
# fmt: on


LISTS: Mapping[str, tuple[str, list[dict[str, Any]]]] = {
    "resources/list": ("resources", [about for about, _ in RESOURCES.values()]),
    "resources/templates/list": ("resourceTemplates", []),
    "prompts/list": ("prompts", [
        {"name": name, "title": title, "description": description, "arguments": [
            {"name": each, "description": _ARGUMENTS[each], "required": each not in _DEFAULTS} for each in arguments]}
        for name, (title, description, arguments, _) in PROMPTS.items()
    ]),
}  # fmt: skip
"""By method: the field of its response, and the entries."""


def fill(name: str, sent: Any) -> dict[str, Any]:
    """Return the result of prompts/get without its envelope. Raises RpcError."""
    if name not in PROMPTS:
        raise RpcError(INVALID_PARAMS, f"Unknown prompt. Use one of {', '.join(PROMPTS)}.")
    if not isinstance(sent, dict) or not all(isinstance(word, str) for word in sent.values()):
        raise RpcError(INVALID_PARAMS, "All values in params.arguments must be strings")
    _, description, arguments, words = PROMPTS[name]
    values = _DEFAULTS | {argument: word for argument, word in sent.items() if word}
    if missing := [each for each in arguments if each not in values]:
        raise RpcError(INVALID_PARAMS, f"Invalid arguments: {missing[0]} is required")
    message = {"role": "user", "content": {"type": "text", "text": words.format_map(values)}}
    return {"description": description, "messages": [message]}
