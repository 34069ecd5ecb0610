"""docs/data.md: what each metric, zone and member of market data is, from `warehouse` and `api.openapi.market_data`.

Run `python -m api.openapi.data_page > docs/data.md` after a change of these; a test compares them.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

from api.openapi.market_data import MARKET_DATA
from api.openapi.members import Schema
from warehouse.market.market import Fuel
from warehouse.market.metrics import METRICS, Metric
from warehouse.market.zones import ZONES

_HEAD = """# The data

Which feed carries a metric of a zone, by rank, with its licence: [feeds.md](feeds.md). How the brief ranks them:
[brief.md](brief.md).

A row is one interval: `ts` is its start in Unix seconds UTC, `resolution` its length (`5m 15m 30m 1h 1d 1w 1mo 1y`).
Windows are half open. A missing interval has no row: it is never 0 and never interpolated. Where feeds of several ranks
have an interval, the best rank is served; replaced values stay, and `as_of=` answers what was known at an instant.

"""
_FUELS = """## Fuels

One vocabulary for generation, capacity and power plants. A publisher's fuels that share one of ours are summed; a code
that is not known is an error, never `other`.

"""
_ZONES = """
## Zones

Zones are found in any case, by name and by market code (`France`, `DE`, `UK`, `ERCOT`, `NSW1`, `DK1`); in paths such a
word is redirected to the id. A country names a zone only where the zone is the whole country: Italy, Norway, Sweden,
Denmark, Australia and the United States are refused with their zones.

A time without an offset (`2026-11-20T06:00`, `2026-11-20`, `today`) is the zone's civil time, and `interval=1d`, `1w`,
`1mo` and `1y` mean its civil days, ISO weeks, months and years. Where clocks go back, a time that comes twice is its
first; where they go forward, a skipped one is the instant of the change: windows that meet in civil time meet in Unix
seconds. The market's own day, by which feeds are fetched and published, follows the market clock.

| Zone | Name | Civil time | Market clock | Currency | `price` | `price?market=day_ahead` |
|---|---|---|---|---|---|---|
"""
_MEMBERS = """
## Members of the answers

Of the answers that hold market data, by the names of their schemas. `/docs` of a running service defines the members of
all others too. A member of a member is written `outer.inner`, of a list's entries `outer[].inner`, of a map's values
`outer.*.inner`. Those in italics may be absent.

### In several answers

A member of this name means this wherever its answer's own table does not list it.

| Member | Meaning |
|---|---|
"""


def page() -> str:
    """The whole page."""
    fuels = ", ".join(f"`{fuel}`" for fuel in Fuel)
    return "".join([_HEAD, *_metrics(), _FUELS, f"{fuels}.\n", _ZONES, *_zones(), _MEMBERS, *_schemas()])


def _metrics() -> Iterator[str]:
    for metric, text in METRICS.items():
        holders = [zone.id for zone in ZONES.values() if metric in zone.metrics or metric is zone.day_ahead_metric]
        where = "all zones" if len(holders) == len(ZONES) else ", ".join(holders)
        yield f"## {text.title} (`{metric}`)\n\n{text.definition}\n\n"
        yield f"- Unit: {text.units}\n- Sign: {text.sign}\n- Interval: {text.interval}\n- Zones: {where}\n\n"


def _zones() -> Iterator[str]:
    for zone in ZONES.values():
        day_ahead = "the same rows" if zone.day_ahead_metric is Metric.PRICE else zone.day_ahead or "none"
        cells = (zone.id, zone.name, zone.tz, zone.market_tz, zone.currency, zone.headline, day_ahead)
        yield f"| {' | '.join(cells)} |\n"


def _schemas() -> Iterator[str]:
    """Members that several schemas have with one meaning, then what each schema has of its own."""
    schemas = {name: [*_members(schema, "")] for name, schema in MARKET_DATA.items()}
    meanings: dict[str, Counter[str]] = defaultdict(Counter)
    for members in schemas.values():
        for member, meaning in dict.fromkeys((_last(path), meaning) for path, _, meaning in members):
            meanings[member][meaning] += 1
    common = {member: found.most_common(1)[0] for member, found in meanings.items()}
    shared = {member: meaning for member, (meaning, count) in common.items() if count > 1}
    yield from (f"| `{member}` | {shared[member]} |\n" for member in sorted(shared))
    for name, members in schemas.items():
        own = [row for row in members if shared.get(_last(row[0])) != row[2]]
        if own:
            yield f"\n### {name}\n\n| Member | Meaning |\n|---|---|\n"
            for path, required, meaning in own:
                mark = "" if required else "*"
                yield f"| {mark}`{path}`{mark} | {meaning} |\n"


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _members(schema: Schema, place: str) -> Iterator[tuple[str, bool, str]]:
    """Path, whether it is required, and meaning of each member at any depth; not of what another schema defines."""
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _members(choice, place)
    if isinstance(schema.get("items"), dict):
        yield from _members(schema["items"], f"{place}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _members(schema["additionalProperties"], f"{place}.*")
    for name, part in schema.get("properties", {}).items():
        path = f"{place}.{name}".removeprefix(".")
        yield path, name in schema.get("required", ()), part["description"].replace("|", "\\|")
        yield from _members(part, path)


if __name__ == "__main__":
    sys.stdout.write(page())
