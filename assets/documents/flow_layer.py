"""Publish the interconnector lines with their newest flow as GeoJSON. Lines run with the flow, rounded to 100 MW."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from assets.documents.geo_layers import lines
from geo_data.terms import ATTRIBUTION, LICENCE
from warehouse.documents.catalogue_entries import PublishedCatalogue
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

Body = dict[str, Any]
_FACTS = ("id", "name", "type", "capacity_mw", "status")


def publish(storage: Storage, catalogue: PublishedCatalogue, head: Mapping[str, Any], flows: Iterable[Body]) -> None:
    """Publish the lines with the newest of these flows: `zone`, `counterparty`, `link`, `mw` (+ = into the zone), `ts`.

    `source` is the code of a flow's source. A flow without a source keeps its published source.
    """
    known = [*flows]

    def merge(before: Any) -> bytes:
        former = {feature["id"]: feature["properties"] for feature in (before or {"features": []})["features"]}
        features = [_feature(line, known, former.get(line["id"], {}), catalogue) for line in lines()]
        top = {
            "type": "FeatureCollection",
            "name": "flows",
            **head,
            "license": f"Lines: {LICENCE['interconnectors']} Flows: the `license` of each feature.",
            "attribution": f"{ATTRIBUTION['interconnectors']} Flows: the `attribution` of each feature.",
            "bbox": _extent(features),
        }
        return orjson.dumps({**top, "features": features})

    artefact.update(storage, layout.FLOWS, dict, merge)


def _feature(
    line: Mapping[str, Any], flows: list[Body], former: Mapping[str, Any], catalogue: PublishedCatalogue
) -> Body:
    facts = line["properties"]
    start, end = facts["from"], facts["to"] or facts["neighbour"]
    own = [flow for flow in flows if flow["link"] == line["id"]]
    of_border = [
        flow for flow in flows if flow["link"] is None and {flow["zone"], flow["counterparty"]} == {start, end}
    ]
    before = former.get("mw_ts"), former.get("mw" if own else "border_mw")

    def rank(flow: Body) -> tuple[int, bool, bool]:
        return flow["ts"], flow.get("source") is not None, (flow["ts"], abs(flow["mw"])) == before

    newest = max(own or of_border, key=rank, default=None)
    mw = None if newest is None else newest["mw"] if newest["zone"] == end else -newest["mw"]
    is_reversed = mw is not None and mw < 0
    if is_reversed:
        start, end = end, start
    size = None if mw is None else abs(mw)
    source = None if newest is None else newest.get("source")
    if newest is not None and source is None and (newest["ts"], size) == before:
        source = former.get("source")
    terms = catalogue.sources.get(source or "")
    coordinates = line["geometry"]["coordinates"]
    properties = {
        **{name: facts[name] for name in _FACTS},
        "from": start,
        "to": end,
        "mw": size if own else None,
        "mw_ts": None if newest is None else newest["ts"],
        "border_mw": None if own else size,
        "source": source,
        "license": terms and terms.license,
        "attribution": terms and terms.attribution,
    }
    geometry = {"type": "LineString", "coordinates": coordinates[::-1] if is_reversed else coordinates}
    return {"type": "Feature", "id": line["id"], "bbox": line["bbox"], "properties": properties, "geometry": geometry}


def _extent(features: list[Body]) -> list[float]:
    boxes = [feature["bbox"] for feature in features]
    return [edge(box[side] for box in boxes) for side, edge in enumerate((min, min, max, max))]
