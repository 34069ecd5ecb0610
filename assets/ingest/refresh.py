"""What is published: by a run the documents of the zones that it touched, once a quarter hour everything."""

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
    """Publish latest, brief and snapshot of the zones whose rows changed; everything where nothing was published yet.

    Months are counted, and made again where they are damaged, by `refresh_all` alone, once a quarter hour. Returns what
    could not be published, a line each that names the file; the rest is.
    """
    if pipeline.storage.stat(layout.published(layout.CATALOGUE)) is None:
        return refresh_all(pipeline)
    return _documents(pipeline, changed) if changed else []


def refresh_zones(pipeline: PipelineContext, zones: Collection[str], filling: Filling | UnsetType = UNSET) -> list[str]:
    """Publish the catalogue and these zones' documents: amid a first fill, and after a repair. Returns as `refresh`.

    `filling`: how far the first fill is.
    """
    return [*_publish_catalogue(pipeline, filling), *_documents(pipeline, zones)]


def refresh_all(pipeline: PipelineContext) -> list[str]:
    """Publish everything, since a day-ahead hour turns without any new row; geo layers where their tables changed.

    Before, month files are counted and damaged ones made again, and then counted again. Where the catalogue cannot be
    renewed, the documents are made by the one that is published. Returns what could not be published, as `refresh`.
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
    """Measures the publishers anew. Returns what failed, as `refresh_all` does."""
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
