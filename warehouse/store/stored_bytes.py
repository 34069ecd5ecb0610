"""Define the values that folders and buckets share: stored bytes, their identity and their changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from warehouse.errors import StorageError

WAIT_S = 120.0
"""The time in seconds that an update waits for other writers of its key."""


class Identity(NamedTuple):
    """The identity of the bytes that a key has now. Equal identities mean equal bytes."""

    version: int
    size: int
    tag: Hashable
    """The inode of a file, or the ETag and generation of an object."""


class Stored(NamedTuple):
    """The bytes of a key with their identity."""

    body: bytes
    identity: Identity


Change = Callable[[Stored | None], bytes | None]
"""Computes new bytes from the stored ones, which are None for a missing key. None as the result changes nothing.

It is called again if another writer was first, also if it detects that itself and raises Conflict.
"""


def checked_key(key: str) -> str:
    """Return the key. Raises StorageError for a key that would leave its warehouse."""
    if key.startswith("/") or "\0" in key or (".." in key and ".." in key.split("/")):
        raise StorageError(f"invalid key: {key!r}")
    return key
