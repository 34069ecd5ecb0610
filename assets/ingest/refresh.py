"""What follows from a run's new rows: the catalogue and the documents of the zones that it touched, published in that same run."""

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
    """Publishes everything: a day-ahead hour turns without any new row. The geo layers only where their tables changed."""
    catalogue.publish(
        pipeline.storage, pipeline.sources, pipeline.mode, pipeline.rights, pipeline.configured, clock.now()
    )
    publish(pipeline.storage)
    geo_layers.ensure(pipeline.storage)
