"""Test what all parsers share: numbers in texts, complete zips, CSV by Arrow, sums of parts that come and go."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from math import fsum

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.parsing import arrow_csv
from assets.parsing.body import number, unzipped
from assets.parsing.totals import Part, extend_total, total
from assets.sources import feed
from warehouse.errors import FeedChanged
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows, SeriesKey


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", 1234.5),
        ("-12,345,678", -12_345_678.0),
        ("+1,000", 1000.0),
        (" 999,999. ", 999_999.0),
        ("29.84", 29.84),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        (7, 7.0),
    ],
)
def test_thousands_may_have_commas(text: object, value: float) -> None:
    assert number(text, "price") == value


@pytest.mark.parametrize(
    "text", ["29,84", "1,2345", "1234,567", ",5", "1,", "1,,000", "1,23,456", "1.234,5", "8_8", "８８", "", "nan", True]
)
def test_what_is_no_number_or_has_a_decimal_comma_is_refused(text: object) -> None:
    with pytest.raises(FeedChanged):
        number(text, "price")


def test_no_row_is_a_negative_zero() -> None:
    rows, key = Rows(), SeriesKey("GB", "interchange", "MW", "1h")
    rows.add("GB", "demand", 0, -0.0, "MW", "1h")
    rows.extend(key, [0, 3600], [-0.0, -1.0])
    assert [str(row.value) for row in rows.sorted()] == ["0.0", "0.0", "-1.0"]


@pytest.mark.parametrize("total", [2, "2", True, [2]])
def test_a_count_of_records_that_are_not_all_there_is_refused_in_any_spelling(total: object) -> None:
    body = {"total_count": total, "results": [{"date_heure": "2026-03-03T00:00:00+00:00", "consommation": 60000}]}
    with pytest.raises(FeedChanged):
        feed("rte.eco2mix").parse(json.dumps(body).encode(), Request("rte.eco2mix", ""))
    body["total_count"] = "1"
    assert not len(feed("rte.eco2mix").parse(json.dumps(body).encode(), Request("rte.eco2mix", "")))


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
    """Return the zip with a changed checksum of the second file, in the header given by `signature` and `offset`."""
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


INTERRUPTED = """
import os, random, signal, threading, time
import pyarrow as pa
from assets.parsing import arrow_csv

class Stop(BaseException): ...

def stop(*_): raise Stop

signal.signal(signal.SIGINT, stop)
lines = "".join(f"t{i % 300},{i * 0.5}\\n" for i in range(5000)).encode()
types = {"a": arrow_csv.TEXT, "b": pa.float64()}
random.seed(1)
lost = 0
for _ in range(150):
    sender = threading.Timer(random.uniform(0.001, 0.01), os.kill, (os.getpid(), signal.SIGINT))
    try:
        sender.start()
        while sender.is_alive():
            arrow_csv.read("x", lines, ["a", "b"], types)
        time.sleep(0.1)
        lost += 1
    except Stop:
        pass
    sender.join()
print(lost)
"""


def test_what_is_no_figure_is_named() -> None:
    types = {"a": arrow_csv.TEXT, "b": pa.float64()}
    assert arrow_csv.read("x", b"t,1\nt,\n", ["a", "b"], types).to_pydict() == {"a": ["t", "t"], "b": [1.0, None]}
    with pytest.raises(FeedChanged, match=r"^x: "):
        arrow_csv.read("x", b"t,one\n", ["a", "b"], types)


@pytest.mark.slow
def test_no_signal_is_lost_while_it_reads() -> None:
    """Check that signals reach a run; Arrow's own handling lost 10 to 18 of these, so a cancelled run continued."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == ("0\n", "")


NET = SeriesKey("GB", "interchange", "MW", "30m")
READINGS = st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3)), max_size=8)
PARTS = st.lists(st.tuples(READINGS, st.integers(0, 8)), max_size=4).map(
    lambda parts: [Part([ts for ts, _ in read], [float(value) for _, value in read], since) for read, since in parts]
)


def defined(parts: list[Part]) -> dict[int, float]:
    """Return the sum at every time for which each part that is needed by then has exactly one value."""
    sums = {}
    for ts in {ts for part in parts for ts in part.ts}:
        stated = [{value for at, value in zip(*part[:2], strict=True) if at == ts} for part in parts]
        needed = [ts >= min([part.since, *part.ts]) for part in parts]
        if all(len(values) == 1 for values, wanted in zip(stated, needed, strict=True) if wanted):
            sums[ts] = fsum(value for values in stated for value in values)
    return sums


@given(PARTS, st.sets(st.integers(0, 6)))
def test_a_total_is_the_sum_where_no_part_is_missing(parts: list[Part], refused: set[int]) -> None:
    sums, rows = total(parts), Rows()
    assert dict(zip(sums.ts, sums.values, strict=True)) == defined(parts)
    assert sums.ts == sorted(set(sums.ts))
    assert len(sums.ts) + sums.incomplete + sums.conflicting == len({ts for part in parts for ts in part.ts})
    rows.refuse(NET.zone, NET.metric, refused)
    extend_total(rows, NET, parts)
    assert {row.ts: row.value for row in rows} == {ts: v for ts, v in defined(parts).items() if ts not in refused}
