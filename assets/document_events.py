"""Events of the published documents, as they stand: what a run that publishes reports. No late annotations."""

from collections.abc import Collection, Iterator
from typing import Any

import dagster as dg

from assets.ingest.context import PipelineContext
from warehouse.store import layout

PREFIX, GROUP = "published", "documents"
CATALOGUE, SNAPSHOT = dg.AssetKey([PREFIX, "catalogue"]), dg.AssetKey([PREFIX, "snapshot"])
LIVE = dg.AssetKey(["geo", "live"])
OF_ALL_ZONES = {
    CATALOGUE: (layout.CATALOGUE, "What is held, whose it is, and how fresh: zones, feeds, licences, spans."),
    SNAPSHOT: (layout.SNAPSHOT, "All zones' latest values in one document."),
    LIVE: (layout.LIVE, "The zones with their latest values, rounded, for the map."),
}


def events(pipeline: PipelineContext, zones: Collection[str]) -> Iterator[dg.AssetMaterialization]:
    """The events of the documents of these zones, and of those of all zones, as they stand published now."""
    for zone in sorted(zones):
        for name, document in (("latest", layout.latest(zone)), ("brief", layout.brief(zone))):
            if standing := figures(pipeline, document):
                yield dg.AssetMaterialization(dg.AssetKey([PREFIX, name]), metadata=standing, partition=zone)
    for key, (document, _) in OF_ALL_ZONES.items():
        if standing := figures(pipeline, document):
            yield dg.AssetMaterialization(key, metadata=standing)


def figures(pipeline: PipelineContext, document: str) -> dict[str, Any]:
    """Size and version of a published document; empty where there is none, or it was withdrawn."""
    standing = pipeline.storage.stat(layout.published(document))
    if standing is None or not standing.size:
        return {}
    return {"bytes": standing.size, "published_at": dg.MetadataValue.timestamp(standing.version / 1e9)}
