"""Seal every stored file with its schema version, its key, and a SHA-256 of all its bytes.

The digits of the checksum count as zeros. A monthly file has the seal in the Parquet footer, a raw response in its
head, a JSON document as its last field. Any Parquet, zstd or JSON reader can open these files. The seal stays with a
copy and is replaced with the file. It reveals a file that was moved to another key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from warehouse.errors import DamagedFile, StorageError

SCHEMA_VERSION = 6
"""The version of the layout and of every file that this release writes."""

DIGITS = 64
SHORT_DIGITS = 16
BLANK = "0" * DIGITS
"""The placeholder for the checksum."""
MARK = b'"sha256":"'
"""The text before the digits of the checksum."""
_VERSION = re.compile(rb'\{"schema":(\d{1,9})[,}]')


def stamped(body: bytes, end: int | None = None) -> bytes:
    """Return bytes whose checksum replaces the blank after the last mark, or after the last mark before `end`."""
    at = body.rindex(MARK, 0, end) + len(MARK)
    return body[:at] + _digest(body, at) + body[at + DIGITS :]


def check(body: bytes, key: str, end: int | None = None) -> int:
    """Return the position of the checksum in `stamped` bytes. Raises DamagedFile if it does not match the bytes."""
    at = body.rfind(MARK, 0, end) + len(MARK)
    if at < len(MARK):
        raise DamagedFile(key, "has no checksum")
    if body[at : at + DIGITS] != _digest(body, at):
        raise DamagedFile(key, "does not match its checksum")
    return at


def short(part: bytes) -> str:
    """Return the first SHORT_DIGITS digits of the SHA-256 of a part of a file that is read separately."""
    return hashlib.sha256(part).hexdigest()[:SHORT_DIGITS]


def members(key: str) -> dict[str, Any]:
    """Return the first fields of a file's seal, which `check_members` compares."""
    return {"schema": SCHEMA_VERSION, "key": key}


def check_members(found: Mapping[str, Any], key: str, own: str | None = None) -> None:
    """Check that a seal belongs to this release and to this key; `own` is the key that it states, if not this one.

    Raises StorageError for a file of another release, which is not damaged, and DamagedFile for one of another key.
    """
    _check_version(found.get("schema"), key)
    if found.get("key") != (own or key):
        raise DamagedFile(key, f"is a copy of {found.get('key')}")


def check_release(stored: bytes, key: str) -> bool:
    """Check the version that the seal in a file's bytes states; return whether it states one.

    A raw response begins with its seal, after eight bytes; all other files end with it. The checksum is not read.
    Raises StorageError for a file of another release.
    """
    version = _VERSION.match(stored, 8) or next(reversed([*_VERSION.finditer(stored)]), None)
    if version:
        _check_version(int(version[1]), key)
    return version is not None


def _check_version(version: object, key: str) -> None:
    if not isinstance(version, int):
        raise DamagedFile(key, "has no schema version")
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
