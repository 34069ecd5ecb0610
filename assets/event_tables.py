"""The tables of Dagster's event log from which events must be removed, for which it has no public call.

They are named as its migrations name them; Dagster is pinned below 1.14. No `from __future__ import annotations`.
"""

from typing import Any

import dagster as dg
from sqlalchemy import column, delete, select, table

EVENTS = table(
    "event_logs", *map(column, ("id", "run_id", "dagster_event_type", "timestamp", "asset_key", "partition"))
)
_TAGS = table("asset_event_tags", column("event_id"))
CHECKS = table(
    "asset_check_executions",
    *map(
        column,
        (
            "id",
            "run_id",
            "asset_key",
            "check_name",
            "partition",
            "evaluation_event_storage_id",
            "create_timestamp",
        ),
    ),
)
RUNLESS = ""
"""The run id of an event that was reported without a run."""
AT_ONCE = 500


def tables(instance: dg.DagsterInstance) -> Any:
    """A transaction on the tables of assets and checks: all of Dagster's storages are SQL."""
    return instance.event_log_storage.index_connection()  # type: ignore[attr-defined]


def delete_events(connection: Any, gone: Any) -> int:
    """Removes the events that a condition on `EVENTS` names, with their tags; returns how many."""
    removed = 0
    while ids := [row[0] for row in connection.execute(select(EVENTS.c.id).where(gone).limit(AT_ONCE))]:
        connection.execute(delete(_TAGS).where(_TAGS.c.event_id.in_(ids)))
        connection.execute(delete(EVENTS).where(EVENTS.c.id.in_(ids)))
        removed += len(ids)
    return removed
