"""`emds repair`: set every damaged file aside and make again what the kept bytes and the series still say."""

from __future__ import annotations

from assets.documents import geo_layers
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from orchestration.work import verify
from orchestration.work.resources import open_context
from orchestration.work.verify import Fault
from warehouse.series import damaged, vintages
from warehouse.series.vintages import Month
from warehouse.store import layout


def main() -> int:
    """Repair the warehouse of the environment, print what was done, and return the exit code."""
    pipeline = open_context()
    storage = pipeline.storage
    found = verify.faults(storage)
    faults = [fault for fault in found if fault.movable]
    for fault in faults:
        set_aside(pipeline, fault)
        print(f"{fault.key}: {fault.reason}: {_what_follows(fault.key)}")
    waiting = damaged.waiting(storage)
    repair.rebuild_marked(pipeline)
    if any(fault.key.startswith(layout.published("geo/")) for fault in faults):
        geo_layers.publish(storage)
    unpublished = refresh_all(pipeline)
    for key in sorted({*waiting} - {*damaged.waiting(storage)}):
        print(f"{key}: made again from the kept bytes; `emds gaps` says what is missing")
    left = verify.faults(storage) if found else []
    for line in (*unpublished, *left):
        print(line)
    print(f"{len(faults)} damaged files were set aside, {len(left)} faults are left")
    return 1 if left or unpublished else 0


def _what_follows(key: str) -> str:
    """Return what becomes of a file that was set aside."""
    try:
        feed, day = layout.parse_raw_key(key)
    except ValueError:
        return f"moved to {layout.DAMAGED}"
    return f"moved to {layout.DAMAGED}; `emds backfill --feed {feed} --start {day} --end {day}` asks for it again"


def set_aside(pipeline: PipelineContext, fault: Fault) -> None:
    """Move a damaged file below `damaged/`."""
    storage = pipeline.storage
    if layout.is_month_file(fault.key) and not damaged.is_gone(storage, fault.key):
        *place, is_history = layout.of_series(fault.key)
        if not is_history:
            vintages.set_aside(storage, Month(*place), pipeline.ranks, pipeline.mode, pipeline.terms)
            return
    damaged.set_aside(storage, fault.key, fault.reason)
