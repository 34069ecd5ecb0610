"""Define types that fields of documents share: what Python checks, and what OpenAPI describes in addition.

A field is described by `Meta(description=...)`. The components that `$ref` names are in `api.openapi.members`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from warehouse.market.clock import LAST_INSTANT, RESOLUTIONS
from warehouse.market.vocabulary import Fuel


def _component(name: str) -> Meta:
    return Meta(extra_json_schema={"$ref": f"#/components/schemas/{name}"})


TEXT = {"type": "string"}
"""What JSON Schema contains for a `Literal` of words beside the words."""
ZoneId = Annotated[str, _component("ZoneId")]
MetricName = Annotated[str, _component("MetricName")]
FileMetric = Annotated[str, _component("FileMetric")]
Resolution = Annotated[str, Meta(extra_json_schema={"enum": [*RESOLUTIONS]})]
Instant = Annotated[int, Meta(ge=0, le=LAST_INSTANT, extra_json_schema={"format": "int64"})]
"""Unix seconds."""
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Percentile = Annotated[int, Meta(ge=0, le=100)]
FuelName = Annotated[str, Meta(extra_json_schema={"enum": [*Fuel]})]
Permission = Annotated[Literal["yes", "no", "unclear"], Meta(extra_json_schema=TEXT)]
Basis = Annotated[Literal["published", "estimate"], Meta(extra_json_schema=TEXT)]

UNIT = Meta(description="`MW`, `%`, `gCO2/kWh`, or a currency per MWh such as `EUR/MWh`.")
LICENCE = Meta(description="Licence under which the data may be redistributed.")
ATTRIBUTION = Meta(description="Attribution. Show it wherever you show the data.")
EXPECTED_BY = Meta(description="Time by which a newer value is due, Unix seconds, from the feed's schedule and grace.")
