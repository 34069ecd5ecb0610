"""What a run publishes after its new rows: the catalogue, and the documents of the zones that it touched."""

from __future__ import annotations

from collections.abc import Collection

from assets.documents import bulk, geo_layers, publishers
from assets.documents.publish import publish
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from warehouse import catalogue, clock, layout, untold
from warehouse.bookkeeping import logged


def refresh(pipeline: PipelineContext, changed: Collection[str]) -> list[str]:
    """Publishes the catalogue, and latest, brief and snapshot of the zones whose rows changed.

    Returns what could not be published, a line each that names the file; the rest is.
    """
    failures, healed = _catalogue(pipeline)
    zones = {*changed, *healed}
    return [*failures, *(_documents(pipeline, zones) if zones else ())]


def refresh_all(pipeline: PipelineContext) -> list[str]:
    """Publishes everything, since a day-ahead hour turns without any new row; geo layers where their tables changed.

    Returns what could not be published, a line each that names the file; the rest is.
    """
    failures = [*_catalogue(pipeline)[0], *_documents(pipeline, None)]
    with logged("geo layers") as attempt:
        geo_layers.ensure(pipeline.storage)
    return [*failures, *filter(None, [attempt.failure])]


def measure_publishers(pipeline: PipelineContext) -> list[str]:
    """Measures the publishers anew, from the months whose files changed. Returns what failed, as `refresh_all` does."""
    with logged(layout.PUBLISHERS) as attempt:
        publishers.publish(pipeline.storage, pipeline.sources, pipeline.rights, pipeline.mode, clock.now())
    return [*filter(None, [attempt.failure])]


def _catalogue(pipeline: PipelineContext) -> tuple[list[str], set[str]]:
    """Publishes the catalogue, after damaged month files were made again; returns failures, and the zones made again.

    Where it cannot be renewed, the documents are made by the one that is published.
    """
    failures = _publish_catalogue(pipeline)
    healed: set[str] = set()
    with logged("damaged files") as attempt:
        healed = repair.heal(pipeline)
    if healed:
        failures = _publish_catalogue(pipeline)
    return [*failures, *filter(None, [attempt.failure])], healed


def _publish_catalogue(pipeline: PipelineContext) -> list[str]:
    with logged(layout.CATALOGUE) as attempt:
        catalogue.publish(
            pipeline.storage, pipeline.sources, pipeline.mode, pipeline.rights, pipeline.configured, clock.now()
        )
    with logged(layout.BULK) as counted:
        bulk.publish(pipeline.storage, pipeline.sources, clock.now())
    return [*filter(None, [attempt.failure, counted.failure])]


def _documents(pipeline: PipelineContext, zones: Collection[str] | None) -> list[str]:
    failures: list[str] = []
    with logged("changes"):
        untold.tell_all(pipeline.storage)
    with logged("documents") as attempt:
        failures = publish(pipeline.storage, zones=zones).failures
    return [*failures, *filter(None, [attempt.failure])]
