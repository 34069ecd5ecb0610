"""Test every parser with each body of its source: cut, emptied, reordered, doubled, halved, or from another feed.

A parser must return rows of the complete body or raise a typed error, never return a wrong row.
`warehouse.judge.quality` finds missing rows. Each test is a rule for all bodies of a source, and reports every body
that breaks it.
"""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from assets.parsing.outside_areas import OUTSIDE_AREAS
from assets.sources import feeds, source
from tests.sources.believed_rows import Failures, rows_of, stated_by, verdict
from tests.sources.conftest import Sample
from tests.sources.spoilt_bodies import (
    CUTS,
    MOST_CUTS,
    Spoil,
    backwards,
    backwards_by_table,
    cuts,
    doubled,
    halved,
    spoilt,
    twice,
)
from warehouse.errors import FeedError
from warehouse.judge.quality import judge
from warehouse.market.clock import days_of
from warehouse.market.feeds import Request
from warehouse.market.metrics import BY_FUEL
from warehouse.market.vocabulary import actual_of
from warehouse.market.zones import ZONES

BODIES = Path(__file__).parent / "bodies"
OURS_ALL_THE_SAME = {"ercot/dc-tie-flows_20260905_EXCERPT.json"}
"""The recording names no feed, but belongs to `ercot.dc_ties`."""
SAME_WIRE = {("nyiso.lbmp_da", "nyiso/rtlbmp_zone_20251102_TRIMMED.csv")}
"""Hourly means of real-time prices have the columns of the day-ahead file; only the URL differs."""


@pytest.fixture
def failures() -> Failures:
    return Failures()


def test_every_feed_has_a_body_of_its_own() -> None:
    bodies = {path.name.split("@")[0] for path in BODIES.iterdir()}
    missing = [f for f in feeds() if not any(name == f or name.rpartition(".")[0] == f for name in bodies)]
    assert not missing


def test_a_body_states_its_expected_rows(small_samples: list[Sample], failures: Failures) -> None:
    for own in small_samples:
        with failures.of(own.name):
            rows = expected_rows(own)
            stated = [
                (
                    *(r.metric, r.zone, r.fuel or "", r.counterparty or "", r.ts, r.value, r.unit, r.resolution),
                    *(str(r.published_at or ""), r.basis or ""),
                    *("" if bound is None else str(bound) for bound in (r.low, r.high)),
                    r.factors or "",
                )
                for r in own.parse().sorted()
            ]
            assert stated == rows
            assert rows
    failures.report()


def expected_rows(own: Sample) -> list[tuple[object, ...]]:
    """Return the rows of the file beside a body."""
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
                r.get("published_at") or "",
                r.get("basis") or "",
                *(r.get(name) or "" for name in ("low", "high", "factors")),
            )
            for r in csv.DictReader(file)
        ]


def test_rows_are_the_feeds_own(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            for row in stated_by(sample):
                assert row.zone in sample.feed.zones
                assert sample.feed.carries(row.metric)
                assert type(row.ts) is int
                assert type(row.value) is float
                assert (row.fuel is not None) == (actual_of(row.metric) in BY_FUEL)
    failures.report()


def test_a_border_leads_to_a_zone_or_to_an_area_by_its_one_name(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            beyond = {row.counterparty for row in stated_by(sample) if row.counterparty is not None}
            assert beyond <= set(ZONES) | OUTSIDE_AREAS
    failures.report()


def test_no_value_has_more_than_six_decimals(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            assert [row for row in stated_by(sample) if row.value != round(row.value, 6)] == []
    failures.report()


def test_nothing_believed_is_set_aside(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            judged = judge(stated_by(sample), sample.feed, (), 0)
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
def test_a_cut_body_gives_no_wrong_row(samples: list[Sample], failures: Failures, thorough: bool) -> None:
    for sample in samples:
        for part in cuts(sample.body, MOST_CUTS if thorough else CUTS):
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
                    # A missing point of an A03 curve repeats the last one, and a missing plant type has no value, so
                    # the intervals stay the same.
                    assert intervals(sample, body) <= intervals(sample, sample.body)
                else:
                    verdict(sample, body)
    failures.report()


def intervals(sample: Sample, body: bytes) -> set[tuple[object, ...]]:
    """Return the series and interval starts of a body, or an empty set for a typed failure."""
    try:
        return {(row.zone, row.metric, row.fuel, row.counterparty, row.link, row.ts) for row in sample.parse(body)}
    except FeedError:
        return set()


@pytest.mark.slow
def test_rows_in_any_order_are_the_same_rows(samples: list[Sample], failures: Failures) -> None:
    for sample in samples:
        with failures.of(sample.name):
            body = spoilt(sample.body, backwards_by_table)
            assert verdict(sample, body) == rows_of(sample)
    failures.report()


def test_another_feeds_body_gives_no_wrong_row(small_samples: list[Sample], failures: Failures) -> None:
    """Accept nothing or the same rows, since live and daily files of one series may fit either's parser."""
    for own in small_samples:
        right = rows_of(own)
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
    """Pass each recorded response without a feed to every feed of its source."""
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
