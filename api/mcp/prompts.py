"""Prompts that people pick in their host: a market briefing, a plan for a flexible load, a comparison of zones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.mcp.arguments import BadArguments, metric_name, seconds_of_hours, words, zone_id
from api.series.windows import LONGEST_HOURS
from warehouse.clock import HOUR


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt: always text, as the protocol wants it."""

    name: str
    description: str
    required: bool = True
    default: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `text` holds `{argument}` where the argument goes."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    text: str


_ZONE = PromptArgument("zone", "Zone id, such as GB or DE-LU.")
_HONEST = (
    " Name the units, give times in the zone's civil time, quote source and licence, and say plainly where an answer "
    "is a sample, stale or missing."
)

PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "market_briefing",
            "Market briefing of a zone",
            "What a zone's power market does now, how unusual that is, and what is fixed for the hours ahead.",
            (_ZONE,),
            "Brief me on the electricity market of {zone}. Take get_zone_brief for the present and its rank among the "
            "last 30 days, get_statistics of price over the last 7 days for the range, and find_window for the "
            "cheapest and the dearest 3 hours ahead. Begin with one sentence that a newspaper could print, then at "
            "most five short points." + _HONEST,
        ),
        Prompt(
            "plan_flexible_load",
            "Plan a flexible load",
            "When to run something that needs a number of hours: the cheapest block and its alternatives.",
            (
                _ZONE,
                PromptArgument("hours", "Hours that the load needs, in quarters: 3, 1.5.", False, "3"),
            ),
            "I want to run a load of {hours} hours in {zone} when power is cheapest. Take find_window with "
            "hours={hours}. Tell me when to start and what it saves against the mean of the known hours, two "
            "alternatives, and whether starting now would be worse. Where no prices are known ahead, say why and when "
            "the next auction is due; do not guess." + _HONEST,
        ),
        Prompt(
            "compare_zones",
            "Compare zones",
            "How zones stand against each other now and over the last week.",
            (
                PromptArgument("zones", "Zone ids with commas, such as FR,DE-LU,ES."),
                PromptArgument("metric", "price, demand, interchange or carbon_intensity.", False, "price"),
            ),
            "Compare {metric} of the zones {zones}. Take get_map_snapshot with metric={metric} and these zones for the "
            "present, and get_statistics of {metric} for each over the last 7 days. Give a table of now, mean, minimum "
            "and maximum, then two sentences on what differs. Prices in different currencies are not comparable as "
            "they stand: say so." + _HONEST,
        ),
    )
}
"""By name, in the order in which prompts/list gives them."""


def _hours(sent: str) -> str:
    return f"{seconds_of_hours(LONGEST_HOURS)(sent) / HOUR:g}"


_READ = {
    "zone": zone_id,
    "zones": lambda sent: ",".join(words(zone_id)(sent)),
    "metric": lambda sent: metric_name(sent).replace("-", "_"),
    "hours": _hours,
}


def described(prompt: Prompt) -> dict[str, Any]:
    """A prompt as prompts/list shows it."""
    arguments = [
        {"name": argument.name, "description": argument.description, "required": argument.required}
        for argument in prompt.arguments
    ]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments}


def filled(prompt: Prompt, given: Mapping[str, Any]) -> dict[str, Any]:
    """The result of prompts/get but for its envelope. Raises BadArguments."""
    known = {argument.name: argument for argument in prompt.arguments}
    faults = [f"{name[:40]}: no such argument; there are {', '.join(known)}" for name in given if name not in known]
    read: dict[str, str] = {}
    for name, argument in known.items():
        sent = given.get(name) or argument.default
        if not sent:
            faults.append(f"{name}: required")
            continue
        try:
            read[name] = _READ[name](sent)
        except ValueError as fault:
            faults.append(f"{name}: {fault}")
    if faults:
        raise BadArguments("; ".join(faults[:5]))
    text = prompt.text
    for name, value in read.items():
        text = text.replace(f"{{{name}}}", value)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt.description, "messages": [message]}
