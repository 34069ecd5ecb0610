"""Types that fields of several documents share: what Python checks, and what OpenAPI says of them beside.

A field is described by `Meta(description=...)`. The components that `$ref` names here are in `api.openapi.members`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from warehouse.figures.resample import LONGEST
from warehouse.market.clock import LAST_INSTANT, RESOLUTIONS


def _component(name: str) -> Meta:
    return Meta(extra_json_schema={"$ref": f"#/components/schemas/{name}"})


ZoneId = Annotated[str, _component("ZoneId")]
MetricName = Annotated[str, _component("MetricName")]
FileMetric = Annotated[str, _component("FileMetric")]
Resolution = Annotated[str, Meta(extra_json_schema={"enum": [*dict.fromkeys([*RESOLUTIONS, *LONGEST])]})]
Instant = Annotated[int, Meta(ge=0, le=LAST_INSTANT, extra_json_schema={"format": "int64"})]
"""Unix seconds."""
Count = Annotated[int, Meta(ge=0)]
_TEXT = Meta(extra_json_schema={"type": "string"})
Permission = Annotated[Literal["yes", "no", "unclear"], _TEXT]
Basis = Annotated[Literal["published", "estimate"], _TEXT]
