"""The seal inside every kept file: schema version, the file's own key, and a SHA-256 over all its bytes.

The checksum is taken with its own digits as zeros. A month file carries the seal in the Parquet footer, a kept body in
its head, a JSON document as its last member; so each stays a file that any Parquet, zstd or JSON reader opens, travels
through copies, and is replaced in one step. A file that is moved to another key is noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from warehouse.errors import DamagedFile, StorageError

SCHEMA_VERSION = 6
"""Of the layout and of every file that this release writes."""

DIGITS = 64
SHORT_DIGITS = 16
BLANK = "0" * DIGITS
"""Stands where the checksum will."""
MARK = b'"sha256":"'
"""Stands before its digits."""
_VERSION = re.compile(rb'\{"schema":(\d{1,9})[,}]')


def stamped(body: bytes, end: int | None = None) -> bytes:
    """The bytes with their checksum in place of the blank behind the last mark, or the last one before `end`."""
    at = body.rindex(MARK, 0, end) + len(MARK)
    return body[:at] + _digest(body, at) + body[at + DIGITS :]


def check(body: bytes, key: str, end: int | None = None) -> int:
    """The place of the checksum in `stamped` bytes. Raises DamagedFile where it is not that of the bytes."""
    at = body.rfind(MARK, 0, end) + len(MARK)
    if at < len(MARK):
        raise DamagedFile(key, "has no checksum")
    if body[at : at + DIGITS] != _digest(body, at):
        raise DamagedFile(key, "its bytes are not those that were written")
    return at


def short(part: bytes) -> str:
    """Of a part of a file that is read by itself: the first SHORT_DIGITS digits of its SHA-256."""
    return hashlib.sha256(part).hexdigest()[:SHORT_DIGITS]


def members(key: str) -> dict[str, Any]:
    """Return the first members of a file's seal: `check_members` compares them."""
    return {"schema": SCHEMA_VERSION, "key": key}


def check_members(found: Mapping[str, Any], key: str, own: str | None = None) -> None:
    """Check that a seal belongs to this release and to this key; `own`: the key that it states, if not this one.

    Raises StorageError for a file of another release, which is not damaged, and DamagedFile for one of another key.
    """
    _check_version(found.get("schema"), key)
    if found.get("key") != (own or key):
        raise DamagedFile(key, f"is a copy of {found.get('key')}")


def check_release(stored: bytes, key: str) -> bool:
    """Check the version that the seal in a file's bytes states; return whether it states one.

    A raw response begins with its seal, behind eight bytes; any other file ends with it. The checksum is not read.
    Raises StorageError for a file of another release.
    """
    version = _VERSION.match(stored, 8) or next(reversed([*_VERSION.finditer(stored)]), None)
    if version:
        _check_version(int(version[1]), key)
    return version is not None


def _check_version(version: object, key: str) -> None:
    if not isinstance(version, int):
        raise DamagedFile(key, "does not say its schema's version")
    if version != SCHEMA_VERSION:
        raise StorageError(
            f"{key} was written by another release (schema {version}, this one writes {SCHEMA_VERSION}): use that "
            "release, or name another EMDS_HOME, back up the accounts database into it (keys, quotas, payments) and "
            'fill it with `emds backfill`. docs/operating.md, "Upgrade", has the commands'
        )


def _digest(body: bytes, at: int) -> bytes:
    rest = memoryview(body)
    digest = hashlib.sha256(rest[:at])
    digest.update(BLANK.encode())
    digest.update(rest[at + DIGITS :])
    return digest.hexdigest().encode()
