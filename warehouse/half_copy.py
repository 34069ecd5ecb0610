"""The mark of a copy that is under way into a warehouse's place: it names whence, and goes once the mode lies there.

Without it a half copy would look like a warehouse that lost its mode, whose rows are all there.
"""

from __future__ import annotations

from shlex import quote

from warehouse import layout
from warehouse.errors import HalfCopy, StorageError
from warehouse.storage import Storage


def begin(target: Storage, source: str) -> None:
    """Marks a place as half a copy of another, before its first file. Raises StorageError where a warehouse is."""
    with target.locked([layout.MODE]):  # an empty place may become a warehouse of its own at this moment
        if target.stat(layout.MODE) is not None:
            raise StorageError(f"{target} holds a warehouse already: name an empty place")
        if target.get(layout.COPIED_FROM) != source.encode():
            target.put(layout.COPIED_FROM, source.encode())


def end(target: Storage) -> bool:
    """Takes the mark away where the mode lies, which is copied last; whether there was one."""
    if target.stat(layout.COPIED_FROM) is None or target.stat(layout.MODE) is None:
        return False
    target.delete(layout.COPIED_FROM)
    return True


def refuse(storage: Storage) -> None:
    """Raises HalfCopy, with the way on, for a marked place. For whoever has found no mode there."""
    marked = storage.get(layout.COPIED_FROM)
    if marked is not None:
        source = marked.decode("utf-8", "replace").strip()
        raise HalfCopy(
            f"a copy of {source} into this place was stopped, or is under way, and files are missing: "
            f"`emds copy {quote(source)} {quote(str(storage))}` goes on"
        )
