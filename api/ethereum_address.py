"""Ethereum addresses and their checksum (EIP-55): an owner's slip of the finger must not send the buyers' money into nowhere."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_MASK = (1 << 64) - 1
_RATE = 136


def is_address(text: str) -> bool:
    """Whether a text is an address: all lower or all upper case, or mixed case that spells its checksum; never address zero."""
    if not _ADDRESS.fullmatch(text) or int(text, 16) == 0:
        return False
    digits = text[2:]
    return digits in (digits.lower(), digits.upper()) or text == checksummed(text)


def checksummed(address: str) -> str:
    """The address in the mixed case that EIP-55 gives it."""
    digits = address[2:].lower()
    marks = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(mark, 16) >= 8 else digit for digit, mark in zip(digits, marks, strict=False)
    )


def keccak256(text: bytes) -> bytes:
    """Keccak as Ethereum uses it: SHA-3 before its padding was changed, so that `hashlib` has it not."""
    padded = bytearray(text) + b"\x01" + bytes(-(len(text) + 1) % _RATE)
    padded[-1] |= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), _RATE):
        for lane in range(_RATE // 8):
            lanes[lane] ^= int.from_bytes(padded[start + 8 * lane : start + 8 * lane + 8], "little")
        lanes = _permuted(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _permuted(lanes: list[int]) -> list[int]:
    """Keccak-f[1600], FIPS 202 section 3.3: theta, rho and pi, chi, iota, twenty-four times."""
    register = 1
    for _ in range(24):
        columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        lanes = [lane ^ columns[(i + 4) % 5] ^ _turned(columns[(i + 1) % 5], 1) for i, lane in enumerate(lanes)]
        x, y, held = 1, 0, lanes[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            lanes[x + 5 * y], held = _turned(held, (step + 1) * (step + 2) // 2 % 64), lanes[x + 5 * y]
        for row in range(0, 25, 5):
            five = lanes[row : row + 5]
            lanes[row : row + 5] = [five[x] ^ (~five[(x + 1) % 5] & _MASK & five[(x + 2) % 5]) for x in range(5)]
        for bit in range(7):
            lanes[0] ^= (register & 1) << ((1 << bit) - 1)
            register = (register << 1 ^ (0x171 if register & 0x80 else 0)) & 0xFF
    return lanes


def _turned(lane: int, by: int) -> int:
    return (lane << by | lane >> (64 - by)) & _MASK if by else lane
