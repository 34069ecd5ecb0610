"""Generate docs/data.md, which defines each metric, zone and field, from `warehouse` and `api.openapi.market_data`.

After changes to these modules, run `python -m tools.data_page > docs/data.md`. A test compares them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Template

from api.openapi.market_data import MARKET_DATA
from api.openapi.members import Schema
from warehouse.market.metrics import MEAN, METRICS
from warehouse.market.vocabulary import Fuel, Metric
from warehouse.market.zones import ZONES


def page() -> str:
    """Return the whole page, with a separate table of the fields that several schemas share."""
    schemas = {name: [*_members(schema, "")] for name, schema in MARKET_DATA.items()}
    meanings = Counter(
        pair for rows in schemas.values() for pair in dict.fromkeys((_last(path), meaning) for path, _, meaning in rows)
    )
    shared = {member: meaning for (member, meaning), count in reversed(meanings.most_common()) if count > 1}
    template = Template((Path(__file__).parent / "data_page.md").read_text(), keep_trailing_newline=True)
    text: str = template.render(
        metrics=METRICS,
        mean=MEAN,
        holders=_holders,
        fuels=[*Fuel],
        zones=ZONES.values(),
        shared=shared,
        schemas={
            name: [row for row in members if shared.get(_last(row[0])) != row[2]] for name, members in schemas.items()
        },
    )
    return text


def _holders(metric: str) -> str:
    """Return the zones that have a metric, as text."""
    of_zone = Metric.CARBON if metric == Metric.CARBON_ESTIMATE else metric
    zones = [zone.id for zone in ZONES.values() if of_zone in zone.metrics or metric == zone.day_ahead_metric]
    return "all zones" if len(zones) == len(ZONES) else ", ".join(zones)


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _members(schema: Schema, place: str) -> Iterator[tuple[str, bool, str]]:
    """Yield path, necessity and meaning of each field at any depth, except in schemas defined elsewhere."""
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _members(choice, place)
    if isinstance(schema.get("items"), dict):
        yield from _members(schema["items"], f"{place}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _members(schema["additionalProperties"], f"{place}.*")
    for name, part in schema.get("properties", {}).items():
        path = f"{place}.{name}".removeprefix(".")
        words = f" `{' '.join(part['enum'])}`" if "enum" in part and len(part["enum"]) < 10 else ""
        yield path, name in schema.get("required", ()), f"{part['description']}{words}".replace("|", "\\|")
        yield from _members(part, path)


if __name__ == "__main__":
    sys.stdout.write(page())
