"""Choose a content coding for a client, encode bodies, and name bodies by a hash."""

from __future__ import annotations

import gzip
import hashlib
from collections import deque
from functools import lru_cache

import brotli
import zstandard
from isal import igzip_lib
from werkzeug.http import parse_accept_header

CODINGS = ("zstd", "br", "gzip")
"""The codings in order of preference, which decides between equal weights."""
_LARGE = 256_000
"""The size in bytes above which brotli's best level takes too long: 754 ms for 545 kB at level 11."""
_COMPRESSORS: deque[zstandard.ZstdCompressor] = deque(maxlen=4)
"""Idle compressors of at most 1.4 MB each. Creating a compressor costs ten times as much as packing a day of rows."""


MOST_RANGES = 50
"""The ranges of an Accept or Accept-Encoding header that are read. Browsers send eight, linked-data clients thirty."""


def first_ranges(header: str) -> str:
    """Return the part of a header that is read."""
    return ",".join(header.split(",", MOST_RANGES)[:MOST_RANGES])


@lru_cache(maxsize=128)
def choose(accept_encoding: str) -> str:
    """Return the coding for an Accept-Encoding header (RFC 9110 section 12.5.3), or `identity` if none suits."""
    weights = parse_accept_header(first_ranges(accept_encoding))
    best = max(CODINGS, key=weights.quality)
    return best if 0 < weights.quality(best) >= weights.quality("identity") else "identity"


def pack(body: bytes, coding: str) -> bytes:
    """Return a body that is sent once in a coding, at a fast level.

    For rows, zstd 1 and brotli 2 also give smaller bodies than the next levels. ISA-L's gzip takes a tenth of zlib's
    time for a few per cent more bytes, which may differ between types of processor.
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
        _COMPRESSORS.append(compressor)  # a compressor takes one body at a time
    else:
        return body
    # The copy frees memory: a library's result may keep a buffer as long as the plain body.
    return bytes(memoryview(packed))


def pack_well(body: bytes, coding: str) -> bytes:
    """Return a body that is sent many times in a coding, at a small size. Windows stay within 8 MB (RFC 9659)."""
    large = len(body) > _LARGE
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=9 if large else 19).compress(body)
    if coding == "br":
        return bytes(brotli.compress(body, quality=6 if large else 11))
    return gzip.compress(body, 6 if large else 9, mtime=0)


def tag_of(body: bytes) -> str:
    """Return a name for the bytes of a body, which is equal on every worker and host."""
    return hashlib.blake2b(body, digest_size=12).hexdigest()
