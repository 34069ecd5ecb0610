"""What schemas are made of: types, members that many answers share, and `record`, which puts members together."""

from __future__ import annotations

from typing import Any, get_args

from api.access.keys import KEY_PATTERN
from warehouse.figures.resample import LONGEST
from warehouse.market.clock import LAST_INSTANT, RESOLUTIONS
from warehouse.market.market import Fuel
from warehouse.market.metrics import METRICS, PUBLIC, SCALAR
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Basis

Schema = dict[str, Any]
Kind = Schema | str
"""A schema, or the name of one: in `TYPES`, or with a capital letter of the components."""
Member = str | tuple[str, Kind, str]
"""Name, type and meaning, or the name of a member in `SHARED`. A `?` behind the name: it stands where it applies."""


def text(**bounds: Any) -> Schema:
    """A string within bounds of JSON Schema."""
    return {"type": "string", **bounds}


def choice(*words: str) -> Schema:
    """One of a few words."""
    return text(enum=list(words))


def ref(name: str) -> Schema:
    """A schema of the components, by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(item: Kind, **bounds: int) -> Schema:
    """An array."""
    return {"type": "array", "items": schema_of(item), **bounds}


def keyed(value: Kind, keys: Kind | None = None) -> Schema:
    """An object used as a map."""
    names = {"propertyNames": schema_of(keys)} if keys else {}
    return {"type": "object", "additionalProperties": schema_of(value), **names}


def or_null(kind: Kind) -> Schema:
    """A value or null."""
    return {"anyOf": [schema_of(kind), {"type": "null"}]}


def schema_of(kind: Kind) -> Schema:
    """Return the schema of a kind. Raises KeyError."""
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
    "zone": ref("ZoneId"),
    "metric": ref("MetricName"),
    "resolution": choice(*dict.fromkeys([*RESOLUTIONS, *LONGEST])),
}
"""Types that many members have."""
WORDS: dict[str, Schema] = {
    "ZoneId": choice(*ZONES),
    "MetricName": choice(*PUBLIC),
    "FileMetric": choice(*METRICS),
    "WindowMetric": choice(*(metric for metric, of in METRICS.items() if of.in_windows)),
    "RecordMetric": choice(*SCALAR),
    "WindowKind": choice("lowest", "highest"),
}
"""Words that openapi-generator would otherwise name after the path and after the member, twice."""

# fmt: off
SHARED: dict[str, tuple[Kind, str]] = {
    "zone": ("zone", "Zone id."),
    "name": ("text", "Name for people."),
    "tz": ("text", "Civil time where the zone's people live (IANA)."),
    "market_tz": ("text", "The market's own clock (IANA), by which its days run."),
    "currency": (text(pattern="^[A-Z]{3}$"), "ISO 4217 code of the zone's prices."),
    "rank": ("whole", "Place among all of its kind: 1 is the best."),
    "redistributable": (choice("yes", "no", "unclear"), "Whether the terms allow passing the figures on."),
    "withheld": ("flag", "Whether its rows stay out of every answer."),
    "title": ("text", "Title."),
    "metric": ("metric", "Metric of the rows."),
    "market": (text(const="day_ahead"), "`day_ahead` where the auction was asked for; absent for the headline price."),
    "value": ("number", "The value in `unit`. Interchange: + is net import into the zone. Prices may be negative."),
    "unit": ("text", "`MW`, `%`, `gCO2/kWh`, or a currency per MWh such as `EUR/MWh`."),
    "ts": ("instant", "Start of the interval, Unix seconds UTC."),
    "date": (text(format="date"), "The civil day on which a mean's day, week, month or year begins; only there."),
    "time": (text(format="date-time"),
        "`ts` as RFC 3339, in UTC or civil time with its offset; only with `time=`. A timestamp in Parquet and Arrow."),
    "resolution": ("resolution", "Length of the interval."),
    "fuel": ("fuel", "Fuel or energy source."),
    "counterparty": (or_null("text"), "The other side of the border: a zone id, or the name of an area that is none."),
    "link": (or_null("text"), "Id in `/v1/geo/interconnectors`; null where only the border's total is published."),
    "source": ("text", "Code of the source; of rows only where the window mixes several."),
    "sources": (listed("text"), "Codes of the sources of the window's rows; rows name theirs where there are several."),
    "feed": ("text", "Id of the feed."),
    "hub": ("text", "Node, hub or region of a price; empty for other metrics."),
    "basis": (choice(*get_args(Basis)),
        "What says when it was published: `body` (the answer), `name` (of the file), or `fetched`: nothing, so "
        "it is when this service asked."),
    "samples": ("whole", "Rows in the mean."),
    "coverage": ("fraction", "Share of the time that rows cover, 0 to 1."),
    "start": ("instant", "Start, inclusive, Unix seconds."),
    "end": ("instant", "End, exclusive, Unix seconds. Where rows were left out: the `ts` of the first of them."),
    "interval": (choice(*LONGEST), "Of means: UTC hours, civil days, ISO weeks, months or years; else absent."),
    "as_of": ("instant", "Unix seconds: the rows as this service knew them then; at least ten seconds ago."),
    "known_since": ("instant", "Unix seconds since when rows are known, where `as_of` is earlier: no gap is listed."),
    "count": ("whole", "Rows, files or entries that this answer is of."),
    "truncated": ("flag", "Whether rows of the window were left out; `Link: rel=next` goes on exactly there."),
    "cursor_only": ("flag", "Only where `limit` cuts an instant: the cursor in `Link` goes on, or a higher `limit`."),
    "gaps_truncated": ("flag", "Always true, where there are more holes than are listed; else absent."),
    "metrics": (keyed("MetricValue", "metric"), "Newest values by metric; a metric without any row is absent."),
    "generation_mix": ("GenerationMix", "Newest generation by fuel; absent where the zone publishes none."),
    "expected_by": ("instant", "Unix seconds by which a newer value is due, by the feed's own schedule and grace."),
    "updated": ("instant", "Unix seconds when the document was built."),
    "valid_until": ("instant", "Unix seconds. Nothing newer is due before; later answers carry `X-EMDS-Stale: true`."),
    "generated": ("instant", "Unix seconds when the document was built."),
    "rounded": ("flag", "Always true: whole currency units, 100 MW, 10 g. The snapshot has exact figures."),
    "simulated": ("flag", "Whether the figures are simulated, not market data."),
    "sample": ("flag", "Always true, where the answer is a sample; else absent."),
    "attribution": ("text", "Attribution. Show it wherever you show the data."),
    "license": ("text", "Licence under which the data may be passed on."),
    "method": ("text", "Version of the method, which stands at /docs under the same name."),
    "docs": ("text", "Path of the page that describes the method or the service."),
    "mean": ("number", "Duration-weighted mean, in the unit of the values."),
    "min": ("number", "The lowest value, in the unit of the values. May be negative."),
    "max": ("number", "The highest value, in the unit of the values."),
    "p10": ("number", "The value that a tenth of the time lies below, in the unit of the values."),
    "p90": ("number", "The value that nine tenths of the time lie below, in the unit of the values."),
    "median": (or_null("number"), "Median; null without rows."),
    "p95": (or_null("number"), "95th percentile; null without rows."),
    "worst": (or_null("number"), "The largest; null without rows."),
    "vs_horizon_mean_pct": (or_null("number"), "Mean against the horizon's, percent; null unless that is positive."),
    "step": ("whole", "Seconds between two values."),
    "rows": ("whole", "Rows behind these figures."),
    "month": (text(pattern="^[0-9]{4}-[0-9]{2}$"), "UTC month, `YYYY-MM`."),
    "api_key": (text(pattern=KEY_PATTERN), "The key. Shown once: only its SHA-256 is kept."),
    "email": ("text", "The address that the key belongs to."),
    "confirmed": ("flag", "Whether the address was confirmed by the link in the mail."),
    "detail": ("text", "What was wrong, and what is allowed."),
}
# fmt: on
"""Type and meaning of members that several answers have, by name."""


def record(*members: Member, closed: bool = False) -> Schema:
    """An object with these members; `closed`: and no others."""
    properties, required = {}, []
    for member in members:
        name, kind, meaning = (member, *SHARED[member.removesuffix("?")]) if isinstance(member, str) else member
        plain = name.removesuffix("?")
        properties[plain] = {**schema_of(kind), "description": meaning}
        required += [plain] if plain == name else []
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema
