"""Publish documents: after a run those of the affected zones, and once per quarter hour all of them."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import UNSET, UnsetType

from assets.documents import geo_layers, picture, publishers
from assets.documents.publish import publish
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from warehouse.bookkeeping import logged
from warehouse.documents import catalogue
from warehouse.documents.catalogue_entries import Filling
from warehouse.market import clock
from warehouse.store import layout


def refresh(pipeline: PipelineContext, changed: Collection[str]) -> list[str]:
    """Publish latest, brief and snapshot of the zones whose rows changed, or everything if there are no documents yet.

    Only `refresh_all`, once per quarter hour, counts monthly files and rebuilds damaged files. Returns a line with the
    file name for each document that could not be published.
    """
    if pipeline.storage.stat(layout.published(layout.CATALOGUE)) is None:
        return refresh_all(pipeline)
    return _documents(pipeline, changed) if changed else []


def refresh_zones(pipeline: PipelineContext, zones: Collection[str], filling: Filling | UnsetType = UNSET) -> list[str]:
    """Publish the catalogue and these zones' documents, during a first fill or after a repair. Returns as `refresh`.

    `filling` is the progress of the first fill.
    """
    return [*_publish_catalogue(pipeline, filling), *_documents(pipeline, zones)]


def refresh_all(pipeline: PipelineContext) -> list[str]:
    """Publish everything, since a day-ahead hour starts without new rows; and geo layers if their tables changed.

    First, monthly files are counted, damaged files are rebuilt, and all are counted again. If the catalogue cannot be
    renewed, the documents follow the published one. Returns as `refresh`.
    """
    failures, healed = _publish_catalogue(pipeline), set[str]()
    damaged: list[str] = []
    with logged("damaged files", damaged):
        healed = repair.heal(pipeline)
    failures = [*(_publish_catalogue(pipeline) if healed else failures), *damaged, *_documents(pipeline, None)]
    with logged("geo layers", failures):
        geo_layers.ensure(pipeline.storage)
    picture.publish(pipeline.storage)
    return failures


def measure_publishers(pipeline: PipelineContext) -> list[str]:
    """Measure the publishers again. Returns failures as `refresh_all` does."""
    failures: list[str] = []
    with logged(layout.PUBLISHERS, failures):
        publishers.publish(pipeline.storage, pipeline.sources, pipeline.rights, pipeline.mode, clock.now())
    return failures


def _publish_catalogue(pipeline: PipelineContext, filling: Filling | UnsetType = UNSET) -> list[str]:
    failures: list[str] = []
    terms = pipeline.sources, pipeline.mode, pipeline.rights, pipeline.configured
    with logged(layout.CATALOGUE, failures):
        catalogue.publish(pipeline.storage, *terms, clock.now(), filling)
    return failures


def _documents(pipeline: PipelineContext, zones: Collection[str] | None) -> list[str]:
    failures: list[str] = []
    with logged("documents", failures):
        failures += publish(pipeline.storage, zones=zones)
    return failures
