"""A folder as target: objects, and beside them a tree of names that a web server's root points into.

`objects/<sha256>.json` holds the bytes; `trees/<version>/v1/zones.json` is another name (a hard link) of the same
file; `current` is a symbolic link to the newest tree and `current.json` the pointer. A web server with its root at
`current` shows one publication whole, and after the link was swapped the next one whole.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestration.static_side.publication import MANIFESTS, OBJECTS, POINTER, Publication, StaticObject, place
from warehouse.errors import StorageError

TREE = "current"
_TREES, _SCRATCH = "trees", "scratch"


class FolderTarget:
    """Publications below one folder, which one publisher at a time changes (a lock)."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def get(self, key: str) -> bytes | None:
        """An object's bytes; None where there is none. Raises StorageError."""
        with self._typed(key):
            try:
                return (self.root / key).read_bytes()
            except FileNotFoundError:
                return None

    def put(self, item: StaticObject) -> bool:
        """Puts an object whole, on the disk before its name is. Raises StorageError."""
        with self._typed(item.key):
            if self.get(item.key) == item.body:  # not by its name alone: it may be damaged
                return False
            self._write(self.root / item.key, item.body)
            return True

    def swap(self, publication: Publication) -> bool:
        """The tree first, then the link and the pointer; a kill in between is healed by the next publication."""
        with self._typed(POINTER), self._locked():
            if self.version() > publication.version:
                return False
            tree = self._tree(publication)
            link = self.root / _SCRATCH / secrets.token_hex(8)
            os.symlink(os.path.relpath(tree, self.root), link)
            os.replace(link, self.root / TREE)
            self._write(self.root / POINTER, publication.pointer)
            return True

    def version(self) -> int:
        """The version of what is shown; 0 where nothing is."""
        try:
            return int(os.readlink(self.root / TREE).rpartition("/")[2])
        except (OSError, ValueError):
            return 0

    def manifests(self) -> dict[str, float]:
        """Every manifest that lies there, with its age in seconds. Raises StorageError."""
        now, ages = time.time(), {}
        with self._typed(MANIFESTS):
            for path in sorted((self.root / MANIFESTS).glob("*.json")):
                with suppress(FileNotFoundError):  # another publisher's sweep removed it
                    ages[f"{MANIFESTS}{path.name}"] = now - path.stat().st_mtime
        return ages

    def sweep(self, keep: Collection[str], older_than_s: float) -> int:
        """Removes what is not kept and old enough, and the trees and scratch files that nobody needs."""
        removed = 0
        with self._typed(OBJECTS), self._locked():
            before, kept = time.time() - older_than_s, set(keep)
            for folder in (OBJECTS, MANIFESTS):
                for path in sorted((self.root / folder).glob("*")):
                    if f"{folder}{path.name}" not in kept and path.stat().st_ctime <= before:
                        path.unlink()
                        removed += 1
            shown = self.version()
            for path in sorted((self.root / _TREES).glob("*")):
                if path.name != str(shown) and path.stat().st_ctime <= before:
                    shutil.rmtree(path)
            for path in (self.root / _SCRATCH).glob("*"):
                if path.lstat().st_ctime <= time.time() - 3600:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        return removed

    def _tree(self, publication: Publication) -> Path:
        """The publication's names as hard links, put in place whole."""
        tree = self.root / _TREES / str(publication.version)
        if tree.exists():
            return tree
        made = self.root / _SCRATCH / secrets.token_hex(8)
        made.mkdir(parents=True)
        # `/v1/geo/plants` and `/v1/geo/plants.geojson` are one name.
        named = {place(file.path, file.media): file for file in publication.files}
        for where, file in named.items():
            name = made / where
            name.parent.mkdir(parents=True, exist_ok=True)
            for item in (file.plain, *file.packed):
                os.link(self.root / item.key, f"{name}{item.key.removeprefix(file.plain.key)}")
        tree.parent.mkdir(parents=True, exist_ok=True)
        os.replace(made, tree)
        return tree

    def _write(self, path: Path, body: bytes) -> None:
        scratch = self.root / _SCRATCH / secrets.token_hex(8)
        scratch.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("xb") as stream:
            stream.write(body)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        (self.root / _SCRATCH).mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _typed(self, key: str) -> Iterator[None]:
        """What the operating system refuses becomes a StorageError that names the key."""
        try:
            yield
        except OSError as error:
            raise StorageError(f"{key} in {self.root}: {error.strerror or error}") from None
