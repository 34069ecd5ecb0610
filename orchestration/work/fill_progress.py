"""Publish progress during a first fill: the zones of each completed publisher, and the progress of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_zones
from assets.sources import feed, sources
from orchestration.work.backfill import Task
from warehouse.bookkeeping import logged
from warehouse.documents import catalogue
from warehouse.documents.catalogue_entries import Filling, FillProgress
from warehouse.store import layout


class FirstFill:
    """Counts the runs of a first fill and publishes their data; a run is a month of one feed."""

    def __init__(self, pipeline: PipelineContext, tasks: Sequence[Task]) -> None:
        self._pipeline = pipeline
        self._of = Counter(zone for task in tasks for zone in feed(task.feed).zones)
        self._left = Counter(self._of)
        self._runs = Counter(_source(task) for task in tasks)
        self._runs_left = Counter(self._runs)
        self._note()

    def add(self, task: Task) -> None:
        """Count a run that has ended; publish the zones of its publisher if this was its last run."""
        source = _source(task)
        self._runs_left[source] -= 1
        self._left.subtract(feed(task.feed).zones)
        if self._runs_left[source]:
            self._note()
        else:
            zones = {zone for each in sources()[source].feeds for zone in each.zones}
            refresh_zones(self._pipeline, zones, self._filling)

    def _note(self) -> None:
        with logged("progress of the first fill"):
            catalogue.note_filling(self._pipeline.storage, self._filling)

    @property
    def _filling(self) -> Filling:
        runs = self._runs.total()
        zones = {zone: FillProgress(of - self._left[zone], of) for zone, of in self._of.items() if self._left[zone]}
        return Filling(runs - self._runs_left.total(), runs, zones)


def is_first_fill(pipeline: PipelineContext) -> bool:
    """Return whether no fill has ended here; publishers are measured when a fill ends."""
    return pipeline.storage.stat(layout.published(layout.PUBLISHERS)) is None


def _source(task: Task) -> str:
    return task.feed.split(".")[0]
