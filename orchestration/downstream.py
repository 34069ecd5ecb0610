"""Without a daemon: what lies downstream of the feeds is made where it is missing, and recorded in Dagster's event log.

So that after a first fill no asset is "never materialized", and warehouse.duckdb is there. No late annotations.
"""

import os
from collections.abc import Collection, Iterable

import dagster as dg

from assets import analyst, document_events, payments, runless_events
from assets.documents import geo_layers, publishers
from assets.feeds import raw_events
from assets.geo import GROUP, LAYERS
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from warehouse import clock, layout
from warehouse.bookkeeping import logged
from warehouse.storage import Folder


def record(instance: dg.DagsterInstance | None, pipeline: PipelineContext, reports: Collection[RunReport]) -> None:
    """Records the answers kept and the documents published by these runs, and makes what was never made."""
    if instance is None:
        return
    zones = {zone for report in reports for zone in report.zones}
    with logged("events of documents"):
        for report in reports:
            runless_events.report(instance, raw_events(pipeline.sources[report.feed.split(".")[0]], report))
        runless_events.report(instance, document_events.events(pipeline, zones))
    with logged("events of geo layers"):
        runless_events.report(instance, _layers(instance, pipeline))
    if isinstance(pipeline.storage, Folder):
        with logged(analyst.NAME):
            root = pipeline.storage.root
            if _never(instance, analyst.KEY) or not (root / analyst.NAME).exists():
                runless_events.report(instance, [analyst.materialisation(root)])
    with logged("publishers"):
        key = dg.AssetKey(["measured_publishers"])
        if _never(instance, key):
            known, mode = pipeline.sources, pipeline.mode
            publishers.publish(pipeline.storage, known, pipeline.rights, mode, clock.now())
            runless_events.report(instance, [dg.AssetMaterialization(key)])
    with logged("payments"):
        # Where none are taken, no schedule compares them.
        if not os.environ.get("EMDS_PAY_TO") and _never(instance, payments.KEY):
            runless_events.report(instance, [dg.AssetMaterialization(payments.KEY, metadata={"taken": False})])


def _layers(instance: dg.DagsterInstance, pipeline: PipelineContext) -> Iterable[dg.AssetMaterialization]:
    """The geo layers, which every command publishes where their tables changed."""
    if pipeline.storage.stat(layout.published(layout.GEO_BUILT_FROM)) is None:
        return
    for layer in LAYERS:
        key = dg.AssetKey([GROUP, layer.name])
        if _never(instance, key):
            version = {"dagster/code_version": geo_layers.fingerprint()[:12]}
            yield dg.AssetMaterialization(key, tags=version)


def _never(instance: dg.DagsterInstance, key: dg.AssetKey) -> bool:
    return instance.get_latest_materialization_event(key) is None
