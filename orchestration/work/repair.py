"""`emds repair`: sets every damaged file aside and makes again what the kept bytes and the series still say."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from assets.documents import geo_layers
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from orchestration.work import verify
from orchestration.work.resources import open_context, opened
from orchestration.work.verify import Fault
from warehouse.bookkeeping import logged
from warehouse.documents import manifest
from warehouse.errors import StorageError, WrongMode
from warehouse.series import damaged, monthfile, vintages
from warehouse.series.vintages import Month
from warehouse.settings import MODES
from warehouse.store import layout, modes
from warehouse.store.storage import Storage


def main() -> int:
    """Repairs the warehouse of the environment and says what was done; returns the exit code."""
    storage = opened(os.environ)
    restored = restore_mode(storage)
    if restored:
        print(f"the file {layout.MODE} was written again: its month files say {restored}")
    pipeline = open_context()
    found = list(verify.faults(storage))
    faults = [fault for fault in found if fault.movable]
    with _not_logged({fault.key for fault in faults}):
        set_aside(pipeline, faults)
    for fault in faults:
        print(f"{fault.key}: {fault.reason}: {_what_follows(fault.key)}")
    waiting = damaged.waiting(storage)
    with _not_logged(waiting):
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
    """What is still wrong: only files that were at fault or made again are read anew."""
    keys = {fault.key for fault in found} | {layout.series(*layout.of_series(key)[:3]) for key in months}
    unread = [fault for fault in found if fault.key == "folder"]
    return [
        *(fault for key in sorted(keys) for fault in verify.of_file(storage, key)),
        *verify.waiting(storage),
        *unread,
    ]


def _what_follows(key: str) -> str:
    """What becomes of a file that was set aside."""
    if layout.is_kept_body(key):
        feed, day = layout.parse_raw_key(key)
        return f"moved to {layout.DAMAGED}; `emds backfill --feed {feed} --start {day} --end {day}` asks for it again"
    return f"moved to {layout.DAMAGED}"


@contextmanager
def _not_logged(keys: Collection[str]) -> Iterator[None]:
    """Keeps lines that begin with these files out of the log: what became of them is printed, as the results are."""

    def is_of_another(record: logging.LogRecord) -> bool:
        return not (isinstance(record.args, tuple) and record.args and record.args[0] in keys)

    loggers = [logging.getLogger(name) for name in ("emds.warehouse", "emds.ingest")]
    for logger in loggers:
        logger.addFilter(is_of_another)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_another)


def mend_partitions(pipeline: PipelineContext) -> bool:
    """Brings Dagster's partitions in line with what is held, where Dagster ran here before, and says how many were not.

    False, and said, where its storage cannot be opened or does not take it.
    """
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


def restore_mode(storage: Storage) -> str:
    """Writes a missing or cut mode anew where the month files agree on one; returns it, empty where nothing was to do.

    Raises WrongMode where they do not agree.
    """
    try:
        modes.get(storage)
    except WrongMode as error:
        if storage.stat(layout.MODE) is None and not _lies_whole(storage):
            raise WrongMode(f"{error}; months that the catalogue counts are not here") from None
        found = _modes_of_files(storage)
        if len(found) != 1:
            words = ", ".join(sorted(found)) or "nothing"
            raise WrongMode(f"{error}; the month files say {words}") from None
        [mode] = found
        storage.put(layout.MODE, mode.encode())
        return mode
    return ""


def _lies_whole(storage: Storage) -> bool:
    """Whether all months lie here that were counted: a copy that was stopped lacks some, or the count itself."""
    return storage.stat(layout.published(layout.MANIFEST)) is not None and not manifest.missing(storage)


def _modes_of_files(storage: Storage) -> set[str]:
    found = set()
    for key in [*storage.keys(layout.series_prefix()), *storage.keys(layout.history_prefix())]:
        if layout.is_month_file(key):
            try:
                found.add(str(monthfile.mode_of(storage, key)))
            except StorageError:
                continue
    return found & set(MODES)


def set_aside(pipeline: PipelineContext, faults: Iterable[Fault]) -> None:
    """Moves what is damaged below `damaged/`."""
    storage = pipeline.storage
    for fault in faults:
        served = layout.is_month_file(fault.key) and not layout.of_series(fault.key)[-1]
        if served and not damaged.is_gone(storage, fault.key):
            place = Month(*layout.of_series(fault.key)[:3])
            vintages.set_aside(storage, place, pipeline.ranks, pipeline.mode, fault.reason, pipeline.terms)
        else:
            damaged.set_aside(storage, fault.key, fault.reason)
