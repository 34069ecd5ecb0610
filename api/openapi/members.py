"""Define the parts of schemas: types, fields that many responses share, and `record`, which combines fields."""

from __future__ import annotations

from typing import Any, get_args

from api.access.key_spelling import KEY_PATTERN
from warehouse.figures.resample import LONGEST
from warehouse.figures.wind_solar import WIND_SOLAR
from warehouse.market.clock import LAST_INSTANT, RESOLUTIONS
from warehouse.market.metrics import METRICS, PUBLIC, SCALAR
from warehouse.market.vocabulary import PLANT_FUELS, Fuel
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Basis

Schema = dict[str, Any]
Kind = Schema | str
"""A schema, or a name in `TYPES` or, with a capital letter, in the components. The suffix `?` allows null."""
Member = str | tuple[str, str, Kind]
"""Name, meaning and type, or the name of a field in `SHARED`. The suffix `?` on the name makes the field optional."""


def text(**bounds: Any) -> Schema:
    """Return the schema of a string within `bounds`, which are keywords of JSON Schema."""
    return {"type": "string", **bounds}


def choice(*words: str) -> Schema:
    """Return the schema of an enumeration of `words`."""
    return text(enum=list(words))


def ref(name: str) -> Schema:
    """Return a reference to a schema of the components by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(item: Kind, **bounds: int) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": schema_of(item), **bounds}


def keyed(value: Kind, keys: Kind | None = None) -> Schema:
    """Return the schema of an object used as a map."""
    names = {"propertyNames": schema_of(keys)} if keys else {}
    return {"type": "object", "additionalProperties": schema_of(value), **names}


def or_null(kind: Kind) -> Schema:
    """Return the schema of a value that can be null."""
    return {"anyOf": [schema_of(kind), {"type": "null"}]}


def schema_of(kind: Kind) -> Schema:
    """Return the schema of a kind. Raises KeyError."""
    if isinstance(kind, str) and kind.endswith("?"):
        return or_null(kind.removesuffix("?"))
    return kind if not isinstance(kind, str) else ref(kind) if kind[0].isupper() else TYPES[kind]


_INSTANT = {"type": "integer", "format": "int64", "minimum": 0, "maximum": LAST_INSTANT, "description": "Unix seconds."}
TYPES: dict[str, Schema] = {
    "text": text(),
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "whole": {"type": "integer", "minimum": 0},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "instant": _INSTANT,
    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
    "percentile": {"type": "integer", "minimum": 0, "maximum": 100},
    "fuel": choice(*Fuel),
    "plant fuel": choice(*PLANT_FUELS),
    "zone": ref("ZoneId"),
    "metric": ref("MetricName"),
    "resolution": choice(*dict.fromkeys([*RESOLUTIONS, *LONGEST])),
}
"""The types that many fields have."""
WORDS: dict[str, Schema] = {
    "ZoneId": choice(*ZONES),
    "MetricName": choice(*PUBLIC),
    "FileMetric": choice(*METRICS),
    "WindowMetric": choice(*(metric for metric, of in METRICS.items() if of.in_windows), WIND_SOLAR),
    "RecordMetric": choice(*SCALAR),
    "WindowFind": choice("lowest", "highest"),
}
"""Enumerations that openapi-generator would otherwise name twice, after the path and after the field."""

# fmt: off
SHARED: dict[str, tuple[str, Kind]] = {
    "zone": ("Zone ID.", "zone"),
    "name": ("Display name.", "text"),
    "tz": ("Civil time zone of the zone (IANA).", "text"),
    "market_tz": ("Time zone of the market (IANA). Market days follow it.", "text"),
    "currency": ("ISO 4217 code of the zone's prices.", text(pattern="^[A-Z]{3}$")),
    "rank": ("Rank among all blocks of this length in the horizon: 1 is the best.", "whole"),
    "redistributable": ("Whether the terms allow redistribution.", choice("yes", "no", "unclear")),
    "withheld": ("Whether the data is excluded from every response.", "flag"),
    "title": ("Title.", "text"),
    "metric": ("Metric of the rows.", "metric"),
    "market": ("`day_ahead` for rows of the day-ahead auction; absent for the headline price.",
     text(const="day_ahead")),
    "value": ("Value in `unit`. For interchange, positive values are net imports. Prices can be negative.", "number"),
    "unit": ("`MW`, `%`, `gCO2/kWh`, or a currency per MWh such as `EUR/MWh`.", "text"),
    "ts": ("Start of the interval, Unix seconds UTC.", "instant"),
    "date": ("Civil day on which the day, week, month or year of a mean starts; only for means.", text(format="date")),
    "time": (
        "`ts` as RFC 3339, in UTC or civil time with offset; only with `time=`. A timestamp in Parquet and Arrow.",
        text(format="date-time")),
    "resolution": ("Length of the interval.", "resolution"),
    "fuel": ("Fuel or energy source.", "fuel"),
    "counterparty": ("The other side of the border: a zone ID, or the name of an area outside the covered zones.",
     "text?"),
    "link": ("ID in `/v1/geo/interconnectors`; null if only the total of the border is published.", "text?"),
    "source": ("Source code.", "text"),
    "sources": ("Codes of the sources of the rows. If there are several, each row names its own.", listed("text")),
    "feed": ("Feed ID.", "text"),
    "hub": ("Node, hub or region of a price; empty for other metrics.", "text"),
    "basis": (
        "Origin of the publication time: `body` (a field of the response), `name` (the file name) or `fetched` (the "
        "time of the fetch).",
        choice(*get_args(Basis))),
    "samples": ("Number of rows in the mean.", "whole"),
    "coverage": ("Fraction of the time that rows cover, 0 to 1.", "fraction"),
    "start": ("Start, included, Unix seconds.", "instant"),
    "end": ("End, excluded, Unix seconds.", "instant"),
    "interval": ("Interval of means: UTC hours, civil days, ISO weeks, months or years. Absent for original rows.",
     choice(*LONGEST)),
    "as_of": ("Time at which these rows were known, Unix seconds; at least ten seconds ago.", "instant"),
    "known_since": (
        "Time of the oldest raw response, Unix seconds. Present if `as_of` is earlier and a month was restored from "
         "raw "
        "responses. That month then has no rows and no listed gaps.",
        "instant",
    ),
    "filling": ("Progress of the first fill; present until the fill of the zone is complete.", "FillProgress"),
    "count": ("Number of rows, files or entries in this response.", "whole"),
    "truncated": (
        "Whether rows were left out. `start` and `end` then enclose the returned rows, and `Link: rel=next` continues "
        "after them.", "flag"),
    "cursor_only": ("Present if `limit` cuts the rows of one time. Use the cursor in `Link`, or a higher `limit`.",
     "flag"),
    "gaps_truncated": ("Always true if present: there are more gaps than are listed.", "flag"),
    "metrics": ("Newest values by metric. Metrics without rows are absent.", keyed("MetricValue", "metric")),
    "generation_mix": ("Newest generation by fuel; absent if the zone publishes none.", "GenerationMix"),
    "expected_by": ("Time by which a newer value is due, Unix seconds, from the feed's schedule and grace.", "instant"),
    "updated": ("Time when the document was built, Unix seconds.", "instant"),
    "valid_until": (
        "Time until which nothing newer is due, Unix seconds. Later responses carry `X-EMDS-Stale: true`.", "instant"),
    "generated": ("Time when the document was built, Unix seconds.", "instant"),
    "rounded": ("Always true: whole currency units, 100 MW, 10 g. The snapshot has exact values.", "flag"),
    "simulated": ("Whether the data is simulated, not market data.", "flag"),
    "sample": ("Always true if present: the response is a sample.", "flag"),
    "attribution": ("Attribution. Show it wherever you show the data.", "text"),
    "license": ("Licence under which the data may be redistributed.", "text"),
    "method": ("Version of the method. It is documented at /docs under the same name.", "text"),
    "docs": ("Path of the documentation page.", "text"),
    "mean": ("Duration-weighted mean, in the unit of the values.", "number"),
    "min": ("The lowest value, in the unit of the values. May be negative.", "number"),
    "max": ("The highest value, in the unit of the values.", "number"),
    "p10": ("Value below which the series was for 10% of the time.", "number"),
    "p90": ("Value below which the series was for 90% of the time.", "number"),
    "median": ("Median; null without rows.", "number?"),
    "p95": ("95th percentile; null without rows.", "number?"),
    "vs_horizon_mean": ("Mean minus the horizon mean, in the unit of the values.", "number"),
    "vs_horizon_mean_pct": (
        "`vs_horizon_mean` as a percentage of the horizon mean; null if the mean is negative or the horizon mean is "
        "below 1.",
        "number?"),
    "step": ("Seconds between two values.", "whole"),
    "rows": ("Number of rows that were measured.", "whole"),
    "month": ("UTC month, `YYYY-MM`.", text(pattern="^[0-9]{4}-[0-9]{2}$")),
    "api_key": ("The key. It is shown once, because only its SHA-256 is stored.", text(pattern=KEY_PATTERN)),
    "email": ("E-mail address of the key.", "text"),
    "confirmed": ("Whether the e-mail address was confirmed.", "flag"),
    "next_step": ("If `confirmed` is false: how to confirm the key.", "text"),
    "detail": ("What is wrong, and what is allowed.", "text"),
}
# fmt: on
"""Meaning and type of the fields that several responses share, by name."""


def record(*members: Member, closed: bool = False) -> Schema:
    """Return the schema of an object with the given fields. `closed` forbids other fields."""
    properties, required = {}, []
    for member in members:
        name, meaning, kind = (member, *SHARED[member.removesuffix("?")]) if isinstance(member, str) else member
        plain = name.removesuffix("?")
        properties[plain] = {**schema_of(kind), "description": meaning}
        required += [plain] if plain == name else []
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema
