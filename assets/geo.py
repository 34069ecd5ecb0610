"""The geo layers as assets: built from the tables of `geo_data`, checked, then published; weekly.

See `assets.documents.geo_layers` for their content and `geo_data.checks` for their rules. Dagster reads annotations
at run time, so this file has no `from __future__ import annotations`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.documents import geo_layers
from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from geo_data import findings

GROUP = "geo"
Judge = Callable[[], dict[str, list[str]]]

_IDS = {"ids": "Exactly the expected ids, each once."}
_OF_ZONES = {
    f"{check}_{detail}": f"{text} ({detail} detail)"
    for detail in ("high", "low")
    for check, text in {
        "ids": "All 25 zones have a footprint.",
        "validity": "Geometries are valid, on the globe and repeat no vertex.",
        "ring_order": "Exteriors run counter-clockwise, holes clockwise (RFC 7946).",
        "shared_borders": "Neighbours neither overlap nor gape.",
    }.items()
}
_OF_LINES = {
    "lead_somewhere": "Every tie leads from one of our zones to another, or to an area outside that has a name.",
    "end_in_their_zones": "Every tie starts in its zone and ends in the other, or outside all of them.",
}
_OF_PLANTS = {
    "names": "No two plants share a name.",
    "vocabulary": "Zones and fuels are those of the series, capacities 250 MW and above.",
    "in_their_zones_or_explained": "Every plant lies in its zone's footprint, at sea off it, or has a written reason.",
    "none_twice": "No plant is listed twice.",
    "other_lists": "Zones and capacities agree with other lists, and no plant of theirs is missing without a reason.",
    "known_totals": "Totals per zone and fuel agree with the publishers' own within their tolerance.",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as Dagster shows it: description, findings, and the rule behind each check by name."""

    name: str
    text: str
    judge: Judge
    checks: dict[str, str]


LAYERS = (
    Layer(
        "zones",
        "Footprints of the 25 zones at two levels of detail; neighbours share their borders vertex for vertex.",
        findings.zones,
        _IDS | _OF_ZONES,
    ),
    Layer(
        "interconnectors",
        "Ties between zones, or to an area outside; a tie's id is the `link` of its flow rows.",
        findings.interconnectors,
        _IDS | _OF_LINES,
    ),
    Layer(
        "plants",
        "Power plants of 250 MW and above, in the fuel vocabulary of generation and capacity.",
        findings.plants,
        _IDS | _OF_PLANTS,
    ),
)


def geo_assets() -> list[dg.AssetsDefinition]:
    """One asset a layer. A layer that fails a check is not published: the last good one stays."""
    return [_asset(layer) for layer in LAYERS]


def _asset(layer: Layer) -> dg.AssetsDefinition:
    key = dg.AssetKey([GROUP, layer.name])
    specs = [dg.AssetCheckSpec(name, asset=key, description=rule) for name, rule in layer.checks.items()]

    @dg.asset(
        key=key,
        group_name=GROUP,
        description=layer.text,
        owners=[OWNER],
        kinds={"geojson", "parquet"},
        check_specs=specs,
        pool=GROUP,
        code_version=geo_layers.fingerprint()[:12],
        output_required=False,
        metadata={"licence": geo_layers.LICENCE[layer.name], "attribution": geo_layers.ATTRIBUTION[layer.name]},
    )
    def published(warehouse: dg.ResourceParam[PipelineContext]) -> Iterator[Any]:
        findings_by_check = layer.judge()
        for name, faults in findings_by_check.items():
            yield dg.AssetCheckResult(
                asset_key=key, check_name=name, passed=not faults, metadata={"findings": faults[:20]}
            )
        faulty = [name for name, faults in findings_by_check.items() if faults]
        if faulty:
            raise dg.Failure(f"not published: {', '.join(faulty)}", allow_retries=False)
        sizes = geo_layers.publish(warehouse.storage, [layer.name])
        yield dg.MaterializeResult(asset_key=key, metadata={"documents": len(sizes), "bytes": sum(sizes.values())})

    return published
