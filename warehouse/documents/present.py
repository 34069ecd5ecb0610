"""Define latest values, snapshot and brief as typed documents, which the pipeline writes and the API reads.

The values by fuel are not fields of these types: each metric by fuel has a field of its own
(`warehouse.market.metrics.MIXES`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from warehouse.figures.context import WINDOW_DAYS, ContextBlock, Trend
from warehouse.market.clock import LAST_INSTANT
from warehouse.market.field_types import (
    ATTRIBUTION,
    EXPECTED_BY,
    LICENCE,
    UNIT,
    Basis,
    FuelName,
    Instant,
    MetricName,
    Percentile,
    Resolution,
    ZoneId,
)

_VALUE = Meta(description="Value in `unit`. For interchange, positive values are net imports. Prices can be negative.")
_TS = Meta(description="Start of the interval, Unix seconds UTC.")
_RESOLUTION = Meta(description="Length of the interval.")
_SOURCE = Meta(description="Source code.")
_VALID_UNTIL = Meta(
    description="Time until which nothing newer is due, Unix seconds. Later responses carry `X-EMDS-Stale: true`."
)
_UPDATED = Meta(description="Time when the document was built, Unix seconds.")
_METRICS = Meta(description="Newest values by metric. Metrics without rows are absent.")
_CARBON_BASIS = Meta(description="Whether `carbon` is published by an operator or estimated by this service.")
_CARBON_OMITTED = Meta(
    description="Reason why there is no `carbon`: the newest complete interval is refused (`fuel_missing`, "
    "`other_share`, `wide`, `refused`; see /docs/carbon), or `no_rows`, `withheld_by_terms`, `unreadable`."
)


class CurrentValue(Struct, frozen=True):
    """The newest value of a metric whose interval has started."""

    value: Annotated[float, _VALUE]
    unit: Annotated[str, UNIT]
    ts: Annotated[Instant, _TS]
    resolution: Annotated[Resolution, _RESOLUTION]
    source: Annotated[str, _SOURCE]
    expected_by: Annotated[Instant, EXPECTED_BY]


class MetricValue(Struct, frozen=True):
    """The newest value of a metric with its rank, which makes zones with different currencies comparable."""

    value: Annotated[float, _VALUE]
    unit: Annotated[str, UNIT]
    ts: Annotated[Instant, _TS]
    resolution: Annotated[Resolution, _RESOLUTION]
    source: Annotated[str, _SOURCE]
    expected_by: Annotated[Instant, EXPECTED_BY]
    percentile: Annotated[
        Percentile | None,
        Meta(description="Percentile within the zone's last 30 days; null if there is too little history."),
    ]


class GenerationMix(Struct, frozen=True):
    """The newest interval of a metric by fuel."""

    unit: Annotated[str, UNIT]
    ts: Annotated[Instant, _TS]
    fuels: Annotated[
        Mapping[FuelName, float], Meta(description="Value by fuel, in `unit`. Fuels that are not reported are absent.")
    ]
    resolution: Annotated[Resolution, _RESOLUTION]
    source: Annotated[str, _SOURCE]
    expected_by: Annotated[Instant, EXPECTED_BY]


class Latest(Struct, frozen=True, kw_only=True):
    """The newest values of a zone."""

    zone: Annotated[ZoneId, Meta(description="Zone ID.")]
    metrics: Annotated[Mapping[MetricName, MetricValue], _METRICS]
    carbon_basis: Annotated[Basis | UnsetType, _CARBON_BASIS] = UNSET
    carbon_omitted: Annotated[str | UnsetType, _CARBON_OMITTED] = UNSET
    attribution: Annotated[str, ATTRIBUTION]
    license: Annotated[str, LICENCE]
    updated: Annotated[Instant, _UPDATED]
    valid_until: Annotated[Instant, _VALID_UNTIL]


class SnapshotZone(Struct, frozen=True, kw_only=True):
    """The newest values of a zone in the snapshot. A zone without values has empty `metrics`."""

    metrics: Annotated[Mapping[MetricName, MetricValue], _METRICS]
    carbon_basis: Annotated[Basis | UnsetType, _CARBON_BASIS] = UNSET
    carbon_omitted: Annotated[str | UnsetType, _CARBON_OMITTED] = UNSET
    attribution: Annotated[str, ATTRIBUTION]
    license: Annotated[str, LICENCE]
    updated: Annotated[Instant, _UPDATED]
    valid_until: Annotated[Instant | UnsetType, _VALID_UNTIL] = UNSET


class Snapshot(Struct, frozen=True):
    """The newest values of all zones."""

    generated: Annotated[Instant, _UPDATED]
    valid_until: Annotated[Instant, _VALID_UNTIL]
    zones: Annotated[Mapping[ZoneId, SnapshotZone], Meta(description="All zones by ID.")]


class Brief(Struct, frozen=True, kw_only=True):
    """The current values of a zone, ranked within its past 30 days, with the change over 24 hours and a text."""

    zone: Annotated[ZoneId, Meta(description="Zone ID.")]
    zone_name: Annotated[str, Meta(description="Name of the zone.")]
    as_of: Annotated[
        Instant, Meta(description="Publication time, Unix seconds. Ranks use the rows known at this time.")
    ]
    current: Annotated[
        Mapping[MetricName, CurrentValue],
        Meta(description="For each metric, the newest value whose interval has started."),
    ]
    context: Annotated[
        Mapping[MetricName, ContextBlock],
        Meta(description="Rank within the previous 30 days. Metrics without one are in `context_omitted`."),
    ]
    context_omitted: Annotated[
        Mapping[str, str],
        Meta(
            description="Reason why a metric has no context: `too_few_samples`, `coverage_below_50_pct`, `no_rows`, "
            "`withheld_by_terms`; `sample` in a sample."
        ),
    ]
    context_window_requested_days: Annotated[
        int, Meta(description="Length of the window in days.", extra_json_schema={"const": WINDOW_DAYS})
    ]
    trend_24h: Annotated[Mapping[MetricName, Trend], Meta(description="Change by metric from 24 hours earlier.")]
    trend_omitted: Annotated[
        Mapping[str, str],
        Meta(description="Reason why a metric has no trend, such as `no_value_24h_ago`."),
    ]
    carbon_basis: Annotated[Basis | UnsetType, _CARBON_BASIS] = UNSET
    carbon_omitted: Annotated[str | UnsetType, _CARBON_OMITTED] = UNSET
    headline: Annotated[
        str,
        Meta(
            description="Headline sentence: price first, with its rank for the same hour; at most three values, each "
            "in `summary_figures.headline`."
        ),
    ]
    summary: Annotated[
        str, Meta(description="The brief in plain English. Every number in it is also a field of this document.")
    ]
    summary_parts: Annotated[Mapping[str, str], Meta(description="The sentences of the summary by metric.")]
    summary_figures: Annotated[Mapping[str, Any], Meta(description="The numbers of the summary as printed, by metric.")]
    coverage_note: Annotated[str, Meta(description="Data coverage of the 30 days, and what is omitted and why.")]
    method: Annotated[str, Meta(description="Version of the method. It is documented at /docs under the same name.")]
    docs: Annotated[str, Meta(description="Path of the documentation page.")]
    attribution: Annotated[str, ATTRIBUTION]
    license: Annotated[str, LICENCE]
    valid_until: Annotated[Instant, _VALID_UNTIL]


class Expiry(Struct, frozen=True):
    """When a document is overdue: the only field that is read of a document that is served unchanged."""

    valid_until: Instant = LAST_INSTANT
