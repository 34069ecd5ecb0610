"""What a run publishes after its new rows: the catalogue, and the documents of the zones that it touched."""

from __future__ import annotations

from assets.documents import geo_layers
from assets.documents.publish import publish
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from warehouse import catalogue, clock


def refresh(pipeline: PipelineContext, report: RunReport) -> None:
    """Publishes the catalogue, and latest, brief and snapshot where a zone's rows changed."""
    catalogue.publish(
        pipeline.storage, pipeline.sources, pipeline.mode, pipeline.rights, pipeline.configured, clock.now()
    )
    if report.zones:
        publish(pipeline.storage, zones=report.zones)


def refresh_all(pipeline: PipelineContext) -> None:
    """Publishes everything, since a day-ahead hour turns without any new row; geo layers where their tables changed."""
    catalogue.publish(
        pipeline.storage, pipeline.sources, pipeline.mode, pipeline.rights, pipeline.configured, clock.now()
    )
    publish(pipeline.storage)
    geo_layers.ensure(pipeline.storage)
