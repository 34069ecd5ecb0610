"""Publish the free, rounded documents of the map: every zone with its newest values, and each zone's recent history.

Values are rounded to whole currency units, 100 MW and 10 g and marked `rounded: true`. Paid paths serve exact values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from assets.documents import flow_layer, geo_layers, map_history
from assets.documents.figures import ZoneFigures
from assets.documents.map_history import rounded
from geo_data.terms import ATTRIBUTION, LICENCE
from warehouse.documents.catalogue_entries import CatalogueZone, PublishedCatalogue
from warehouse.documents.present import Snapshot, SnapshotZone
from warehouse.market.metrics import SCALAR
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.series.reader import Reader
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

Body = dict[str, Any]
_OF_FLOW = ("zone", "counterparty", "link", "mw", "ts")


@dataclass(frozen=True, slots=True)
class ZoneParts:
    """A zone's contribution to the documents. `history` is None if the zone has nothing to show."""

    bands: Mapping[str, str | None]
    flows: list[Body]
    hours: Body
    history: Body | None


def parts(reader: Reader, catalogue: PublishedCatalogue, figures: ZoneFigures, now: int) -> ZoneParts:
    """Return a zone's parts at `now` (Unix seconds). Reads two days of its borders and mix, and its forecasts."""
    zone = figures.zone.id
    bands = {m: f.reading.context.band if f.reading.context else None for m, f in figures.figures.items()}
    borders = map_history.latest_rows(reader, catalogue, zone, Metric.INTERCHANGE, "borders", now)
    flows = map_history.newest_flows(zone, borders, now)
    hours, metrics = map_history.metric_histories(reader, catalogue, figures, now)
    history = None
    if metrics or not figures.empty:
        mix = map_history.latest_rows(reader, catalogue, zone, Metric.MIX, "net", now)
        history = {
            "metrics": metrics,
            "mix": map_history.parts(mix, "fuel", now),
            "borders": map_history.parts(borders, "counterparty", now),
            "wind_solar": map_history.shares_ahead(figures.shares, now),
        }
    return ZoneParts(bands, flows, hours, history)


def _properties(zone: CatalogueZone, member: SnapshotZone, bands: Mapping[str, str | None]) -> Body:
    """Return the flat properties of a zone. `member` is its part of the snapshot. Metrics without a value
    have nulls.
    """
    facts = geo_layers.zone_shapes()[zone.id]["properties"]
    body: Body = {
        "id": zone.id,
        "name": zone.name,
        "country": facts["country"],
        "tz": zone.tz,
        "currency": zone.currency,
        "label_lon": facts["label_lon"],
        "label_lat": facts["label_lat"],
        "note": facts["note"],
    }
    for metric in SCALAR:
        figure = member.metrics.get(metric)
        body |= {
            f"{metric}": figure and rounded(figure.value, figure.unit),
            f"{metric}_unit": figure and figure.unit,
            f"{metric}_ts": figure and figure.ts,
            f"{metric}_expected_by": figure and figure.expected_by,
            f"{metric}_percentile": figure and figure.percentile,
            f"{metric}_band": figure and bands.get(metric),
        }
    body["carbon_basis"] = member.carbon_basis or None
    return body | {"updated": member.updated, "attribution": member.attribution, "license": member.license}


def _collection(head: Mapping[str, Any], zones: Mapping[str, Body], flows: list[Body]) -> bytes:
    """Return the zones at low detail with these properties as GeoJSON, and `flows`: the newest flow of each border."""
    features = [
        {"type": "Feature", "id": zone, "bbox": box, "properties": zones[zone], "geometry": geometry}
        for zone, (box, geometry) in _shapes().items()
    ]
    top = {
        "type": "FeatureCollection",
        "name": "live",
        **head,
        "license": f"Boundaries: {LICENCE['zones']} Figures: the `license` of each feature.",
        "attribution": f"{ATTRIBUTION['zones']} Figures: the `attribution` of each feature.",
        "bbox": [edge(box[side] for box, _ in _shapes().values()) for side, edge in enumerate((min, min, max, max))],
    }
    return orjson.dumps({**top, "flows": flows, "features": features})


@cache
def _shapes() -> dict[str, tuple[list[float], orjson.Fragment]]:
    """Return each zone's bounding box and encoded geometry at low detail. Zones without a map record are not drawn."""
    features = geo_layers.zone_shapes()
    return {
        zone: (features[zone]["bbox"], orjson.Fragment(orjson.dumps(features[zone]["geometry"])))
        for zone in ZONES
        if zone in features
    }


def publish(storage: Storage, catalogue: PublishedCatalogue, zones: Mapping[str, ZoneParts]) -> None:
    """Publish the documents of these zones, and those of all zones, in which the other zones do not change.

    Call this function after the snapshot is published.
    """
    version = artefact.new_version()
    snapshot = artefact.load_as(storage, layout.SNAPSHOT, Snapshot)
    if snapshot is None:
        for name in (layout.LIVE, layout.FLOWS, layout.LIVE_HOURS, *map(layout.live_history, zones)):
            artefact.withdraw(storage, name, version)
        return
    head = {
        "generated": snapshot.generated,
        "valid_until": snapshot.valid_until,
        "rounded": True,
        "simulated": catalogue.simulated,
    }

    flows: list[Body] = []

    def merge(before: Any) -> bytes:
        before = before or {"features": [], "flows": []}
        bands: dict[str, Mapping[str, str | None]] = {
            f["id"]: {str(m): f["properties"].get(f"{m}_band") for m in SCALAR} for f in before["features"]
        } | {zone: own.bands for zone, own in zones.items()}
        bodies = {
            zone: _properties(catalogue.zones[zone], snapshot.zones[zone], bands.get(zone, {})) for zone in _shapes()
        }
        nonlocal flows
        flows = [flow for flow in before["flows"] if flow["zone"] not in zones]
        flows += [flow for own in zones.values() for flow in own.flows]
        return _collection(head, bodies, [{name: flow[name] for name in _OF_FLOW} for flow in flows])

    artefact.update(storage, layout.LIVE, dict, merge)

    def merge_hours(before: Any) -> Body:
        hours = (before or {"zones": {}})["zones"] | {z: own.hours for z, own in zones.items()}
        return {**head, "step": 3600, "zones": {zone: hours[zone] for zone in ZONES if zone in hours}}

    artefact.update(storage, layout.LIVE_HOURS, dict, merge_hours)
    for zone, own in zones.items():
        if own.history is None:
            artefact.withdraw(storage, layout.live_history(zone), version)
            continue
        member = snapshot.zones[zone]
        until = {"valid_until": member.valid_until or snapshot.valid_until}
        terms = {"attribution": member.attribution, "license": member.license}
        body = {"zone": zone, **head, **until, **own.history, **terms}
        artefact.put(storage, layout.live_history(zone), artefact.encode(body), version)
    flow_layer.publish(storage, catalogue, head, flows)
