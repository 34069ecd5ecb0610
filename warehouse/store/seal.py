"""The checksum inside every kept file: SHA-256 over its bytes, taken with the checksum's own digits as zeros.

A month file carries it in the Parquet footer, a kept body in its head, a JSON document as its last member; so each
stays a file that any Parquet, zstd or JSON reader opens, travels through copies, and is replaced in one step.
"""

from __future__ import annotations

import hashlib

from warehouse.errors import DamagedFile, StorageError

SCHEMA_VERSION = 5
"""Of the layout and of every file that this release writes."""

DIGITS = 64
SHORT_DIGITS = 16
BLANK = "0" * DIGITS
"""Stands where the checksum will."""
MARK = b'"sha256":"'
"""Stands before its digits in a Parquet file's footer."""


def stamped(body: bytes, at: int) -> bytes:
    """The bytes with their checksum in place of the blank at an offset."""
    return body[:at] + _digest(body, at) + body[at + DIGITS :]


def short(part: bytes) -> str:
    """Of a part of a file that is read by itself: the first SHORT_DIGITS digits of its SHA-256."""
    return hashlib.sha256(part).hexdigest()[:SHORT_DIGITS]


def stamped_footer(body: bytes) -> bytes:
    """The bytes of a Parquet file with their checksum in place of the blank in its footer."""
    return stamped(body, body.rindex(MARK) + len(MARK))


def check_footer(body: bytes, key: str) -> int:
    """The place of the checksum in a Parquet file's footer. Raises DamagedFile where it is not that of the bytes."""
    at = body.rfind(MARK) + len(MARK)
    if at < len(MARK):
        raise DamagedFile(key, "has no checksum")
    check(body, at, key)
    return at


def check(body: bytes, at: int, key: str) -> None:
    """Raises DamagedFile where the checksum at an offset is not that of the bytes."""
    if body[at : at + DIGITS] != _digest(body, at):
        raise DamagedFile(key, "its bytes are not those that were written")


def check_version(version: object, key: str) -> None:
    """Raises StorageError for a file of another release, with the way out; nothing is wrong with the file."""
    if not isinstance(version, int):
        raise DamagedFile(key, "does not say its schema's version")
    if version != SCHEMA_VERSION:
        raise StorageError(
            f"{key} was written by another release (schema {version}, this one writes {SCHEMA_VERSION}): use that "
            "release, or name another EMDS_HOME and fill it with `emds backfill`"
        )


def _digest(body: bytes, at: int) -> bytes:
    rest = memoryview(body)
    digest = hashlib.sha256(rest[:at])
    digest.update(BLANK.encode())
    digest.update(rest[at + DIGITS :])
    return digest.hexdigest().encode()
