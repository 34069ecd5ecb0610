"""Define the assets of the published documents: those per zone, those of all zones, the publishers and the geo layers.

Every run of a feed publishes the affected zones. A schedule also publishes all zones every quarter hour, since a
day-ahead hour starts without new rows, and records all documents. No `from __future__ import annotations`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.documents import geo_layers, publishers
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from assets.partitions import asset_key, made_every
from assets.series_assets import OWNER
from geo_data.terms import ATTRIBUTION, LICENCE
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.feeds import Source
from warehouse.market.zones import ZONES
from warehouse.store import layout

PREFIX, GROUP = "published", "documents"
CATALOGUE, SNAPSHOT = dg.AssetKey([PREFIX, "catalogue"]), dg.AssetKey([PREFIX, "snapshot"])
LIVE = dg.AssetKey(["geo", "live"])
MEASURED = dg.AssetKey([PREFIX, "publishers"])
OF_ALL_ZONES = {
    CATALOGUE: (layout.CATALOGUE, "All zones and feeds with their licences, available ranges and freshness."),
    SNAPSHOT: (layout.SNAPSHOT, "The latest values of all zones in one document."),
    LIVE: (layout.LIVE, "The zones with their latest values, rounded, for the map."),
}
BY_ZONE = {
    "latest": "The newest value of each metric of the zone whose interval has started.",
    "brief": "The zone's current values ranked within their past 30 days, with the 24-hour trend and a text summary.",
}
ZONE_PARTITIONS = dg.StaticPartitionsDefinition(list(ZONES))
FAILED = "some documents are not published"
GEO, INTACT = "geo", "intact"
LAYERS = {
    "zones": "Footprints of the zones at two levels of detail. Neighbours share the vertices of their borders.",
    "interconnectors": "Interconnectors between zones or with an outside area; flow rows name one by its ID.",
    "plants": "Power plants of 250 MW and above, with the same fuel names as generation and capacity.",
}


def document_assets(sources: Mapping[str, Source]) -> list[dg.AssetsDefinition]:
    """Return the assets: per zone, downstream of all feeds; of all zones, downstream of these; and `/v1/publishers`."""
    return [_by_zone(sources), _of_all_zones(), _publishers(sources)]


def _spec(
    key: dg.AssetKey, deps: Sequence[dg.AssetKey], text: str, partitions: dg.PartitionsDefinition | None = None
) -> dg.AssetSpec:
    """Describe a document that depends on every partition of its inputs."""
    return dg.AssetSpec(
        key,
        deps=[dg.AssetDep(dep, partition_mapping=dg.AllPartitionMapping()) for dep in deps],
        description=text,
        freshness_policy=made_every(15),
        group_name=GROUP,
        owners=[OWNER],
        kinds={"json"},
        partitions_def=partitions,
    )


def _by_zone(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    feeds = [asset_key(feed) for source in sources.values() for feed in source.feeds]
    specs = [_spec(dg.AssetKey([PREFIX, name]), feeds, text, ZONE_PARTITIONS) for name, text in BY_ZONE.items()]

    @dg.multi_asset(name="publish_zones", specs=specs, pool="documents", backfill_policy=dg.BackfillPolicy.single_run())
    def publish_zones(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.MaterializeResult[None]]:
        failures = refresh_all(warehouse)
        for event in events(warehouse, context.partition_keys):
            context.log_event(event)
        if failures:
            raise dg.Failure(f"{FAILED}: {'; '.join(failures[:5])}", allow_retries=False)
        yield from ()

    return publish_zones


def _of_all_zones() -> dg.AssetsDefinition:
    latest = dg.AssetKey([PREFIX, "latest"])
    specs = [_spec(key, [SNAPSHOT if key == LIVE else latest], text) for key, (_, text) in OF_ALL_ZONES.items()]

    @dg.multi_asset(name="publish_all", specs=specs, pool="documents")
    def publish_all(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.MaterializeResult[None]]:
        failures = refresh_all(warehouse)
        for event in events(warehouse, ZONES):
            if event.asset_key not in OF_ALL_ZONES:
                context.log_event(event)
        for key, (name, _) in OF_ALL_ZONES.items():
            yield dg.MaterializeResult(asset_key=key, metadata=figures(warehouse, name))
        if failures:
            raise dg.Failure(f"{FAILED}: {'; '.join(failures[:5])}", allow_retries=False)

    return publish_all


def events(pipeline: PipelineContext, zones: Collection[str]) -> Iterator[dg.AssetMaterialization]:
    """Yield the events of the published documents of these zones and of all zones together."""
    for zone in sorted(zones):
        for name, document in (("latest", layout.latest(zone)), ("brief", layout.brief(zone))):
            if standing := figures(pipeline, document):
                yield dg.AssetMaterialization(dg.AssetKey([PREFIX, name]), metadata=standing, partition=zone)
    for key, (document, _) in OF_ALL_ZONES.items():
        if standing := figures(pipeline, document):
            yield dg.AssetMaterialization(key, metadata=standing)


def figures(pipeline: PipelineContext, document: str) -> dict[str, Any]:
    """Return the size and version of a published document; empty if the document does not exist or was withdrawn."""
    standing = pipeline.storage.stat(layout.published(document))
    if standing is None or not standing.size:
        return {}
    return {"bytes": standing.size, "published_at": dg.MetadataValue.timestamp(standing.version / 1e9)}


def _publishers(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    @dg.asset(
        key=MEASURED,
        group_name=GROUP,
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"json"},
        pool="documents",
        description="Publisher reliability by feed and month: delays, revisions, gaps and failures by type.",
    )
    def measured(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext]
    ) -> dg.MaterializeResult[None]:
        document = publishers.publish(
            warehouse.storage, warehouse.sources, warehouse.rights, warehouse.mode, clock.now()
        )
        feeds = {entry["feed"] for entry in document["publishers"]}
        return dg.MaterializeResult(metadata={"months": len(document["months"]), "feeds": len(feeds)})

    return measured


def geo_assets() -> list[dg.AssetsDefinition]:
    """Return one asset per layer. A layer with a damaged file is not published, and the last good version stays."""
    return [_layer(layer, description) for layer, description in LAYERS.items()]


def _layer(layer: str, description: str) -> dg.AssetsDefinition:
    key = dg.AssetKey([GEO, layer])
    check = dg.AssetCheckSpec(INTACT, asset=key, description="Every file matches the SHA-256 in this release.")

    @dg.asset(
        key=key,
        group_name=GROUP,
        description=description,
        owners=[OWNER],
        kinds={"geojson", "parquet"},
        check_specs=[check],
        pool=GEO,
        code_version=geo_layers.version(layer),
        output_required=False,
        metadata={"licence": LICENCE[layer], "attribution": ATTRIBUTION[layer]},
    )
    def published(warehouse: dg.ResourceParam[PipelineContext]) -> Iterator[Any]:
        try:
            sizes = geo_layers.publish(warehouse.storage, [layer])
        except DamagedFile as error:
            yield dg.AssetCheckResult(asset_key=key, check_name=INTACT, passed=False, metadata={"error": str(error)})
            raise dg.Failure(f"not published: {error}", allow_retries=False) from None
        yield dg.AssetCheckResult(asset_key=key, check_name=INTACT, passed=True)
        yield dg.MaterializeResult(asset_key=key, metadata={"documents": len(sizes), "bytes": sum(sizes.values())})

    return published
