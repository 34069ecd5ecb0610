"""Resources and prompts: what hosts read, and what people pick, without a tool. All of it free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from api.documents.catalogue import Catalogue
from api.endpoints.guides import DOC_PAGES, FOLDER
from api.http.parameters import Parameter
from api.mcp import arguments as takes
from api.mcp.answers import zones_with_metrics
from api.mcp.arguments import read
from api.mcp.text import with_times
from warehouse.market.clock import HOUR
from warehouse.market.metrics import SCALAR
from warehouse.market.zones import ZONES

_JSON, _MARKDOWN = "application/json", "text/markdown"
_ZONES, _CATALOGUE, _PAGE = "emds://zones", "emds://catalogue", "emds://docs/"


def _entry(name: str, title: str, description: str, media: str = _JSON, **address: str) -> Mapping[str, str]:
    return {**address, "name": name, "title": title, "description": description, "mimeType": media}


# fmt: off
RESOURCES = (
    _entry("zones", "Grid zones",
           f"The {len(ZONES)} zones with name, clocks, currency, licence, attribution and metrics.", uri=_ZONES),
    _entry("catalogue", "Catalogue",
           "Every zone's metrics in short: unit, resolution, sources, first and last interval held, rows.",
           uri=_CATALOGUE),
    *(_entry(f"docs-{page}", title, f"{title}: the page /docs/{page} of the service.", _MARKDOWN, uri=_PAGE + page)
      for page, title in DOC_PAGES.items()),
)
"""In the order in which resources/list gives them."""
# fmt: on


def resource(catalogue: Catalogue, uri: str) -> dict[str, str] | None:
    """Return the contents of a resource; None for an address that none has. Raises StorageError."""
    page = uri.removeprefix(_PAGE)
    if page != uri and page in DOC_PAGES:
        return {"uri": uri, "mimeType": _MARKDOWN, "text": (FOLDER / f"{page}.md").read_text()}
    if uri == _ZONES:
        body = zones_with_metrics(catalogue)
    elif uri == _CATALOGUE:
        body = {
            zone: {name: _in_short(entry) for name, entry in catalogue.zones[zone]["metrics"].items()} for zone in ZONES
        }
    else:
        return None
    timed = with_times(body, frozenset({"first", "last"}))
    return {"uri": uri, "mimeType": _JSON, "text": orjson.dumps(timed).decode()}


def _in_short(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A series in short; all whole entries are as long as a book."""
    members = ("unit", "resolution", "first", "last", "rows")
    sources = list(dict.fromkeys(feed["source"] for feed in entry["feeds"]))
    return {**{member: entry[member] for member in members if member in entry}, "sources": sources}


class Prompt(NamedTuple):
    """One prompt. `text` holds `{argument}` where the argument goes."""

    name: str
    title: str
    description: str
    arguments: tuple[Parameter, ...]
    """Their values are words."""
    text: str


_ZONE = replace(takes.ZONE, description="Zone id, such as GB or DE-LU.")
_HOURS = replace(
    takes.HOURS, description="Hours that the load needs, in quarters: 3, 1.5.", default="3",
    read=lambda text: f"{takes.HOURS.read(text) / HOUR:g}")  # fmt: skip
_ZONE_LIST = replace(
    takes.ZONES_WANTED, description="Zone ids with commas, such as FR,DE-LU,ES.", required=True,
    read=lambda text: ",".join(takes.ZONES_WANTED.read(text)))  # fmt: skip
_METRIC = replace(takes.CHANGED_METRIC, description=f"{', '.join(SCALAR[:-1])} or {SCALAR[-1]}.", default="price")
_HONEST = (
    " Name the units, give times in the zone's civil time, quote source and licence, and say plainly where an answer "
    "is a sample, stale or missing."
)

# fmt: off
PROMPTS: Mapping[str, Prompt] = {prompt.name: prompt for prompt in (
    Prompt(
        "market_briefing", "Market briefing of a zone",
        "What a zone's power market does now, how unusual that is, and what is fixed for the hours ahead.", (_ZONE,),
        "Brief me on the electricity market of {zone}. Take get_zone_brief for the present and its rank among the last "
        "30 days, get_statistics of price over the last 7 days for the range, and find_window for the cheapest and the "
        "dearest 3 hours ahead. Begin with one sentence that a newspaper could print, then at most five short points."
        + _HONEST),
    Prompt(
        "plan_flexible_load", "Plan a flexible load",
        "When to run something that needs a number of hours: the cheapest block and its alternatives.",
        (_ZONE, _HOURS),
        "I want to run a load of {hours} hours in {zone} when power is cheapest. Take find_window with hours={hours}. "
        "Tell me when to start and what it saves against the mean of the known hours, two alternatives, and whether "
        "starting now would be worse. Where no prices are known ahead, say why and when the next auction is due; do "
        "not guess." + _HONEST),
    Prompt(
        "compare_zones", "Compare zones", "How zones stand against each other now and over the last week.",
        (_ZONE_LIST, _METRIC),
        "Compare {metric} of the zones {zones}. Take get_map_snapshot with metric={metric} and these zones for the "
        "present, and get_statistics of {metric} for each over the last 7 days. Give a table of now, mean, minimum and "
        "maximum, then two sentences on what differs. Prices in different currencies are not comparable as they stand: "
        "say so." + _HONEST),
)}
"""By name, in the order in which prompts/list gives them."""
# fmt: on


def _listed(prompt: Prompt) -> dict[str, Any]:
    members = ("name", "description", "required")
    arguments = [{member: getattr(argument, member) for member in members} for argument in prompt.arguments]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments}


LISTS: Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", []),
    "prompts/list": ("prompts", [_listed(prompt) for prompt in PROMPTS.values()]),
}
"""By method: the member of its answer, and the entries."""


def fill(prompt: Prompt, sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the result of prompts/get but for its envelope. Raises Problem 400."""
    words = read(prompt.arguments, {name: word or None for name, word in sent.items()})
    message = {"role": "user", "content": {"type": "text", "text": prompt.text.format(**words)}}
    return {"description": prompt.description, "messages": [message]}
