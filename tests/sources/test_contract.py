"""What every parser must stand, whatever its source: each body cut, emptied, reordered, doubled, halved, or another's.

Each time it gives rows that the whole body states too (fewer are found short by `warehouse.quality`), or a typed
failure: never a wrong row, never an untyped exception.
A test is one rule for all bodies of one source, and reports every body that breaks it.
"""

from __future__ import annotations

import csv
import io
import json
import re
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import xlrd
from lxml import etree

from assets.parsing.outside_areas import OUTSIDE_AREAS
from assets.simulated.miso.workbook import workbook
from assets.sources import feeds, source
from tests.sources.conftest import Sample
from warehouse.clock import DAY, MarketDay, Window, days_of, local_midnight
from warehouse.errors import FeedError
from warehouse.market import Feed, Request
from warehouse.quality import judge
from warehouse.schema import Row, Rows
from warehouse.zones import ZONES

BODIES = Path(__file__).parent / "bodies"
CUTS = 60
"""Cuts of a body too large to be cut at every tenth byte."""
OURS_ALL_THE_SAME = {"ercot/dc-tie-flows_20260905_EXCERPT.json"}
"""Recorded without a feed, but of one: `ercot.dc_ties`."""
SAME_WIRE = {("nyiso.lbmp_da", "nyiso/rtlbmp_zone_20251102_TRIMMED.csv")}
"""Hourly means of real-time prices have the day-ahead file's columns: only the address tells them apart."""
HEADER = {"name", "label", "dataType", "searchable", "cardinality", "sortable", "hasRange"}
"""What a column of positional JSON rows is described by."""


class Failures(list[str]):
    """What fails in the checks of one rule: every one of them is reported at the end, with the sample's name."""

    @contextmanager
    def of(self, sample: str, case: str = "") -> Iterator[None]:
        """One check; the next one is made whether it fails or not."""
        try:
            yield
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            reason = "".join(traceback.format_exception_only(error)).strip()
            self.append(f"{sample} {case}\n{reason}\n(line {place.lineno} of {place.filename})")

    def report(self) -> None:
        """Fails with all of them."""
        if self:
            pytest.fail(f"{len(self)} failures\n\n" + "\n\n".join(self), pytrace=False)


@pytest.fixture
def failures() -> Failures:
    return Failures()


def spans_of(rows: Rows, feed: Feed) -> list[Window]:
    """The market days (or years) that rows lie in."""
    days = {MarketDay.at(row.ts, feed.tz).day for row in rows}
    if feed.yearly:
        return [
            Window(*(local_midnight(date(y, 1, 1), feed.tz) for y in (year, year + 1)))
            for year in sorted({d.year for d in days})
        ]
    return [MarketDay(day, feed.tz).window for day in sorted(days)]


def verdict(sample: Sample, body: bytes) -> set[Row]:
    """The rows that are believed of a spoilt body.

    None for a typed failure. Fails where one is not in the whole body too.
    """
    whole = stated_by(sample)
    try:
        stated = sample.parse(body)
    except FeedError as failure:
        reason = str(failure)
    else:
        return believed(sample, whole, stated)
    assert reason.strip()
    assert "\n" not in reason
    return set()


@cache
def stated_by(sample: Sample) -> Rows:
    """The rows of a whole body, parsed once."""
    return sample.parse()


def believed(sample: Sample, whole: Rows, stated: Rows) -> set[Row]:
    """The rows that `quality` keeps: all of them in the whole body, no span called whole that misses one."""
    spans = spans_of(whole, sample.feed)
    judged = judge(stated, sample.feed, spans, max((s.end for s in spans), default=0) + 40 * DAY)
    kept, good = set(judged.kept), set(whole)
    wrong = kept - good
    assert not wrong, f"{len(wrong)} wrong rows, first {min(wrong, key=lambda r: r.ts)}"
    for (zone, metric), parts in judged.whole.items():
        for part in parts:
            missing = {r for r in good - kept if (r.zone, r.metric) == (zone, metric) and r.ts in part}
            assert not missing, f"taken for whole without {missing}"
    return kept


# Ways to spoil a body. Each knows CSV, JSON, XML, zips of them, and workbooks.

Spoil = Callable[[list[Any]], list[Any]]


def spoilt(body: bytes, records: Spoil, cells: Spoil = list) -> bytes:
    """The body with its runs of records, or with the cells of its records, changed."""
    head = body.lstrip()[:1]
    if body[:2] == b"PK":
        return _spoilt_zip(body, records, cells)
    if body[:4] == b"\xd0\xcf\x11\xe0":
        return _spoilt_workbook(body, records, cells)
    if head in (b"{", b"["):
        return json.dumps(_spoilt_json(json.loads(body), records, cells)).encode()
    if head == b"<":
        root = etree.fromstring(body)
        _spoil_xml(root, records)
        return etree.tostring(root)
    return _spoilt_lines(body, records, cells)


def _spoilt_zip(body: bytes, records: Spoil, cells: Spoil) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, spoilt(old.read(entry), records, cells))
    return out.getvalue()


def _spoilt_workbook(body: bytes, records: Spoil, cells: Spoil) -> bytes:
    """The runs of rows that have an hour; days and hours are whole numbers, which no spoiling takes for figures."""
    sheet = xlrd.open_workbook(file_contents=body, logfile=io.StringIO()).sheet_by_index(0)
    rows = [[None if value == "" else value for value in sheet.row_values(i)] for i in range(sheet.nrows)]
    header = next(row for row in rows if "HourEnding" in row)
    day, hour = header.index("Market Day"), header.index("HourEnding")
    changed = []
    for has_hour, run in groupby(rows, lambda row: str(row[hour]).removesuffix(".0").isdigit()):
        if has_hour:
            whole = [
                [int(c) if i in (day, hour) and isinstance(c, float) else c for i, c in enumerate(row)] for row in run
            ]
            changed += records(whole)
        else:
            changed += run
    return workbook([cells(row) for row in changed])


def _spoilt_json(value: Any, records: Spoil, cells: Spoil) -> Any:
    if isinstance(value, dict):
        return dict(cells([(name, _spoilt_json(inner, records, cells)) for name, inner in value.items()]))
    if isinstance(value, list):
        inner = [_spoilt_json(item, records, cells) for item in value]
        return (
            records(inner)
            if inner and all(isinstance(item, dict | list) for item in inner) and not _is_header(inner)
            else inner
        )
    return value


def _is_header(items: list[Any]) -> bool:
    """`"fields": [{"name": ...}, ...]`: the columns of positional rows that follow."""
    return all(isinstance(item, dict) and set(item) <= HEADER for item in items)


def _spoil_xml(node: etree._Element, records: Spoil) -> None:
    for child in node:
        _spoil_xml(child, records)
    for tag in {child.tag for child in node if etree.QName(child).localname in ("TimeSeries", "Period", "Point")}:
        old = [child for child in node if child.tag == tag]
        place = node.index(old[0])
        for child in old:
            node.remove(child)
        for i, child in enumerate(records(old)):
            node.insert(place + i, etree.fromstring(etree.tostring(child)))


def _spoilt_lines(body: bytes, records: Spoil, cells: Spoil) -> bytes:
    """The longest run of lines of one width, its first line (the header) in its place."""
    end = "\r\n" if b"\r\n" in body else "\n"
    lines = [next(csv.reader([line]), []) for line in body.decode("utf-8-sig").splitlines()]
    width = Counter(len(line) for line in lines).most_common(1)[0][0]
    table = [i for i, line in enumerate(lines) if len(line) == width]
    first, rest = table[0], [lines[i] for i in table[1:]]
    changed = iter([cells(line) for line in records(rest)])
    before = [*lines[:first], cells(lines[first])]
    places = set(table)
    kept = [line for i, line in enumerate(lines[first + 1 :], first + 1) if i not in places]
    out = io.StringIO()
    whole = [*before, *changed, *kept]
    if whole[-1][:2] == ["C", "END OF REPORT"]:  # AEMO's count of lines would give every change away.
        whole[-1] = [*whole[-1][:2], str(len(whole))]
    csv.writer(out, lineterminator=end).writerows(whole)
    return out.getvalue().encode()


def backwards(items: list[Any]) -> list[Any]:
    return items[::-1]


def backwards_by_table(items: list[Any]) -> list[Any]:
    """AEMO's reports have several tables, each below a line `I` that names its columns: these stay in their place."""
    parts: list[list[Any]] = [[]]
    for item in items:
        if isinstance(item, list) and item[:1] == ["I"]:
            parts += [[item], []]
        else:
            parts[-1].append(item)
    return [item for part in parts for item in backwards(part)]


def twice(items: list[Any]) -> list[Any]:
    return [item for item in items for _ in range(2)]


def halved(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if i % 2 == 0 or not len(items) // 4 <= i < len(items) // 2 + 1]


def doubled(items: list[Any]) -> list[Any]:
    """One record in the middle comes twice, with another figure the second time."""
    middle = len(items) // 2
    return [*items[: middle + 1], _other(items[middle]), *items[middle + 1 :]] if items else items


def _other(record: Any) -> Any:
    """The record with its figures changed, and nothing else of it."""
    if isinstance(record, etree._Element):
        copy = etree.fromstring(etree.tostring(record))
        for leaf in copy.iter():
            if etree.QName(leaf).localname in ("quantity", "price.amount"):
                leaf.text = str(float(leaf.text or 0) + 1.5)
        return copy
    if isinstance(record, dict):
        figures = [name for name, value in record.items() if _is_figure(value)]
        return {name: _another(value) if name in figures else _other(value) for name, value in record.items()}
    if isinstance(record, list):
        return [_another(item) if _is_figure(item) else _other(item) for item in record]
    return record


def _is_figure(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, str) and re.fullmatch(r"-?\d*\.\d+", value) is not None)


def _another(value: Any) -> Any:
    return f"{float(value) + 1.5:.4f}" if isinstance(value, str) else value + 1.5


def cuts(body: bytes) -> Iterator[bytes]:
    """The body cut at every tenth byte; a large one less often, and then at line ends too."""
    step = 10 if len(body) <= 10 * CUTS * 10 else len(body) // CUTS
    yield from (body[:end] for end in range(step, len(body), step))
    if step > 10:
        ends = [m.end() for m in re.finditer(rb"\n", body)]
        yield from (body[:end] for end in ends[:: max(1, len(ends) // CUTS)] if end < len(body))


# The contract


def test_every_feed_has_a_body_of_its_own() -> None:
    bodies = {path.name.split("@")[0] for path in BODIES.iterdir()}
    missing = [f for f in feeds() if not any(name == f or name.rpartition(".")[0] == f for name in bodies)]
    assert not missing


def test_a_body_states_its_expected_rows(small_samples: list[Sample], failures: Failures) -> None:
    for own in small_samples:
        with failures.of(own.name):
            rows = expected_rows(own)
            stated = [
                (r.metric, r.zone, r.fuel or "", r.counterparty or "", r.ts, r.value, r.unit, r.resolution)
                for r in own.parse().sorted()
            ]
            assert stated == rows
            assert rows
    failures.report()


def expected_rows(own: Sample) -> list[tuple[object, ...]]:
    """The rows of the file beside a body."""
    with (BODIES / f"{own.name.rpartition('.')[0]}.expected.csv").open() as file:
        return [
            (
                r["metric"],
                r["zone"],
                r["fuel"],
                r["counterparty"],
                int(r["ts"]),
                float(r["value"]),
                r["unit"],
                r["resolution"],
            )
            for r in csv.DictReader(file)
        ]


def test_rows_are_the_feeds_own(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            for row in sample.parse():
                assert row.zone in sample.feed.zones
                assert sample.feed.carries(row.metric)
                assert row.resolution in (sample.feed.resolution, *sample.feed.other_resolutions)
                assert type(row.ts) is int
                assert type(row.value) is float
                assert (row.fuel is not None) == (row.metric in ("generation", "capacity"))
    failures.report()


def test_a_border_leads_to_a_zone_or_to_an_area_by_its_one_name(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            beyond = {row.counterparty for row in sample.parse() if row.counterparty is not None}
            assert beyond <= set(ZONES) | OUTSIDE_AREAS
    failures.report()


def test_nothing_believed_is_set_aside(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            judged = judge(sample.parse(), sample.feed, (), 0)
            assert not len(judged.quarantined), judged.findings
    failures.report()


NOTHING = [
    b"",
    b" \r\n",
    b"\xef\xbb\xbf",
    b"\x00" * 64,
    b"\xff\xfe\xfd",
    b"null",
    b"[]",
    b"{}",
    b"0",
    b'""',
    b"<a/>",
    b",,,\n,,,\n",
    b'"',
    b"PK\x03\x04",
    b"PK\x05\x06" + b"\x00" * 18,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600,
]


PAGES = [
    b"<!DOCTYPE html>\r\n<html><head><title>503</title></head><body>Service Unavailable</body></html>",
    b"<html><body><h1>Maintenance</h1></body></html>",
    b"\n\n<HTML lang='en'><p>Acceptable Use Policy Violation",
    b"Service Unavailable",
    b'<?xml version="1.0"?><Error><Code>BlobNotFound</Code></Error>',
    b'{"error": {"code": 500, "message": "Internal"}}',
    b'{"statusCode": 429, "message": "Rate limit is exceeded."}',
]


def test_a_body_of_nothing_gives_nothing(small_samples: list[Sample], failures: Failures) -> None:
    for own in small_samples:
        for body in NOTHING:
            with failures.of(own.name, f"{body[:20]!r}"):
                assert not verdict(own, body)
    failures.report()


def test_an_error_page_gives_nothing(small_samples: list[Sample], failures: Failures) -> None:
    for own in small_samples:
        for page in PAGES:
            with failures.of(own.name, f"{page[:40]!r}"), suppress(FeedError):
                rows = own.parse(page)
                raise AssertionError(f"no failure, {len(rows)} rows")
    failures.report()


@pytest.mark.slow
def test_a_cut_body_gives_no_wrong_row(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        for part in cuts(sample.body):
            with failures.of(sample.name, f"cut after {len(part)} bytes"):
                verdict(sample, part)
    failures.report()


SPOILT: dict[str, tuple[Spoil, Spoil]] = {
    "rows backwards": (backwards, list),
    "columns backwards": (list, backwards),
    "rows twice": (twice, list),
    "an hour doubled": (doubled, list),
    "an hour halved": (halved, list),
}


@pytest.mark.slow
def test_a_spoilt_body_gives_no_wrong_row(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        for name, (records, cells) in SPOILT.items():
            with failures.of(sample.name, name):
                body = spoilt(sample.body, records, cells)
                if records is halved and (b"A03" in sample.body or sample.feed.yearly):
                    # A missing point of an A03 curve repeats the last one, a missing plant type has none: intervals
                    # stay the same.
                    assert intervals(sample, body) <= intervals(sample, sample.body)
                else:
                    verdict(sample, body)
    failures.report()


def intervals(sample: Sample, body: bytes) -> set[tuple[object, ...]]:
    """Which series and interval starts a body states; none for a typed failure."""
    try:
        return {(row.zone, row.metric, row.fuel, row.counterparty, row.link, row.ts) for row in sample.parse(body)}
    except FeedError:
        return set()


def test_rows_in_any_order_are_the_same_rows(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            body = spoilt(sample.body, backwards_by_table)
            assert verdict(sample, body) == set(stated_by(sample))
    failures.report()


def test_another_feeds_body_gives_no_wrong_row(small_samples: list[Sample], failures: Failures) -> None:
    """Nothing, or the same rows: a source's live and daily files of one series may be read by either's parser."""
    for own in small_samples:
        right = set(stated_by(own))
        for other in feeds().values():
            if other.id == own.feed.id:
                continue
            for zone in {own.request.zone, other.zones[0], None}:
                request = replace(own.request, feed=other.id, days=own.request.days or (date(2026, 3, 3),), zone=zone)
                with failures.of(own.name, f"read as {other.id} of {zone}"), suppress(FeedError):
                    rows = set(other.parse(own.body, request))
                    assert rows <= right, f"a wrong row: {min(rows - right)}"
    failures.report()


def test_a_neighbour_of_our_series_gives_nothing(recordings: Path, failures: Failures) -> None:
    """Recorded answers that belong to no feed, each given to every feed of its source."""
    entries = [
        entry
        for entry in json.loads((recordings / "MANIFEST.json").read_bytes())
        if not entry["feed"] and entry["file"] not in OURS_ALL_THE_SAME
    ]
    assert entries
    for entry in entries:
        body = (recordings / entry["file"]).read_bytes()
        for other in source(entry["file"].partition("/")[0]).feeds:
            if (other.id, entry["file"]) in SAME_WIRE:
                continue
            zone = entry["zone"] if entry["zone"] in other.zones else other.zones[0]
            request = Request(other.id, "", days=days_of(entry["day"]) if entry["day"] else (), zone=zone)
            with failures.of(entry["file"], f"read as {other.id}"), suppress(FeedError):
                rows = other.parse(body, request)
                assert not len(rows), f"{len(rows)} rows"
    failures.report()
