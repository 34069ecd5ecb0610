"""`emds upgrade`: brings a warehouse of schema 1, the first release's, to this release's layout and file formats.

Each file is written in its new form before its old one goes, and one that is new already is left alone: a run that was
killed is run again and goes on. Schema 1 had month files at `series/<metric>/<zone>/<month>[.history].parquet` with
zone and metric as columns and some borders under publishers' own names, kept bodies whose head is the question alone,
documents without a checksum, and empty files for withdrawn documents.
"""

from __future__ import annotations

import io
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from assets.parsing import outside_areas
from warehouse import artefact, damaged, layout, modes, monthfile, raw, release
from warehouse.errors import DamagedFile, StorageError
from warehouse.market import Request
from warehouse.storage import Folder, Storage
from warehouse.versions import Versions

_MONTH = re.compile(r"series/([a-z_]+)/([A-Z0-9-]+)/(\d{4}-\d{2})(\.history)?\.parquet")
_SYNC_EVERY = 500
"""So many kept bodies are brought to the disk at once."""

Say = Callable[[str, int, int], None]
"""Told what is being done, how many are done, and of how many."""


@dataclass(slots=True)
class Upgraded:
    """What an upgrade did; counts of files."""

    months: int = 0
    bodies: int = 0
    documents: int = 0
    damaged: int = 0


def upgrade(storage: Storage, say: Say) -> Upgraded:
    """Brings every file to this release; returns what was done, nothing for a warehouse that is there already.

    A file that cannot be read is set aside for `emds repair`. Raises StorageError for a newer or unknown warehouse, and
    WrongMode where the mode is not known.
    """
    done = Upgraded()
    with storage.locked([layout.SCHEMA]):
        if release.version_of(storage) != 1:
            release.mark(storage)
            return done
        mode = modes.of(storage)
        # Said before anything moves: a warehouse with files of both kinds is an old one until all are new.
        storage.put(layout.SCHEMA, b"1\n")
        _months(storage, mode, say, done)
        _bodies(storage, mode, say, done)
        _documents(storage, say, done)
        release.stamp(storage)
    return done


def _months(storage: Storage, mode: str, say: Say, done: Upgraded) -> None:
    old = [match for key in storage.keys(layout.series_prefix()) if (match := _MONTH.fullmatch(key))]
    for number, match in enumerate(old, 1):
        metric, zone, month, history = match.groups()
        target = (layout.history if history else layout.series)(metric, zone, month)
        try:
            storage.put(target, _month(storage, match[0], target, mode))
            storage.delete(match[0])
            done.months += 1
        except DamagedFile as error:
            storage.move(match[0], target)
            damaged.set_aside(storage, target, error.reason)
            done.damaged += 1
        say("month files", number, len(old))
    if isinstance(storage, Folder):
        _remove_empty(storage, {match[1] for match in old})


def _month(storage: Storage, key: str, target: str, mode: str) -> bytes:
    """An old month file's bytes in the new form. Raises DamagedFile."""
    try:
        table = pq.ParquetFile(
            io.BytesIO(storage.get(key) or b""), read_dictionary=["fuel", "counterparty", "link", *_LABELS]
        ).read(use_threads=False)
        versions = monthfile.of_table(table.combine_chunks())
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise DamagedFile(key, f"does not decode: {str(error)[:120]}") from None
    if not np.isfinite(versions.value).all():
        raise DamagedFile(key, "holds values that are not finite")
    return monthfile.encode(_respelled(versions), target, mode)


def _respelled(versions: Versions) -> Versions:
    """Borders under this release's names of the areas beyond: a row under a former one would stand beside its heir."""
    labels = tuple(each._replace(counterparty=_area(each.counterparty)) for each in versions.labels)
    return replace(versions, labels=labels)


def _area(name: str | None) -> str | None:
    return None if name is None else outside_areas.FORMER.get(name, name)


_LABELS = ("unit", "resolution", "source", "feed")


def _remove_empty(storage: Folder, metrics: Iterable[str]) -> None:
    for metric in metrics:
        root = storage.path(f"{layout.series_prefix()}{metric}")
        for folder in [*root.glob("*/"), root]:
            try:
                folder.rmdir()
            except OSError:
                continue  # not empty: other files stay


def _bodies(storage: Storage, mode: str, say: Say, done: Upgraded) -> None:
    keys = [key for key in storage.keys(layout.RAW) if key.endswith("zst")]
    for start in range(0, len(keys), _SYNC_EVERY):
        written = []
        for key in keys[start : start + _SYNC_EVERY]:
            try:
                new = _body(storage, key, mode)
            except DamagedFile as error:
                damaged.set_aside(storage, key, error.reason)
                done.damaged += 1
                continue
            if new is not None:
                storage.put(key, new, durable=False)
                written.append(key)
        storage.sync(written)
        done.bodies += len(written)
        say("kept bodies", min(start + _SYNC_EVERY, len(keys)), len(keys))


def _body(storage: Storage, key: str, mode: str) -> bytes | None:
    """An old kept body in the new form; None for one that has it. Raises DamagedFile."""
    stored = storage.get(key) or b""
    try:
        size = struct.unpack_from("<II", stored)[1]
        head = orjson.loads(stored[8 : 8 + size])
        if "schema" in head:
            raw.opened(storage, key)
            return None
        request: Request = raw.request_of(head)
        body = zstandard.ZstdDecompressor().decompress(stored[8 + size :], max_output_size=raw.MOST_BYTES)
    except (struct.error, orjson.JSONDecodeError, KeyError, TypeError, zstandard.ZstdError) as error:
        raise DamagedFile(key, f"does not decode: {error}") from None
    if f"-{raw.digest(request, body)}." not in key:
        raise DamagedFile(key, "its bytes are not those that were written")
    return raw.encode(request, body, mode)


def _documents(storage: Storage, say: Say, done: Upgraded) -> None:
    # The counts are by the old files' names, and are counted again.
    storage.delete(layout.published(layout.SPANS))
    for key in storage.keys(layout.JOURNALS):
        stored = storage.get(key) or b""
        if not artefact.is_sealed(stored):
            storage.put(key, artefact.sealed(stored))
    names = [key.removeprefix(layout.published()) for key in storage.keys(layout.published())]
    for number, name in enumerate(names, 1):
        try:
            done.documents += _document(storage, name)
        except DamagedFile as error:
            damaged.set_aside(storage, error.key, error.reason)
            done.damaged += 1
        say("documents", number, len(names))


def _document(storage: Storage, name: str) -> bool:
    """Gives an old document its checksum, keeping its version; false for one that has it. Raises DamagedFile."""
    key = layout.published(name)
    stored, identity = storage.get(key), storage.stat(key)
    if stored is None or identity is None or artefact.is_checksum(key):
        return False
    if not stored:
        artefact.withdraw(storage, name, identity.version + 1)
        return True
    try:
        artefact.checked(storage, key, stored)
        return False
    except StorageError:
        pass
    if name.endswith("json"):
        try:
            orjson.loads(stored)
        except orjson.JSONDecodeError as error:
            raise DamagedFile(key, f"is not JSON: {error}") from None
    return artefact.put(storage, name, stored, identity.version + 1)


def main() -> int:
    """Upgrades the warehouse of the environment, publishes, and says what was done; returns the exit code."""
    from assets import analyst
    from assets.ingest.refresh import refresh_all
    from orchestration.repair import mend_partitions
    from orchestration.resources import open_context, opened_to_write

    storage = opened_to_write(os.environ)
    done = upgrade(storage, _print_progress)
    if not any((done.months, done.bodies, done.documents, done.damaged)):
        print("nothing to do: this warehouse is of this release")
        return 0 if mend_partitions(open_context()) else 1  # an upgrade may have been killed behind its last file
    refresh_all(open_context())
    in_line = mend_partitions(open_context())
    if isinstance(storage, Folder) and storage.stat(analyst.NAME) is not None:
        analyst.build(storage.root)
    print(
        f"{done.months} month files, {done.bodies} kept bodies and {done.documents} documents brought to this release"
    )
    if done.damaged:
        print(f"{done.damaged} files were damaged and lie in {layout.DAMAGED}: run `emds repair`")
    return 0 if in_line and not done.damaged else 1


def _print_progress(what: str, done: int, of: int) -> None:
    """Progress on standard error, on one line where it is a terminal."""
    if done == of or (sys.stderr.isatty() and done % 20 == 0):
        sys.stderr.write(f"\r{what}: {done}/{of}" + ("\n" if done == of else ""))
