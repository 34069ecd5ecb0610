"""The parts that schemas of answers are made of: plain types, and objects, arrays and maps of them."""

from __future__ import annotations

from typing import Any

from warehouse.clock import LAST_INSTANT, RESOLUTIONS
from warehouse.market import Metric
from warehouse.zones import ZONES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
INSTANT: Schema = {
    "type": "integer",
    "format": "int64",
    "minimum": 0,
    "maximum": LAST_INSTANT,
    "description": "Unix seconds.",
}
FRACTION: Schema = {"type": "number", "minimum": 0, "maximum": 1}
ZONE: Schema = {"$ref": "#/components/schemas/ZoneId"}
METRIC: Schema = {"$ref": "#/components/schemas/MetricName"}
WORDS: dict[str, Schema] = {
    "ZoneId": {"type": "string", "enum": list(ZONES)},
    "MetricName": {"type": "string", "enum": [m.value for m in Metric if m is not Metric.PRICE_DAY_AHEAD]},
    "FileMetric": {"type": "string", "enum": [m.value for m in Metric]},
    "WindowMetric": {"type": "string", "enum": ["price", "carbon_intensity"]},
    "WindowKind": {"type": "string", "enum": ["lowest", "highest"]},
}
"""Words of members, named, for openapi-generator calls those of `Brief.zone` as it does those of the path `brief`."""
RESOLUTION: Schema = {"type": "string", "enum": list(RESOLUTIONS)}
SAMPLED: Schema = {"type": "boolean"}
STATE: Schema = {"type": "string", "enum": ["ok", "late", "down", "unknown"]}
TERMS: Schema = {"attribution": TEXT, "license": TEXT}


def record(fields: Schema, *optional: str, more: bool = True) -> Schema:
    """An object whose fields are all required but for those named."""
    schema: Schema = {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
    }
    return schema if more else {**schema, "additionalProperties": False}


def listed(item: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": item}


def keyed(value: Schema, keys: Schema | None = None) -> Schema:
    """An object used as a map."""
    schema: Schema = {"type": "object", "additionalProperties": value}
    return schema if keys is None else {**schema, "propertyNames": keys}


def ref(name: str) -> Schema:
    """A named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Schema) -> Schema:
    """A value or null."""
    return {"anyOf": [schema, {"type": "null"}]}
