"""The free documents as files for web servers and CDNs (EMDS_PUBLISH_TO), after every publication.

The work is handed in by `orchestration`, which knows the API. No `from __future__ import annotations`: Dagster reads
the annotations.
"""

from collections.abc import Callable, Mapping

import dagster as dg

from assets.document_events import GROUP, OF_ALL_ZONES
from assets.feeds import OWNER

PublishFiles = Callable[[], Mapping[str, int] | None]
"""Publishes to the target and counts; None where no target is set."""
KEY = dg.AssetKey([GROUP, "static_side"])


def static_side_asset(automatic: bool) -> dg.AssetsDefinition:
    """One step, downstream of the documents of all zones; `automatic`: whenever they were published."""
    after = dg.AutomationCondition.any_deps_updated() & ~dg.AutomationCondition.in_progress()

    @dg.asset(
        key=KEY,
        deps=list(OF_ALL_ZONES),
        group_name=GROUP,
        owners=[OWNER],
        kinds={"json"},
        pool="static_side",
        automation_condition=after if automatic else None,
        description="Every free answer as an immutable, compressed file with its SHA-256; one pointer to the newest.",
    )
    def static_side(publish_files: dg.ResourceParam[PublishFiles]) -> dg.MaterializeResult[None]:
        counts = publish_files()
        return dg.MaterializeResult(metadata={"target": "none"} if counts is None else dict(counts))

    return static_side
