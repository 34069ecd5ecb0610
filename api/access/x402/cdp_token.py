"""The bearer token of Coinbase's facilitator: a JWT for one address, signed with the owner's Ed25519 key.

docs.cdp.coinbase.com/get-started/authentication: header `kid` and `nonce`; claims `sub`, `iss` "cdp", `nbf`, `exp`,
`uris`.
"""

from __future__ import annotations

import base64
import secrets
from urllib.parse import urlsplit

import orjson

_LIFE_S = 120


def token(credentials: str, method: str, url: str, now: int) -> str:
    """Return the JWT for `method url`.

    `credentials` are KEY_ID:SECRET, the secret 64 bytes in base64: seed and public key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
    )  # 20 MB that only this facilitator needs

    name, _, secret = credentials.partition(":")
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret)[:32])
    parts = urlsplit(url)
    header = {"alg": "EdDSA", "typ": "JWT", "kid": name, "nonce": secrets.token_hex(16)}
    claims = {
        "sub": name,
        "iss": "cdp",
        "nbf": now,
        "exp": now + _LIFE_S,
        "uris": [f"{method} {parts.netloc}{parts.path}"],
    }
    signed = f"{_base64url(orjson.dumps(header))}.{_base64url(orjson.dumps(claims))}"
    return f"{signed}.{_base64url(key.sign(signed.encode()))}"


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
