"""What schemas are made of: types, members that many answers share, and `record`, which puts members together."""

from __future__ import annotations

from typing import Any

from api.access.keys import KEY_PATTERN
from warehouse.figures.resample import LONGEST
from warehouse.market.clock import LAST_INSTANT, RESOLUTIONS
from warehouse.market.market import Fuel
from warehouse.market.metrics import METRICS, PUBLIC, SCALAR
from warehouse.market.zones import ZONES

Schema = dict[str, Any]
Member = str | tuple[str, Schema, str]
"""Name, type and meaning, or the name of a member in `SHARED`. A `?` behind the name: it stands where it applies."""


def text(**bounds: Any) -> Schema:
    """A string within bounds of JSON Schema."""
    return {"type": "string", **bounds}


def choice(*words: str) -> Schema:
    """One of a few words."""
    return text(enum=list(words))


def constant(word: str) -> Schema:
    """Always the same word."""
    return text(const=word)


def listed(item: Schema, **bounds: int) -> Schema:
    """An array."""
    return {"type": "array", "items": item, **bounds}


def keyed(value: Schema, keys: Schema | None = None) -> Schema:
    """An object used as a map."""
    return {"type": "object", "additionalProperties": value, **({"propertyNames": keys} if keys else {})}


def ref(name: str) -> Schema:
    """A schema of the components, by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Schema) -> Schema:
    """A value or null."""
    return {"anyOf": [schema, {"type": "null"}]}


TEXT = text()
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
INSTANT: Schema = {
    "type": "integer",
    "format": "int64",
    "minimum": 0,
    "maximum": LAST_INSTANT,
    "description": "Unix seconds.",
}
FRACTION: Schema = {"type": "number", "minimum": 0, "maximum": 1}
PERCENTILE: Schema = {"type": "integer", "minimum": 0, "maximum": 100}
MONTH = text(pattern="^[0-9]{4}-[0-9]{2}$")
FUEL = choice(*Fuel)
FUELS: Schema = {"enum": list(Fuel)}
ZONE, METRIC = ref("ZoneId"), ref("MetricName")
RESOLUTION = choice(*dict.fromkeys([*RESOLUTIONS, *LONGEST]))
STATE = choice("ok", "late", "down", "unknown")
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
SHARED: dict[str, tuple[Schema, str]] = {
    "zone": (ZONE, "Zone id."),
    "name": (TEXT, "Name for people."),
    "tz": (TEXT, "Civil time where the zone's people live (IANA)."),
    "market_tz": (TEXT, "The market's own clock (IANA), by which its days run."),
    "currency": (text(pattern="^[A-Z]{3}$"), "ISO 4217 code of the zone's prices."),
    "rank": (WHOLE, "1 is served first."),
    "redistributable": (choice("yes", "no", "unclear"), "Whether the terms allow passing the figures on."),
    "withheld": (FLAG, "Whether its rows stay out of every answer."),
    "title": (TEXT, "Title."),
    "metric": (METRIC, "Metric of the rows."),
    "market": (constant("day_ahead"), "`day_ahead` where the auction was asked for; absent for the headline price."),
    "value": (NUMBER, "The value in `unit`. Interchange: + is net import into the zone. Prices may be negative."),
    "unit": (TEXT, "`MW`, `%`, `gCO2/kWh`, or a currency per MWh such as `EUR/MWh`."),
    "ts": (INSTANT, "Start of the interval, Unix seconds UTC."),
    "date": (text(format="date"), "The civil day on which a mean's day, week, month or year begins; only there."),
    "time": (text(format="date-time"),
        "`ts` as RFC 3339: in UTC, or in the zone's civil time with its offset; only with `time=`. A timestamp in "
        "Parquet and Arrow."),
    "resolution": (RESOLUTION, "Length of the interval."),
    "fuel": (FUEL, "Fuel or energy source."),
    "counterparty": (or_null(TEXT),
        "The other side of the border: a zone id where it is one of ours, else the area's name."),
    "link": (or_null(TEXT),
        "The tie's id, as `/v1/geo/interconnectors` has it; null where only the border's total is published."),
    "source": (TEXT, "Code of the source."),
    "sources": (listed(TEXT), "Codes of the sources of the window's rows; rows name theirs where there are several."),
    "samples": (WHOLE, "Rows in the mean."),
    "coverage": (FRACTION, "Share of the time that rows cover, 0 to 1."),
    "start": (INSTANT, "Start of the window, inclusive, Unix seconds."),
    "end": (INSTANT,
        "End of the window, exclusive, Unix seconds. Where rows were left out: the `ts` of the first of them."),
    "interval": (choice(*LONGEST),
        "Averaging interval: UTC hours (`1h`), civil days (`1d`), ISO weeks (`1w`), months (`1mo`) or years (`1y`); "
        "absent for stored rows."),
    "as_of": (INSTANT, "Unix seconds: the rows as this service knew them then; at least ten seconds ago."),
    "known_since": (INSTANT, "Unix seconds from which on rows of the window were known; only where `as_of` is earlier, "
        "and no gap is listed then."),
    "count": ({"type": "integer", "minimum": 0, "maximum": 5000}, "Rows in this answer."),
    "truncated": (FLAG, "Whether rows of the window were left out; `Link: rel=next` goes on exactly there."),
    "cursor_only": (FLAG, "Always true where `limit` is below the rows of one instant: only the cursor in `Link` goes "
        "on, or a higher `limit`; else absent."),
    "gaps_truncated": (FLAG, "Always true, where there are more holes than are listed; else absent."),
    "metrics": (keyed(ref("MetricValue"), METRIC), "Newest values by metric; a metric without any row is absent."),
    "generation_mix": (ref("GenerationMix"), "Newest generation by fuel; absent where the zone publishes none."),
    "expected_by": (INSTANT, "Unix seconds by which a newer value is due, by the feed's own schedule and grace."),
    "updated": (INSTANT, "Unix seconds when the document was built."),
    "valid_until": (INSTANT,
        "Unix seconds until which nothing newer is due; later answers carry `X-EMDS-Stale: true`."),
    "generated": (INSTANT, "Unix seconds when the document was built."),
    "rounded": (FLAG, "Always true: whole currency units, 100 MW, 10 g. The snapshot has exact figures."),
    "simulated": (FLAG, "Whether the figures are simulated, not market data."),
    "sample": (FLAG, "Always true, where the answer is a sample; else absent."),
    "attribution": (TEXT, "Attribution. Show it wherever you show the data."),
    "license": (TEXT, "Licence under which the data may be passed on."),
    "method": (TEXT, "Version of the method."),
    "docs": (TEXT, "Path of the page that describes the method or the service."),
    "mean": (NUMBER, "Duration-weighted mean, in the unit of the values."),
    "min": (NUMBER, "The lowest value, in the unit of the values. May be negative."),
    "max": (NUMBER, "The highest value, in the unit of the values."),
    "median": (or_null(NUMBER), "Median; null without rows."),
    "p95": (or_null(NUMBER), "95th percentile; null without rows."),
    "worst": (or_null(NUMBER), "The largest; null without rows."),
    "vs_horizon_mean_pct": (or_null(NUMBER),
        "Mean against the mean of the horizon, percent; null where that is not above zero."),
    "step": (WHOLE, "Seconds between two values."),
    "rows": (WHOLE, "Rows behind these figures."),
    "month": (MONTH, "UTC month, `YYYY-MM`."),
    "properties": (OBJECT, "Flat properties; /docs names those of each layer."),
    "api_key": (text(pattern=KEY_PATTERN), "The key. Shown once: only its SHA-256 is kept."),
    "email": (TEXT, "The address that the key belongs to."),
    "confirmed": (FLAG, "Whether the address was confirmed by the link in the mail."),
    "detail": (TEXT, "What was wrong, and what is allowed."),
}
# fmt: on
"""Type and meaning of members that several answers have, by name."""


def record(*members: Member, closed: bool = False) -> Schema:
    """An object with these members; `closed`: and no others."""
    properties, required = {}, []
    for member in members:
        name, schema, meaning = (member, *SHARED[member.removesuffix("?")]) if isinstance(member, str) else member
        plain = name.removesuffix("?")
        properties[plain] = {**schema, "description": meaning}
        required += [plain] if plain == name else []
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema
