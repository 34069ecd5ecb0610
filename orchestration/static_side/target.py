"""Write publications to a folder or bucket: objects by hash, `series/`, a pointer to the newest manifest, `site/`.

Below `site/`, each path has a file under its own name, for a web server or CDN. Every file is complete, and is as new
as the pointer or one publication older. A reader that needs one complete publication starts at the pointer.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from orchestration.static_side.publication import (
    KEPT_S,
    MANIFESTS,
    OBJECTS,
    POINTER,
    SITE,
    SITE_VERSION,
    StaticObject,
    StaticPublication,
    read_json,
    site_names,
)
from warehouse.errors import Conflict, StorageError
from warehouse.store import object_store
from warehouse.store.object_store import StoreAddress, ask, open_store

try:
    import obstore
    from obstore.store import LocalStore, ObjectStore
except ImportError:
    raise StorageError("publishing files requires the package obstore; run pip install 'emds[bucket]'") from None

_TRIES = 8


def parse(address: str) -> Path | StoreAddress:
    """Return the folder or bucket that an address names. Raises StorageError."""
    return object_store.address(address) if object_store.is_address(address) else Path(address).absolute()


def open_target(address: str) -> Target:
    """Open a folder, which is created, or a bucket (`s3://`, `gs://`, `az://`). Raises StorageError."""
    place = parse(address)
    if not isinstance(place, Path):
        return Target(open_store(place))
    try:
        place.mkdir(parents=True, exist_ok=True)
        return Target(LocalStore(place), place / "lock")
    except OSError as error:
        raise StorageError(f"cannot create the folder {place}: {error.strerror}") from None


class Target:
    """Publications in one store. In a folder, where writes cannot have conditions, a lock serialises publishers."""

    def __init__(self, store: ObjectStore, lock: Path | None = None) -> None:
        self._store, self._lock = store, lock
        self._lying = self.listing(OBJECTS) | self.listing(MANIFESTS)

    def get(self, key: str) -> bytes | None:
        """Return an object's bytes; None if it does not exist. Raises StorageError."""
        found = ask(key, "read", lambda: obstore.get(self._store, key))
        return None if found is None else bytes(found.bytes())

    def current(self) -> dict[str, Any]:
        """Return the manifest of the current publication; an empty manifest if it is absent or damaged."""
        return read_json(self.get(str(read_json(self.get(POINTER)).get("manifest", "-"))))

    def put(self, item: StaticObject) -> bool:
        """Write an object that is absent or cut, or old enough for another publisher's sweep to remove it."""
        size, age = self._lying.get(item.key, (-1, 0.0))
        if size == len(item.body) and age < KEPT_S / 2:
            return False
        self._put(item.key, item)
        self._lying[item.key] = len(item.body), 0.0
        return True

    def replace(self, item: StaticObject) -> None:
        """Replace the object under the item's name."""
        self._put(item.key, item)

    def swap(self, publication: StaticPublication) -> bool:
        """Make a publication whose objects exist the current one; return False if a newer one is current.

        Raises StorageError if the condition of each try is rejected: by other publishers, or by a store without
        conditions.
        """
        for _ in range(_TRIES):
            with self._alone():
                meta = ask(POINTER, "read", lambda: obstore.head(self._store, POINTER))
                before = {} if meta is None else read_json(self.get(POINTER))
                if int(str(before.get("version", 0))) > publication.version:
                    return False
                condition: Any = "create" if meta is None else {"e_tag": meta["e_tag"]}
                try:
                    self._put(POINTER, publication.pointer, condition if self._lock is None else "overwrite")
                except Conflict:
                    continue
                self._name(publication)
                return True
        raise StorageError(f"cannot write {POINTER}: another publication won {_TRIES} times; run `emds publish` again")

    def sweep(self, prefixes: Iterable[str], is_over: Callable[[str, float], bool]) -> int:
        """Remove objects below some prefixes if `is_over` (key, age in seconds) holds; return their number."""
        lying = [pair for prefix in prefixes for pair in self.listing(prefix).items()]
        return self._remove([key for key, (_, age) in lying if is_over(key, age)])

    def _name(self, publication: StaticPublication) -> None:
        """Write what changed below `site/` since the manifest last named there, and remove names without a path."""
        before = read_json(self.get((self.get(SITE_VERSION) or b"-").decode("utf-8", "replace")))
        named, lying = site_names(before.get("files", ())), self.listing(SITE)
        wanted = site_names(file.members() for file in publication.files)
        objects = {item.key: (item, file.cache_control) for file in publication.files for item in file.forms}
        if self._lock is None:  # a CDN compresses on its own; a web server looks for compressed forms beside a file
            wanted = {name: key for name, key in wanted.items() if not objects[key][0].coding}
        for name, key in wanted.items():
            item, cache_control = objects[key]
            if named.get(name) != key or lying.get(name, (-1, 0.0))[0] != len(item.body):
                self._put(name, StaticObject(key, item.body, item.media, item.coding, cache_control))
        self._remove([name for name in lying if name not in wanted and name != SITE_VERSION])
        own = StaticObject(SITE_VERSION, publication.manifest.key.encode(), "text/plain", cache_control="no-store")
        self._put(SITE_VERSION, own)

    def listing(self, prefix: str) -> dict[str, tuple[int, float]]:
        """Return the keys below a prefix, each with its size and its age in seconds."""
        now = time.time()
        found = ask(prefix, "listed", lambda: obstore.list(self._store, prefix.rstrip("/")).collect(), absent=[])
        return {str(meta["path"]): (meta["size"], now - meta["last_modified"].timestamp()) for meta in found}

    def _put(self, key: str, item: StaticObject, mode: Any = "overwrite") -> None:
        attributes: Any = None
        if self._lock is None:  # files have no attributes
            attributes = {"Content-Type": item.media, "Cache-Control": item.cache_control}
            attributes |= {"Content-Encoding": item.coding} if item.coding else {}
        ask(key, "written", lambda: obstore.put(self._store, key, item.body, mode=mode, attributes=attributes))

    def _remove(self, keys: list[str]) -> int:
        # In a folder, delete files individually: another publisher may have removed some of them.
        for group in [keys] if self._lock is None and keys else [[key] for key in keys]:
            ask(group[0], "removed", partial(obstore.delete, self._store, group))
        return len(keys)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._lock is None:
            yield
            return
        with self._lock.open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield
