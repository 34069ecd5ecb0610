"""What a key holds, and how a change of it is put: the values that a folder and a bucket share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from warehouse.errors import StorageError

WAIT_S = 120.0
"""So long an update waits for other writers of its key."""


class Identity(NamedTuple):
    """Which bytes a key holds right now: equal identities mean equal bytes."""

    version: int
    size: int
    tag: Hashable
    """The inode of a file; ETag and generation of an object."""


class Stored(NamedTuple):
    """What a key holds."""

    body: bytes
    identity: Identity


Change = Callable[[Stored | None], bytes | None]
"""Computes the bytes to put from what a key holds (None: nothing); None leaves it as it is.

It is called again where another writer was first, also where it finds that out itself and raises Conflict.
"""


def checked_key(key: str) -> str:
    """The key. Raises StorageError for one that would leave its warehouse."""
    if key.startswith("/") or "\0" in key or (".." in key and ".." in key.split("/")):
        raise StorageError(f"not a key: {key!r}")
    return key
