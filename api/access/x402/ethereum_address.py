"""Check Ethereum addresses and their checksum (EIP-55), because a mistyped receiver would lose the buyers' money."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


def is_address(text: str) -> bool:
    """Return whether a text is an address in a single case, or in mixed case with a correct checksum.

    The zero address is not accepted.
    """
    if not _ADDRESS.fullmatch(text) or int(text, 16) == 0:
        return False
    digits = text[2:]
    return digits in (digits.lower(), digits.upper()) or text == checksummed(text)


def checksummed(address: str) -> str:
    """Return the address in the mixed case of EIP-55."""
    digits = address[2:].lower()
    marks = keccak256(digits.encode()).hex()
    return "0x" + "".join(d.upper() if int(mark, 16) >= 8 else d for d, mark in zip(digits, marks, strict=False))


def keccak256(content: bytes) -> bytes:
    """Return the Keccak-256 of Ethereum: SHA-3 with its earlier padding, which `hashlib` lacks."""
    from Crypto.Hash import keccak  # imported here, because only payments need it

    return keccak.new(digest_bits=256, data=content).digest()
