"""The measured publishers as an asset: once a day, how late, how often revised and how whole each feed's rows were.

Dagster reads annotations at run time, so this file has no `from __future__ import annotations`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.documents import publishers
from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key
from assets.published import GROUP, PREFIX
from warehouse.market import clock
from warehouse.market.market import Source

MEASURED = dg.AssetKey([PREFIX, "publishers"])


def publishers_asset(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    """`/v1/publishers`, downstream of every feed."""

    @dg.asset(
        key=MEASURED,
        group_name=GROUP,
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"json"},
        pool="documents",
        description="By feed and month: how late rows came, how many were revised and how, holes, failures by kind.",
    )
    def measured(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext]
    ) -> dg.MaterializeResult[None]:
        document = publishers.publish(
            warehouse.storage, warehouse.sources, warehouse.rights, warehouse.mode, clock.now()
        )
        newest = [entry for entry in document["publishers"] if entry["month"] == document["months"][-1]]
        return dg.MaterializeResult(
            metadata={
                "months": len(document["months"]),
                "feeds": len(newest),
                "newest month": dg.MetadataValue.md(table(newest)),
            }
        )

    return measured


def table(entries: Sequence[Mapping[str, Any]]) -> str:
    """The month's figures as a Markdown table, a line a feed."""
    lines = [
        "| feed | rows | late, median s | p95 s | worst s | revised | missing | holes | failures |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        late, intervals = entry["late_s"], entry["intervals"] or {"missing": None, "holes": None}
        cells = (
            entry["feed"],
            entry["rows"],
            *(late[name] for name in ("median", "p95", "worst")),
            entry["revised"]["rows"],
            intervals["missing"],
            intervals["holes"],
            entry["failures"]["total"],
        )
        lines.append("| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |")
    return "\n".join(lines)
