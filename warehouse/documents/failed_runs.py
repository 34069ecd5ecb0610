"""Count the failed runs of each Dagster job for `/metrics`, because the API does not load Dagster."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from warehouse.store import artefact, layout
from warehouse.store.storage import Storage


class FailedRuns(Struct, frozen=True):
    """The counts since the warehouse was created."""

    jobs: Mapping[str, int]


def note(storage: Storage, job: str) -> None:
    """Count a failed run of a job. Raises StorageError."""

    def add(before: FailedRuns | None) -> FailedRuns:
        jobs = before.jobs if before else {}
        return FailedRuns({**jobs, job: jobs.get(job, 0) + 1})

    artefact.update(storage, layout.FAILED_RUNS, FailedRuns, add)
