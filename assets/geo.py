"""The geo layers as assets: the files that `geo_data` ships, published after a check of their hashes.

Dagster reads annotations at run time, so this file has no `from __future__ import annotations`.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.documents import geo_layers
from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.published import GROUP
from geo_data.terms import ATTRIBUTION, LICENCE
from warehouse.errors import DamagedFile

GEO, INTACT = "geo", "intact"
LAYERS = {
    "zones": "Footprints of the zones at two levels of detail; neighbours share their borders vertex for vertex.",
    "interconnectors": "Ties between zones, or to an area outside; its flow rows name a tie by its id.",
    "plants": "Power plants of 250 MW and above, in the fuel vocabulary of generation and capacity.",
}


def geo_assets() -> list[dg.AssetsDefinition]:
    """Return one asset a layer. A layer with a damaged file is not published: the last good one stays."""
    return [_asset(layer, description) for layer, description in LAYERS.items()]


def _asset(layer: str, description: str) -> dg.AssetsDefinition:
    key = dg.AssetKey([GEO, layer])
    check = dg.AssetCheckSpec(INTACT, asset=key, description="Every file has the SHA-256 that is shipped with it.")

    @dg.asset(
        key=key,
        group_name=GROUP,
        description=description,
        owners=[OWNER],
        kinds={"geojson", "parquet"},
        check_specs=[check],
        pool=GEO,
        code_version=hashlib.sha256("".join(geo_layers.hashes(layer).values()).encode()).hexdigest()[:12],
        output_required=False,
        metadata={"licence": LICENCE[layer], "attribution": ATTRIBUTION[layer]},
    )
    def published(warehouse: dg.ResourceParam[PipelineContext]) -> Iterator[Any]:
        try:
            sizes = geo_layers.publish(warehouse.storage, [layer])
        except DamagedFile as error:
            yield dg.AssetCheckResult(asset_key=key, check_name=INTACT, passed=False, metadata={"error": str(error)})
            raise dg.Failure(f"not published: {error}", allow_retries=False) from None
        yield dg.AssetCheckResult(asset_key=key, check_name=INTACT, passed=True)
        yield dg.MaterializeResult(asset_key=key, metadata={"documents": len(sizes), "bytes": sum(sizes.values())})

    return published
