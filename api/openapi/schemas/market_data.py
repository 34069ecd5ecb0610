"""Schemas of zones, status, latest values, the snapshot and rows."""

from __future__ import annotations

from api.openapi.schemas.parts import (
    FLAG,
    FRACTION,
    INSTANT,
    METRIC,
    NUMBER,
    RESOLUTION,
    SAMPLED,
    STATE,
    TERMS,
    TEXT,
    WHOLE,
    ZONE,
    Schema,
    keyed,
    listed,
    or_null,
    record,
    ref,
)
from api.series.gaps import MOST as MOST_GAPS
from warehouse.market import Fuel

_MIX = record(
    {
        "unit": TEXT,
        "ts": INSTANT,
        "fuels": keyed(NUMBER, {"enum": list(Fuel)}),
        "resolution": RESOLUTION,
        "source": TEXT,
        "expected_by": INSTANT,
    },
    "resolution",
    "source",
    "expected_by",
)

_ROW = record(
    {
        "fuel": {"type": "string", "enum": list(Fuel)},
        "ts": INSTANT,
        "time": {"type": "string", "format": "date-time"},
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
    "time",
    "counterparty",
    "link",
    "source",
    "samples",
    "coverage",
    more=False,
)

_SERIES = record(
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
        "gaps": {**listed(ref("Gap")), "maxItems": MOST_GAPS},
        "gaps_truncated": {"type": "boolean"},
        "market": {"type": "string", "const": "day_ahead"},
        "by": {"type": "string", "const": "border"},
        "interval": {"type": "string", "enum": ["1h", "1d"]},
        "as_of": INSTANT,
        "sample": SAMPLED,
    },
    "gaps_truncated",
    "market",
    "by",
    "interval",
    "as_of",
    "sample",
)

MARKET_DATA: dict[str, Schema] = {
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
    "Row": _ROW,
    "Gap": record({"start": INSTANT, "end": INSTANT}),
    "Series": _SERIES,
    "RowOfZone": {**_ROW, "properties": {"zone": ZONE, **_ROW["properties"]}, "required": ["zone", *_ROW["required"]]},
    "GapOfZone": record({"zone": ZONE, "start": INSTANT, "end": INSTANT}),
    "SeriesOfZones": record(
        {
            "zones": {**listed(ZONE), "minItems": 1},
            **{
                name: part
                for name, part in _SERIES["properties"].items()
                if name not in ("zone", *TERMS, "data", "gaps")
            },
            "attribution": keyed(TEXT, ZONE),
            "license": keyed(TEXT, ZONE),
            "data": listed(ref("RowOfZone")),
            "gaps": {**listed(ref("GapOfZone")), "maxItems": MOST_GAPS},
        },
        *(name for name in _SERIES["properties"] if name not in _SERIES["required"]),
    ),
    "SeriesAnswer": {"oneOf": [ref("Series"), ref("SeriesStatistics")]},
}
