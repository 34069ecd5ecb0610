"""`emds repair`: set every damaged file aside and make again what the kept bytes and the series still say."""

from __future__ import annotations

from collections.abc import Iterable

from assets.documents import geo_layers
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from orchestration.work import verify
from orchestration.work.resources import open_context
from orchestration.work.verify import Fault
from warehouse.bookkeeping import logged
from warehouse.series import damaged, vintages
from warehouse.series.vintages import Month
from warehouse.store import layout
from warehouse.store.storage import Storage


def main() -> int:
    """Repair the warehouse of the environment, print what was done, and return the exit code."""
    pipeline = open_context()
    storage = pipeline.storage
    found = verify.faults(storage)
    faults = [fault for fault in found if fault.movable]
    set_aside(pipeline, faults)
    for fault in faults:
        print(f"{fault.key}: {fault.reason}: {_what_follows(fault.key)}")
    waiting = damaged.waiting(storage)
    repair.rebuild_marked(pipeline)
    if any(fault.key.startswith(layout.published("geo/")) for fault in faults):
        geo_layers.publish(storage)
    unpublished = refresh_all(pipeline)
    for failure in unpublished:
        print(failure)
    for key in sorted({*waiting} - {*damaged.waiting(storage)}):
        print(f"{key}: made again from the kept bytes; `emds gaps` says what is missing")
    in_line = mend_partitions(pipeline)
    left = _left(storage, found, waiting)
    for fault in left:
        print(fault)
    print(f"{len(faults)} damaged files were set aside, {len(left)} faults are left")
    return 0 if in_line and not left and not unpublished else 1


def _left(storage: Storage, found: Iterable[Fault], months: Iterable[str]) -> list[Fault]:
    """Return what is still wrong: only files that were at fault or made again are read anew."""
    keys = {fault.key for fault in found} | {layout.series(*layout.of_series(key)[:3]) for key in months}
    unread = [fault for fault in found if fault.key == "folder"]
    return [
        *(fault for key in sorted(keys) for fault in verify.of_file(storage, key)),
        *verify.waiting(storage),
        *unread,
    ]


def _what_follows(key: str) -> str:
    """Return what becomes of a file that was set aside."""
    try:
        feed, day = layout.parse_raw_key(key)
    except ValueError:
        return f"moved to {layout.DAMAGED}"
    return f"moved to {layout.DAMAGED}; `emds backfill --feed {feed} --start {day} --end {day}` asks for it again"


def mend_partitions(pipeline: PipelineContext) -> bool:
    """Record in Dagster what is held and unknown to it, where it ran here before; return whether its storage opens."""
    if not (pipeline.storage.local / "dagster").is_dir():
        return True
    from orchestration.jobs import partition_status, recording  # here: Dagster takes seconds to import

    instance = recording.instance(pipeline.storage.local)
    if instance is not None:
        with instance, logged("Dagster's partitions"):
            if mended := partition_status.mend(instance, pipeline):
                print(f"{mended} of Dagster's partitions were another than what is held, and are not any more")
            return True
    print("Dagster's partitions could not be brought in line with what is held")
    return False


def set_aside(pipeline: PipelineContext, faults: Iterable[Fault]) -> None:
    """Move what is damaged below `damaged/`."""
    storage = pipeline.storage
    for fault in faults:
        served = layout.is_month_file(fault.key) and not layout.of_series(fault.key)[-1]
        if served and not damaged.is_gone(storage, fault.key):
            place = Month(*layout.of_series(fault.key)[:3])
            vintages.set_aside(storage, place, pipeline.ranks, pipeline.mode, fault.reason, pipeline.terms)
        else:
            damaged.set_aside(storage, fault.key, fault.reason)
