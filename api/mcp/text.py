"""Write the text of tool results with the macros of `answers.txt`, with ISO 8601 times.

Hosts show a model the text, the structured content, or both, so each is complete. The functions are pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape

from warehouse.market.clock import iso, zone_of
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import Zone

SIMULATED = "SIMULATED data, not market data."
_INSTANTS = frozenset(
    {"ts", "start", "end", "from", "until", "valid_until", "next_auction_by", "published_at", "min_ts", "max_ts"}
    | {"first", "last", "generated", "now"}
)
"""Fields that are Unix seconds."""


def with_times(body: Any) -> Any:
    """Return a JSON value with ISO 8601 times added: `time` for `ts`, `start_time` for `start`.

    Models misread Unix seconds.
    """
    if isinstance(body, list):
        return [with_times(part) for part in body]
    if not isinstance(body, dict):
        return body
    instants = {name: at for name, at in body.items() if name in _INSTANTS and isinstance(at, int)}
    times = {f"{name}_time".replace("ts_time", "time"): iso(at) for name, at in instants.items()}
    return {name: with_times(part) for name, part in body.items()} | times


def sample_note(base_url: str) -> str:
    """Return a note that the response is a sample, and how to get more."""
    return (
        "SAMPLE: without an API key you get at most 50 rows, or one metric of a zone. For complete results get a free "
        f'key with POST {base_url}/v1/keys/signup and {{"email": "..."}}, and send it as the header Authorization: '
        "Bearer <key>, or as the argument api_key."
    )


def terms(members: Iterable[Mapping[str, Any]]) -> str:
    """Return a text with the sources and licences of `members`, without repetitions."""
    listed = list(members)
    sources = dict.fromkeys(
        word.removeprefix("Source: ") for member in listed for word in member["attribution"].split("; ") if word
    )
    licences = dict.fromkeys(word for member in listed for word in member["license"].split("; ") if word)
    return f"Source: {'; '.join(sources)}. Licence: {'; '.join(licences)}."


@cache
def _macros() -> Any:
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=select_autoescape())
    environment.filters |= {"iso": iso, "number": "{:.10g}".format, "civil": _civil, "length_of": _length_of}
    environment.globals["terms"] = terms
    return environment.get_template("answers.txt").module


def _civil(at: int, zone: Zone) -> str:
    return f"{datetime.fromtimestamp(at, zone_of(zone.tz)):%a %H:%M}"


def _length_of(hours: float) -> str:
    """Return a length in whole minutes: `3 h 38 min`, or `3 h` without minutes."""
    whole, minutes = divmod(round(hours * 60), 60)
    return f"{whole} h" if not minutes else f"{whole} h {minutes} min"


def words(macro: str, body: Mapping[str, Any], *more: Any) -> str:
    """Return the text of a tool's response, by its macro in `answers.txt`."""
    return str(getattr(_macros(), macro)(body, *more))


def ranked(zones: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rank the values of a snapshot's zones within each metric and unit, as columns of equal length, highest first.

    Published carbon intensities and estimates are ranked separately, because their definitions differ. `rank` 1 is the
    highest value. `percentile` compares a zone with its own last 30 days.
    """
    metrics = [metric.value for metric in Metric]
    values = sorted(
        (metrics.index(name), name, value["unit"], _basis(name, member), -value["value"], zone, value)
        for zone, member in zones.items()
        for name, value in member["metrics"].items()
    )
    listed = []
    for (_, name, unit, basis), group in groupby(values, lambda each: each[:4]):
        of_zones = {zone: value for *_, zone, value in group}
        figures = [value["value"] for value in of_zones.values()]
        usual = Counter(value["ts"] for value in of_zones.values()).most_common(1)[0][0]
        others = {zone: iso(value["ts"]) for zone, value in of_zones.items() if value["ts"] != usual}
        columns = {
            "zone": [*of_zones],
            "value": figures,
            "rank": [figures.index(figure) + 1 for figure in figures],
            "percentile": [value["percentile"] for value in of_zones.values()],
        }
        times = {"time": iso(usual), **({"other_times": others} if others else {})}
        listed.append({"metric": name, "unit": unit, **({"basis": basis} if basis else {}), **times, **columns})
    return listed


def _basis(metric: str, member: Mapping[str, Any]) -> str:
    return str(member.get("carbon_basis", "")) if metric == Metric.CARBON else ""


def snapshot(body: Mapping[str, Any]) -> str:
    """Return a line per metric and unit with the values of zones, highest first."""
    if "values" in body:
        return words("snapshot", body, body["values"], body["zones_without_data"], [body])
    members = body["zones"]
    without_data = [zone for zone, member in members.items() if not member["metrics"]]
    return words(
        "snapshot", body, ranked(members), without_data, [members[zone] for zone in members if zone not in without_data]
    )
