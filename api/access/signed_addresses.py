"""Signed addresses: each opens one path as a key does, for an hour, without showing the key."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Callable

SIGNATURE_PATTERN = r"^([0-9]{1,18})\.([0-9]{1,12})\.[0-9A-Za-z_-]{43}$"
SIGNED_S = 3600
"""Lifetime of a signed address, in seconds."""
_SIGNATURE = re.compile(SIGNATURE_PATTERN[1:-1])


def sign(path: str, key: int, digest: bytes, until: int) -> str:
    """Return what makes the address of a path open as a key does, until an instant.

    The key's digest signs, which only the accounts and the key's holder have: a revoked key ends its addresses.
    """
    mac = hmac.digest(digest, f"{path} {until}".encode(), "sha256")
    return f"{key}.{until}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def signer_of(signature: str, path: str, now: int, digest_by_key: Callable[[int], bytes | None]) -> bytes | None:
    """Return the digest of the key that signed the address of a path; None where it did not, or not for now."""
    if not (match := _SIGNATURE.fullmatch(signature)):
        return None
    key, until = int(match[1]), int(match[2])
    digest = digest_by_key(key) if now < until <= now + SIGNED_S else None
    if not digest or not hmac.compare_digest(sign(path, key, digest, until), signature):
        return None
    return digest
