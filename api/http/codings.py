"""Content codings: which one a client takes, and a body in it; the name of a body's bytes."""

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
"""The preferred one first, where a client gives several the same weight."""
_LARGE = 256_000
"""Above this brotli's best level takes too long: 754 ms for 545 kB at level 11."""
_COMPRESSORS: deque[zstandard.ZstdCompressor] = deque(maxlen=4)
"""Idle ones, at most 1.4 MB each. To make one costs ten times what a day of rows then takes."""


MOST_RANGES = 50
"""Of an Accept or Accept-Encoding header; more are not read. Browsers send eight, clients of linked data thirty."""


def first_ranges(header: str) -> str:
    """Return the part of a header that is read."""
    return ",".join(header.split(",", MOST_RANGES)[:MOST_RANGES])


@lru_cache(maxsize=128)
def choose(accept_encoding: str) -> str:
    """The coding for an Accept-Encoding header (RFC 9110 section 12.5.3); `identity` where none suits."""
    weights = parse_accept_header(first_ranges(accept_encoding))
    best = max(CODINGS, key=weights.quality)
    return best if 0 < weights.quality(best) >= weights.quality("identity") else "identity"


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


def tag_of(body: bytes) -> str:
    """A name for bytes: equal on every worker and host."""
    return hashlib.blake2b(body, digest_size=12).hexdigest()
