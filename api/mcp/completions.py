"""What `completion/complete` proposes for the arguments of prompts and of the resource template: zones and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.documents.catalogue import SERIES
from api.mcp.prompts import PROMPTS
from api.mcp.resources import TEMPLATES
from warehouse.zones import ZONES

_HOURS = ("1", "2", "3", "4", "6", "8", "12", "24")


class UnknownReference(Exception):
    """No prompt, template or argument has that name; the text says which there are."""


def completed(reference: Mapping[str, Any], name: str, typed: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """The member `completion`: words for an argument that begins as `typed`. Raises UnknownReference.

    A zone is found by its id or its name; metrics of the template are those of the zone chosen before.
    """
    arguments = _arguments(reference)
    if name not in arguments:
        raise UnknownReference(f"no argument {name[:40]!r}; there are {', '.join(arguments)}")
    if name == "zones":
        before, comma, last = typed.rpartition(",")
        found = [f"{before}{comma}{zone}" for zone in _zones(last) if zone not in before.split(",")]
    elif name == "zone":
        found = _zones(typed)
    elif name == "metric":
        found = [metric for metric in _metrics(context.get("zone")) if _begins(metric, typed)]
    else:
        found = [hours for hours in _HOURS if hours.startswith(typed)]
    return {"values": found, "total": len(found), "hasMore": False}


def _arguments(reference: Mapping[str, Any]) -> list[str]:
    """The arguments of a prompt or template."""
    if reference.get("type") == "ref/prompt" and (prompt := PROMPTS.get(str(reference.get("name")))):
        return [argument.name for argument in prompt.arguments]
    if reference.get("type") == "ref/resource" and reference.get("uri") in {t["uriTemplate"] for t in TEMPLATES}:
        return ["zone", "metric"]
    templates = ", ".join(template["uriTemplate"] for template in TEMPLATES)
    raise UnknownReference(f"unknown ref; there are the prompts {', '.join(PROMPTS)} and the resource {templates}")


def _begins(word: str, typed: str) -> bool:
    return word.startswith(typed.strip().lower().replace("-", "_"))


def _zones(typed: str) -> list[str]:
    """Ids that begin so, then zones whose name holds it."""
    text = typed.strip().upper().replace("_", "-")
    begin = [zone for zone in ZONES if zone.startswith(text)]
    return begin + [z.id for z in ZONES.values() if text in z.name.upper() and z.id not in begin]


def _metrics(zone: Any) -> list[str]:
    known = ZONES.get(str(zone).strip().upper().replace("_", "-"))
    return [metric.value for metric in SERIES.values() if known is None or metric in known.metrics]
