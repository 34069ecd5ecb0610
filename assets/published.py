"""The published documents as assets, so that a rerun in the UI shows: each run of a feed publishes its own zones besides.

Unpartitioned; asked every quarter hour, since a day-ahead hour turns without any new row. No `from __future__ import annotations`.
"""

from collections.abc import Iterator, Mapping

import dagster as dg

from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from assets.partitions import asset_key
from warehouse import layout
from warehouse.market import Source

GROUP = "published"
DOCUMENTS = {
    "catalogue": "What is held, whose it is, and how fresh: zones, feeds in rank order, licences, spans.",
    "latest": "Per zone the newest value of every metric whose interval has begun.",
    "brief": "Per zone the current values against their own trailing 30 days, the 24-hour trend and a sentence.",
    "snapshot": "All zones' latest values in one document.",
}


def document_assets(sources: Mapping[str, Source]) -> list[dg.AssetsDefinition]:
    """One step that publishes all four, downstream of every feed."""
    specs = [
        dg.AssetSpec(
            dg.AssetKey([GROUP, name]),
            deps=[asset_key(f) for s in sources.values() for f in s.feeds]
            if name != "snapshot"
            else [dg.AssetKey([GROUP, "latest"])],
            description=text,
            group_name=GROUP,
            owners=[OWNER],
            kinds={"json"},
        )
        for name, text in DOCUMENTS.items()
    ]

    @dg.multi_asset(name="publish_documents", specs=specs, pool="documents")
    def documents(
        context: dg.AssetExecutionContext, pipeline: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.MaterializeResult[None]]:
        failures = refresh_all(pipeline)
        for name in DOCUMENTS:
            keys = [k for k in pipeline.storage.keys(layout.published("")) if k.startswith(f"published/{name}")]
            sizes = [
                stat.size for k in keys if (stat := pipeline.storage.stat(k)) and stat.size
            ]  # an empty one was withdrawn
            yield dg.MaterializeResult(asset_key=[GROUP, name], metadata={"documents": len(sizes), "bytes": sum(sizes)})
        if failures:
            raise dg.Failure(f"not all is published: {'; '.join(failures[:5])}", allow_retries=False)

    return [documents]
