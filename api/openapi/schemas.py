"""What answers look like, as JSON Schema (2020-12): the components of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from api.access.accounts.key_format import KEY_PATTERN
from warehouse.clock import LAST_INSTANT, RESOLUTIONS
from warehouse.market import Fuel, Metric
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
ZONE: Schema = {"type": "string", "enum": list(ZONES)}
METRIC: Schema = {"type": "string", "enum": [m.value for m in Metric if m is not Metric.PRICE_DAY_AHEAD]}
RESOLUTION: Schema = {"type": "string", "enum": list(RESOLUTIONS)}
SAMPLED: Schema = {"const": True, "description": "Present where the answer is a sample."}
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


_MIX = record({"unit": TEXT, "ts": INSTANT, "fuels": keyed(NUMBER, {"enum": list(Fuel)})})
_KEY = {"type": "string", "pattern": KEY_PATTERN}
_QUOTA = {"limit": WHOLE, "window": {"const": "day"}, "resets_at": INSTANT}
_FEATURES = record(
    {
        "type": {"const": "FeatureCollection"},
        "features": listed(
            record(
                {
                    "type": {"const": "Feature"},
                    "id": TEXT,
                    "bbox": {**listed(NUMBER), "minItems": 4, "maxItems": 4},
                    "geometry": record({"type": TEXT, "coordinates": {"type": "array", "items": {}}}),
                    "properties": {"type": "object"},
                },
                "id",
                "bbox",
            )
        ),
        "sample": SAMPLED,
    },
    "sample",
)

_HEAD = {"generated": INSTANT, "valid_until": INSTANT, "rounded": {"const": True}, "simulated": {"type": "boolean"}}
_STEPS = {"type": "array", "items": or_null({"type": "integer"})}
_MEANS = record({"start": INSTANT, "step": WHOLE, "values": _STEPS})
_PARTS = or_null(record({"unit": TEXT, "start": INSTANT, "step": WHOLE, "parts": keyed(_STEPS)}))
_FLOW = record(
    {"zone": ZONE, "counterparty": TEXT, "link": or_null(TEXT), "mw": {"type": "integer"}, "ts": INSTANT},
)
_BLOCK = {
    "start": INSTANT,
    "end": INSTANT,
    "mean": NUMBER,
    "min": NUMBER,
    "max": NUMBER,
    "rank": WHOLE,
    "vs_horizon_mean_pct": or_null(NUMBER),
}
_SPREAD = {"median": or_null(NUMBER), "p95": or_null(NUMBER), "worst": or_null(NUMBER)}

SCHEMAS: dict[str, Schema] = {
    "Live": {"allOf": [ref("Features"), record({**_HEAD, "flows": listed(_FLOW)})]},
    "LiveHours": record({**_HEAD, "step": WHOLE, "zones": keyed({"type": "object"}, {"enum": list(ZONES)})}),
    "LiveZone": record(
        {
            "zone": ZONE,
            **_HEAD,
            "metrics": keyed(record({"unit": TEXT, "hours": _MEANS, "days": _MEANS})),
            "mix": _PARTS,
            "borders": _PARTS,
            **TERMS,
        }
    ),
    "Zone": record(
        {
            "id": ZONE,
            "name": TEXT,
            "source": TEXT,
            "tz": TEXT,
            "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
            **TERMS,
            "market_tz": TEXT,
        }
    ),
    "Zones": record({"zones": listed(ref("Zone")), "sample": SAMPLED}, "sample"),
    "SourceFreshness": record(
        {
            "source": TEXT,
            "zone": ZONE,
            "last_ok": INSTANT,
            "last_error": TEXT,
            "state": STATE,
            "expected_by": or_null(INSTANT),
        }
    ),
    "Publisher": record(
        {
            "source": TEXT,
            "feed": TEXT,
            "month": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
            "complete": FLAG,
            "asked": record({"every_s": WHOLE, "runs": WHOLE, "requests": WHOLE}),
            "failures": record({"total": WHOLE, "by_kind": keyed(WHOLE)}),
            "rows": WHOLE,
            "intervals": or_null(record({"due": WHOLE, "missing": WHOLE, "holes": WHOLE, "longest_hole_s": WHOLE})),
            "late_s": record({"rows": WHOLE, "unwatched": WHOLE, **_SPREAD}),
            "revised": record(
                {
                    "rows": WHOLE,
                    "share": or_null(FRACTION),
                    "withdrawn": WHOLE,
                    "after_s": record(_SPREAD),
                    "by": or_null(listed(record({"metric": TEXT, "unit": TEXT, **_SPREAD}))),
                }
            ),
        }
    ),
    "Publishers": record(
        {
            "as_of": INSTANT,
            "method": {"const": "publishers/1"},
            "docs": TEXT,
            "months": listed(TEXT),
            "count": WHOLE,
            "publishers": listed(ref("Publisher")),
            "sample": SAMPLED,
        },
        "sample",
    ),
    "Status": record({"now": INSTANT, "sources": listed(ref("SourceFreshness")), "sample": SAMPLED}, "sample"),
    "MetricValue": record(
        {
            "value": NUMBER,
            "unit": TEXT,
            "ts": INSTANT,
            "resolution": RESOLUTION,
            "expected_by": INSTANT,
            "source": TEXT,
            "percentile": or_null({"type": "integer", "minimum": 0, "maximum": 100}),
        },
        "expected_by",
        "source",
        "percentile",
    ),
    "GenerationMix": _MIX,
    "Latest": record(
        {
            "zone": ZONE,
            "metrics": keyed(ref("MetricValue"), METRIC),
            **TERMS,
            "updated": INSTANT,
            "valid_until": INSTANT,
            "generation_mix": ref("GenerationMix"),
            "sample": SAMPLED,
        },
        "valid_until",
        "generation_mix",
        "sample",
    ),
    "Snapshot": record(
        {
            "generated": INSTANT,
            "valid_until": INSTANT,
            "zones": keyed(
                record(
                    {
                        "metrics": keyed(ref("MetricValue"), METRIC),
                        "updated": INSTANT,
                        **TERMS,
                        "valid_until": INSTANT,
                        "generation_mix": ref("GenerationMix"),
                    },
                    "valid_until",
                    "generation_mix",
                ),
                ZONE,
            ),
            "sample": SAMPLED,
        },
        "valid_until",
        "sample",
    ),
    "Row": record(
        {
            "fuel": {"type": "string", "enum": list(Fuel)},
            "ts": INSTANT,
            "value": NUMBER,
            "unit": TEXT,
            "resolution": RESOLUTION,
            "counterparty": or_null(TEXT),
            "link": or_null(TEXT),
            "source": TEXT,
            "samples": WHOLE,
            "coverage": FRACTION,
        },
        "fuel",
        "counterparty",
        "link",
        "source",
        "samples",
        "coverage",
        more=False,
    ),
    "Series": record(
        {
            "zone": ZONE,
            "metric": METRIC,
            "start": INSTANT,
            "end": INSTANT,
            "count": {"type": "integer", "minimum": 0, "maximum": 5000},
            **TERMS,
            "data": listed(ref("Row")),
            "truncated": FLAG,
            "sources": listed(TEXT),
            "market": {"const": "day_ahead"},
            "by": {"const": "border"},
            "interval": {"enum": ["1h", "1d"]},
            "as_of": INSTANT,
            "sample": SAMPLED,
        },
        "market",
        "by",
        "interval",
        "as_of",
        "sample",
    ),
    "WindowBlock": record(_BLOCK),
    "Windows": record(
        {
            "zone": ZONE,
            "metric": METRIC,
            "kind": {"enum": ["lowest", "highest"]},
            "hours": NUMBER,
            "within_hours": or_null(NUMBER),
            "available": FLAG,
            "method": TEXT,
            "docs": TEXT,
            **TERMS,
            "reason": {"enum": ["nothing_ahead", "not_known_yet", "horizon_too_short"]},
            "market": {"const": "day_ahead"},
            "unit": TEXT,
            **_BLOCK,
            "blocks": WHOLE,
            "alternatives": listed(ref("WindowBlock")),
            "now": record({"in_best": FLAG, "rank": WHOLE}),
            "horizon": record(
                {
                    "from": INSTANT,
                    "until": INSTANT,
                    "complete": FLAG,
                    "mean": NUMBER,
                    "next_auction_by": or_null(INSTANT),
                },
                "from",
                "until",
                "complete",
                "mean",
            ),
            "valid_until": INSTANT,
            "sample": SAMPLED,
        },
        "reason",
        "market",
        "unit",
        *_BLOCK,
        "blocks",
        "alternatives",
        "now",
        "horizon",
        "valid_until",
        "sample",
    ),
    "SeriesAnswer": {"oneOf": [ref("Series"), ref("SeriesStatistics")]},
    "SeriesStatistics": record(
        {
            "zone": ZONE,
            "metric": METRIC,
            "market": {"const": "day_ahead"},
            "start": INSTANT,
            "end": INSTANT,
            "unit": or_null(TEXT),
            "statistics": or_null(ref("Statistics")),
            "fuels": keyed(ref("Statistics"), {"enum": list(Fuel)}),
            "method": TEXT,
            "docs": TEXT,
            "sources": listed(TEXT),
            **TERMS,
            "sample": SAMPLED,
        },
        "market",
        "statistics",
        "fuels",
        "sample",
    ),
    "Statistics": record(
        {
            "count": WHOLE,
            "coverage": FRACTION,
            **dict.fromkeys(("mean", "std", "min", "max", "p10", "p50", "p90"), NUMBER),
            "min_ts": INSTANT,
            "max_ts": INSTANT,
            "above": ref("TimeBeyond"),
            "below": ref("TimeBeyond"),
        },
        "above",
        "below",
    ),
    "TimeBeyond": record(
        {
            "threshold": NUMBER,
            "hours": NUMBER,
            "intervals": WHOLE,
            "spans": WHOLE,
            "first": listed(record({"start": INSTANT, "end": INSTANT})),
        }
    ),
    "CurrentValue": record({"value": NUMBER, "unit": TEXT, "ts": INSTANT}),
    "ContextBlock": record(
        {
            "percentile": {"type": "integer", "minimum": 0, "maximum": 100},
            "vs_median_pct": or_null(NUMBER),
            "median": NUMBER,
            "min": NUMBER,
            "max": NUMBER,
            "sample_count": WHOLE,
            "window_days_actual": NUMBER,
            "unit": TEXT,
            "vs_median": NUMBER,
            "vs_median_pct_reason": TEXT,
            "percentile_same_hour": or_null({"type": "integer", "minimum": 0, "maximum": 100}),
            "p10": NUMBER,
            "p90": NUMBER,
        },
        "vs_median_pct_reason",
    ),
    "Trend": record(
        {
            "direction": {"enum": ["rising", "falling", "flat"]},
            "change_pct": or_null(NUMBER),
            "from_value": NUMBER,
            "change_pct_reason": TEXT,
        },
        "change_pct_reason",
    ),
    "Brief": record(
        {
            "zone": ZONE,
            "zone_name": TEXT,
            "as_of": INSTANT,
            "current": keyed(ref("CurrentValue"), METRIC),
            "context": keyed(ref("ContextBlock"), METRIC),
            "context_window_requested_days": {"const": 30},
            "trend_24h": keyed(ref("Trend"), METRIC),
            "generation_mix": keyed(NUMBER, {"enum": list(Fuel)}),
            "generation_mix_unit": TEXT,
            "summary": TEXT,
            "coverage_note": TEXT,
            **TERMS,
            "method": TEXT,
            "context_omitted": keyed(TEXT),
            "trend_omitted": keyed(TEXT),
            "valid_until": INSTANT,
            "sample": SAMPLED,
            "summary_parts": keyed(TEXT),
            "summary_figures": {"type": "object"},
            "generation_mix_ts": INSTANT,
            "generation_mix_expected_by": INSTANT,
            "generation_mix_omitted": TEXT,
        },
        "generation_mix",
        "generation_mix_unit",
        "valid_until",
        "sample",
        "summary_parts",
        "summary_figures",
        "generation_mix_ts",
        "generation_mix_expected_by",
        "generation_mix_omitted",
    ),
    "Features": _FEATURES,
    "SignUp": record({"email": {"type": "string", "format": "email", "maxLength": 254}}),
    "Key": record(
        {
            "api_key": _KEY,
            "email": TEXT,
            "quota": record(_QUOTA),
            "docs": TEXT,
            "confirmed": {"const": False},
        },
        "confirmed",
    ),
    "Confirmed": record({"confirmed": {"const": True}, "email": TEXT, "docs": TEXT}),
    "Rotated": record({"api_key": _KEY, "previous_valid_until": INSTANT}),
    "Usage": record({"quota": record({**_QUOTA, "used": WHOLE, "remaining": WHOLE}), "created": INSTANT}),
    "Alive": record({"status": {"const": "ok"}}),
    "Ready": record({"status": {"const": "ready"}, "catalogue": INSTANT}),
    "Catalogue": record(
        {
            "generated": INSTANT,
            "mode": {"enum": ["simulated", "live", "recorded"]},
            "zones": keyed(record({"id": ZONE, "metrics": keyed({"type": "object"})}), ZONE),
            "sources": keyed({"type": "object"}),
            "feeds": keyed({"type": "object"}),
            "endpoints": listed(
                record(
                    {
                        "id": TEXT,
                        "method": TEXT,
                        "path": TEXT,
                        "url": TEXT,
                        "summary": TEXT,
                        "access": {"enum": ["free", "paid", "key", "token"]},
                        "price_usd": TEXT,
                        "parameters": listed(TEXT),
                    },
                    "price_usd",
                )
            ),
            "sample": SAMPLED,
        },
        "sample",
    ),
    "Document": {"type": "object"},
    "Problem": record(
        {
            "type": {"type": "string", "format": "uri"},
            "title": TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": TEXT,
            "instance": {"type": "string", "description": "The request id."},
            "errors": listed(record({"parameter": TEXT, "code": TEXT, "detail": TEXT})),
            "zones": listed(ZONE),
        },
        "errors",
        "zones",
    ),
    "PaymentRequired": record(
        {
            "x402Version": {"const": 1},
            "error": TEXT,
            "accepts": listed({"type": "object"}),
        }
    ),
}
"""By the name that OpenAPI's components give them. Fields that are not required stand only where they apply."""
