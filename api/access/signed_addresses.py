"""Sign URLs that grant access to a path for an hour, as a key would, without showing the key."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Callable

SIGNATURE_PATTERN = r"^([0-9]{1,18})\.([0-9]{1,12})\.[0-9A-Za-z_-]{43}$"
SIGNED_S = 3600
"""The lifetime of a signed URL, in seconds."""
_SIGNATURE = re.compile(SIGNATURE_PATTERN[1:-1])


def sign(path: str, key: int, digest: bytes, until: int) -> str:
    """Return a signature that grants access to `path` until the given time (Unix seconds), as the key would.

    The key's digest signs, which only the accounts and the key's holder have, so revoking a key revokes its URLs.
    """
    mac = hmac.digest(digest, f"{path} {until}".encode(), "sha256")
    return f"{key}.{until}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def signer_of(signature: str, path: str, now: int, digest_by_key: Callable[[int], bytes | None]) -> bytes | None:
    """Return the digest of the key that signed the URL of `path`; None if the signature is invalid or not current."""
    if not (match := _SIGNATURE.fullmatch(signature)):
        return None
    key, until = int(match[1]), int(match[2])
    digest = digest_by_key(key) if now < until <= now + SIGNED_S else None
    if not digest or not hmac.compare_digest(sign(path, key, digest, until), signature):
        return None
    return digest
