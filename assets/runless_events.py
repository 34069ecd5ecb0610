"""Events that are reported without a run, all of a command's run at once: in one transaction, or none of them.

Dagster's own call takes one event, and on SQLite opens some six connections for it: for years of market days that costs
more than their rows. It has no public call for many, so its storage's own parts are called here, as its own call does;
Dagster is pinned below 1.14. No `from __future__ import annotations`.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster._core.events import AssetObservationData, DagsterEvent, DagsterEventType, StepMaterializationData
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.utils import RUNLESS_JOB_NAME
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._serdes import serialize_value
from sqlalchemy import delete, insert

from assets.event_tables import CHECKS, RUNLESS

RunlessEvent = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


def report(instance: dg.DagsterInstance, events: Iterable[RunlessEvent]) -> None:
    """Reports events without a run, in their order. An evaluation takes the place of the last one of its check and
    partition: Dagster's table holds one a run, check and partition, and takes "no run" for a run.

    The copy that Dagster's SQLite keeps of such events in a file of its own, which nothing reads, is left out.
    """
    entries = [_entry(event) for event in events]
    if not entries:
        return
    storage: Any = instance.event_log_storage
    with storage.index_transaction() as connection:
        ids = [connection.execute(storage.prepare_insert_event(e)).inserted_primary_key[0] for e in entries]
        numbered = list(zip(entries, ids, strict=True))
        of_assets = [(e, number) for e, number in numbered if not isinstance(_payload(e), dg.AssetCheckEvaluation)]
        if of_assets:
            storage._store_asset_event_tags(connection, *map(list, zip(*of_assets, strict=True)))
        for entry, number in _last(of_assets):
            storage._store_asset_event(connection, entry, number)
        for entry, number in numbered:
            if isinstance(_payload(entry), dg.AssetCheckEvaluation):
                _store_evaluation(connection, entry, number)


def _entry(event: RunlessEvent) -> EventLogEntry:
    kind, payload = _kind(event)
    return EventLogEntry(  # type: ignore[no-untyped-call]
        user_message="",
        level=20,
        job_name=RUNLESS_JOB_NAME,
        run_id=RUNLESS,
        error_info=None,
        timestamp=time.time(),
        dagster_event=DagsterEvent(kind.value, RUNLESS_JOB_NAME, event_specific_data=payload),
    )


def _kind(event: RunlessEvent) -> tuple[DagsterEventType, Any]:
    """The type of an event, and what Dagster wraps it in."""
    if isinstance(event, dg.AssetMaterialization):
        return DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(event)
    if isinstance(event, dg.AssetObservation):
        return DagsterEventType.ASSET_OBSERVATION, AssetObservationData(event)
    return DagsterEventType.ASSET_CHECK_EVALUATION, event


def _payload(entry: EventLogEntry) -> Any:
    return entry.get_dagster_event().event_specific_data


def _last(numbered: Sequence[tuple[EventLogEntry, int]]) -> Iterable[tuple[EventLogEntry, int]]:
    """The last event of each asset and type, which alone an asset's own row keeps."""
    return {(e.get_dagster_event().asset_key, e.dagster_event_type): (e, number) for e, number in numbered}.values()


def _store_evaluation(connection: Any, entry: EventLogEntry, number: int) -> None:
    judged: dg.AssetCheckEvaluation = _payload(entry)
    last = CHECKS.c
    gone = (
        (last.run_id == RUNLESS)
        & (last.asset_key == judged.asset_key.to_string())
        & (last.check_name == judged.check_name)
        & (last.partition == judged.partition)
    )
    connection.execute(delete(CHECKS).where(gone))
    connection.execute(
        insert(AssetCheckExecutionsTable).values(
            asset_key=judged.asset_key.to_string(),
            check_name=judged.check_name,
            partition=judged.partition,
            run_id=RUNLESS,
            execution_status="SUCCEEDED" if judged.passed else "FAILED",
            evaluation_event=serialize_value(entry),
            evaluation_event_timestamp=datetime.fromtimestamp(entry.timestamp, UTC).replace(tzinfo=None),
            evaluation_event_storage_id=number,
        )
    )
