"""Schemas of the geo layers and of the live map."""

from __future__ import annotations

from api.openapi.schemas.parts import (
    FLAG,
    INSTANT,
    NUMBER,
    SAMPLED,
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
from warehouse.zones import ZONES

_FEATURES = record(
    {
        "type": {"type": "string", "const": "FeatureCollection"},
        "features": listed(
            record(
                {
                    "type": {"type": "string", "const": "Feature"},
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

_HEAD = {"generated": INSTANT, "valid_until": INSTANT, "rounded": FLAG, "simulated": {"type": "boolean"}}

_STEPS = {"type": "array", "items": or_null({"type": "integer"})}

_MEANS = record({"start": INSTANT, "step": WHOLE, "values": _STEPS})

_PARTS = or_null(record({"unit": TEXT, "start": INSTANT, "step": WHOLE, "parts": keyed(_STEPS)}))

_FLOW = record(
    {"zone": ZONE, "counterparty": TEXT, "link": or_null(TEXT), "mw": {"type": "integer"}, "ts": INSTANT},
)

GEOGRAPHY: dict[str, Schema] = {
    "Feature": record({"type": {"const": "Feature"}, "id": TEXT, "properties": {"type": "object"}}),
    "OgcDocument": record({"links": listed({"type": "object"})}),
    "OgcConformance": record({"conformsTo": listed(TEXT)}),
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
    "Features": _FEATURES,
}
