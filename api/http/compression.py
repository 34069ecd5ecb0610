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
    weights = parse_weights(accept_encoding)
    best = max(CODINGS, key=lambda coding: weights.get(coding, weights.get("*", 0.0)))
    weight = weights.get(best, weights.get("*", 0.0))
    return best if weight and weight >= weights.get("identity", 0.0) else "identity"


def parse_weights(header: str) -> dict[str, float]:
    """The members of an Accept or Accept-Encoding header with their weights (RFC 9110 section 12.4.2), lower case."""
    weights = {}
    for member in header.lower().split(","):
        name, *parameters = (part.strip() for part in member.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        try:
            weights[name] = min(max(float(weight), 0.0), 1.0)
        except ValueError:
            weights[name] = 0.0
    return weights


def pack(body: bytes, coding: str) -> bytes:
    """For a body that is sent once: fast.

    Of rows, zstd 1 and brotli 2 are smaller than the next levels too. ISA-L's gzip takes a tenth of zlib's time for a
    few hundredths more; its bytes may differ between kinds of processors.
    """
    if coding == "br":
        packed = brotli.compress(body, quality=2)
    elif coding == "gzip":
        packed = igzip_lib.compress(body, 1, igzip_lib.COMP_GZIP)
    elif coding == "zstd":
        try:
            compressor = _COMPRESSORS.pop()
        except IndexError:
            compressor = zstandard.ZstdCompressor(level=1)
        packed = compressor.compress(body)
        _COMPRESSORS.append(compressor)  # one takes one body at a time
    else:
        return body
    # A copy: a library's own result may hold on to memory of the length of the plain body.
    return bytes(memoryview(packed))


def pack_well(body: bytes, coding: str) -> bytes:
    """For a body that is sent many times: small. Windows stay within 8 MB (RFC 9659)."""
    large = len(body) > _LARGE
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=9 if large else 19).compress(body)
    if coding == "br":
        return bytes(brotli.compress(body, quality=6 if large else 11))
    return gzip.compress(body, 6 if large else 9, mtime=0)
