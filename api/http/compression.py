"""Content codings: which one a client gets, and bytes in it."""

from __future__ import annotations

import gzip
from collections import deque

import brotli
import zstandard
from isal import igzip_lib

from warehouse.caches import cache_short

CODINGS = ("zstd", "br", "gzip")
"""The preferred one first, where a client gives several the same weight."""
LEAST_BYTES = 1024
"""Shorter bodies fit one packet anyway."""
_LARGE = 256_000
"""Above this brotli's best level takes too long: 754 ms for 545 kB at level 11."""

_COMPRESSORS: deque[zstandard.ZstdCompressor] = deque(maxlen=4)
"""Idle ones, at most 1.4 MB each. To make one costs ten times what a day of rows then takes."""


@cache_short(entries=1024)
def choose(accept_encoding: str) -> str:
    """The coding for an Accept-Encoding header (RFC 9110 section 12.5.3); `identity` where none suits."""
    weights: dict[str, float] = {}
    for member in accept_encoding.lower().split(","):
        coding, _, rest = member.partition(";")
        weights[coding.strip()] = _weight(rest)
    best, most = "identity", 0.0
    for coding in CODINGS:
        weight = weights.get(coding, weights.get("*", 0.0))
        if weight > most:
            best, most = coding, weight
    return "identity" if weights.get("identity", 0.0) > most else best


def _weight(text: str) -> float:
    name, _, number = text.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(max(float(number), 0.0), 1.0)
    except ValueError:
        return 0.0


def pack(body: bytes, coding: str) -> bytes:
    """For a body that is sent once: fast.

    Of rows, zstd 1 and brotli 2 are smaller than the next levels too. ISA-L's gzip takes a tenth of zlib's time for a
    few hundredths more; its bytes may differ between kinds of processors.
    """
    # A copy: a library's own result may hold on to memory of the length of the plain body.
    return bytes(memoryview(_packed(body, coding)))


def _packed(body: bytes, coding: str) -> bytes:
    if coding == "br":
        return bytes(brotli.compress(body, quality=2))
    if coding == "gzip":
        return bytes(igzip_lib.compress(body, 1, igzip_lib.COMP_GZIP))
    try:
        compressor = _COMPRESSORS.pop()  # one takes one body at a time
    except IndexError:
        compressor = zstandard.ZstdCompressor(level=1)
    packed = compressor.compress(body)
    _COMPRESSORS.append(compressor)
    return packed


def pack_well(body: bytes, coding: str) -> bytes:
    """For a body that is sent many times: small. Windows stay within 8 MB (RFC 9659)."""
    large = len(body) > _LARGE
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=9 if large else 19).compress(body)
    if coding == "br":
        return bytes(brotli.compress(body, quality=6 if large else 11))
    return gzip.compress(body, 6 if large else 9, mtime=0)
