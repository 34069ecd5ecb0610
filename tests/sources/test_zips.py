"""Zips: whole by either of their two checksums, and refused by neither."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import pytest

from assets.parsing.body import unzipped
from warehouse.errors import FeedChanged

TEXT = b"DeliveryDate,HourEnding\n" * 40
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


@pytest.fixture(params=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def body(request: pytest.FixtureRequest) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", request.param) as archive:
        archive.writestr("first.csv", b"first")
        archive.writestr("cdr.csv", TEXT)
    return out.getvalue()


def spoilt(body: bytes, signature: bytes, offset: int) -> bytes:
    """The checksum of the second file's header in one of the two places made another one."""
    at = body.rindex(signature) + offset
    return body[:at] + bytes([body[at] ^ 255]) + body[at + 1 :]


def contents(body: bytes) -> Iterator[bytes]:
    return (content for _, content in unzipped(body))


@pytest.mark.parametrize(("signature", "offset"), [(CENTRAL, 16), (LOCAL, 14)])
def test_a_file_is_whole_by_either_checksum(body: bytes, signature: bytes, offset: int) -> None:
    assert list(contents(spoilt(body, signature, offset))) == [b"first", TEXT]


def test_a_file_that_neither_checksum_fits_is_broken(body: bytes) -> None:
    with pytest.raises(FeedChanged, match="Bad CRC"):
        list(contents(spoilt(spoilt(body, CENTRAL, 16), LOCAL, 14)))


def test_bytes_that_changed_under_way_are_broken(body: bytes) -> None:
    at = body.rindex(CENTRAL, 0, body.rindex(CENTRAL)) - 3  # in the second file's bytes
    with pytest.raises(FeedChanged):
        list(contents(body[:at] + bytes([body[at] ^ 255]) + body[at + 1 :]))
