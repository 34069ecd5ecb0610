"""Spell keys as `emds_`, 43 base62 digits of 32 random bytes, and 6 base62 digits of their CRC-32.

The checksum finds a typing error without a database query, and helps secret scanners to recognise a key. Keys from
before the checksum end with the 43 digits and stay valid.
"""

from __future__ import annotations

import hashlib
import re
import string
import zlib

KEY_PREFIX = "emds_"
KEY_PATTERN = "^emds_[0-9A-Za-z]{43}([0-9A-Za-z]{6})?$"
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_KEY = re.compile(KEY_PATTERN[1:-1])
_DIGITS = 43  # 62 ** 43 > 2 ** 256; six digits suffice for the checksum, as 62 ** 6 > 2 ** 32
_PLAIN_LENGTH = len(KEY_PREFIX) + _DIGITS


def spell(secret: bytes) -> str:
    """Return the key of 32 random bytes."""
    plain = KEY_PREFIX + _base62(int.from_bytes(secret), _DIGITS)
    return plain + _checksum(plain)


def is_well_formed(key: str) -> bool:
    """Return whether `key` has the form of a key, with a correct checksum if it has a checksum."""
    if not _KEY.fullmatch(key):
        return False
    plain, check = key[:_PLAIN_LENGTH], key[_PLAIN_LENGTH:]
    return not check or check == _checksum(plain)


def digest_of(key: str) -> bytes:
    """Return the digest of a key for the database. 256 random bits need neither salt nor a slow hash."""
    return hashlib.sha256(key.encode()).digest()


def _checksum(plain: str) -> str:
    return _base62(zlib.crc32(plain.encode()), 6)


def _base62(number: int, digits: int) -> str:
    text = ""
    for _ in range(digits):
        number, digit = divmod(number, 62)
        text = _BASE62[digit] + text
    return text
