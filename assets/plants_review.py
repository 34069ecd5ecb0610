"""What publishers' newest lists would change in the plants, as an asset: a table for a person, never taken by itself.

Dagster reads annotations at run time, so this file has no `from __future__ import annotations`.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg

from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from geo_data import fetch, refresh, review
from geo_data.review import Change
from warehouse import clock

GROUP = "plants_review"
MOST_ROWS = 1000
"""Rows that an event of Dagster's shows; the file has all."""
FILE = "plants_review.csv"


class Lists(dg.Config):
    """Where the publishers' lists of plants lie."""

    folder: str = ""
    """With `*_generator*.xlsx` of EIA-860M or `powerplants.csv` of powerplantmatching; empty: both are fetched."""


def plants_review() -> dg.AssetsDefinition:
    """By hand alone: no schedule asks for it, and a warehouse that is not live asks nobody."""

    @dg.asset(
        key=dg.AssetKey(["geo", "plants_review"]),
        group_name=GROUP,
        owners=[OWNER],
        kinds={"csv"},
        pool="geo",
        description="New, gone and changed plants by EIA-860M and powerplantmatching, for review. Changes nothing: "
        "`python -m geo_data.build plants FOLDER --take` writes what EIA lists, European rows are taken by hand.",
    )
    def reviewed(config: Lists, warehouse: dg.ResourceParam[PipelineContext]) -> dg.MaterializeResult[None]:
        if config.folder:
            return _result(Path(config.folder), keep=True)
        if warehouse.mode != "live":
            raise dg.Failure(f"a {warehouse.mode} warehouse asks no publisher: name a folder", allow_retries=False)
        with TemporaryDirectory() as folder:
            fetch.fetch(Path(folder), fetch.lists(_today()))
            return _result(Path(folder), keep=False)

    return reviewed


def _today() -> date:
    return clock.utc(clock.now()).date()


def _result(folder: Path, keep: bool) -> dg.MaterializeResult[None]:
    """The changes as metadata, and where `keep` says so as a file beside the lists."""
    try:
        found = refresh.changes(folder, _today().year)
    except (OSError, ValueError, KeyError) as error:
        raise dg.Failure(f"{type(error).__name__}: {error}", allow_retries=False) from error
    counts = Counter(change.kind for change in found)
    metadata: dict[str, dg.MetadataValue] = {kind: dg.MetadataValue.int(counts[kind]) for kind in review.KINDS}
    metadata["changes"] = table(found[:MOST_ROWS])
    metadata["rows shown"] = dg.MetadataValue.text(f"{min(len(found), MOST_ROWS)} of {len(found)}")
    if keep:
        (folder / FILE).write_text(review.table(found), encoding="utf-8", newline="")
        metadata["file"] = dg.MetadataValue.path(folder / FILE)
    return dg.MaterializeResult(metadata=metadata)


def table(found: Sequence[Change]) -> dg.TableMetadataValue:
    """A row a change, as Dagster's UI shows tables."""
    names = ("kind", "zone", "id", "name", "what", "source")
    rows = [
        dg.TableRecord(
            {name: str(getattr(change, name) or "") for name in names} | {"zone": change.zone or change.country}
        )
        for change in found
    ]
    columns = [dg.TableColumn(name, "string") for name in names]
    return dg.MetadataValue.table(rows, dg.TableSchema(columns))
