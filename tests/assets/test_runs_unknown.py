"""A member that no table has: its name stands in findings, health and the check `believed`, and the rest is stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assets import verdicts
from assets.ingest.runs import ingest_days, reparse_days
from assets.verdicts import BELIEVED, Verdict
from tests.assets.demand_feed import DAY, FEED, NOON, pipeline, stored, whole
from tests.assets.demand_feed import parse as parse_known
from warehouse.documents import health
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.market import Feed, Request
from warehouse.rows.schema import Member, Rows
from warehouse.store.storage import Storage

TODAY = MarketDay(DAY, FEED.tz)
NEW = Member("GB", "demand", "region 'Avalon'")


def parse(body: bytes, request: Request) -> Rows:
    """As the feed's own; a body that ends in `Avalon` has a reading of a region that no table has."""
    rows = parse_known(body.removesuffix(b"Avalon"), request)
    if body.endswith(b"Avalon"):
        rows.note_unknown(NEW, [TODAY.start + 1800])
    return rows


def believed(storage: Storage, feed: Feed) -> Verdict:
    (verdict,) = verdicts.examine(storage, feed, [TODAY], NOON, {BELIEVED})
    return verdict


GROWING = replace(FEED, parse=parse)


@pytest.mark.usefixtures("at_noon")
def test_its_name_stands_until_an_answer_lacks_it(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" Avalon"}, GROWING)
    for _ in range(2):
        report = ingest_days(of, GROWING, [TODAY])
        assert (report.days[0].status, len(stored(of))) == ("done", 30), "the rest of the body stands"
        assert [(f.check, f.severity, f.zone, f.metric, f.count, f.detail) for f in report.findings] == [
            ("unknown", "error", "GB", "demand", 1, f"region 'Avalon' from {clock.iso(TODAY.start + 1800)}")
        ]
        (noted,) = health.load(of.storage, "test")
        assert noted.unknown_member
        assert noted.last_error == "unknown to this service: region 'Avalon'"
        assert noted.last_ok == NOON, "the rest came"
        verdict = believed(of.storage, GROWING)
        assert (verdict.passed, verdict.grave, verdict.count) == (False, True, 1)
        assert verdict.findings[0].startswith("GB demand region 'Avalon': unknown to this service")
    assert len(of.storage.keys("quarantine/")) == 1, "the same name of the same day is kept once"
    known = replace(
        GROWING, parse=lambda body, request: parse_known(body.removesuffix(b"Avalon"), request), version="2"
    )
    reparse_days(of, known, [TODAY])
    assert believed(of.storage, known).passed
    ingest_days(of, known, [TODAY])
    (noted,) = health.load(of.storage, "test")
    assert not noted.last_error


@pytest.mark.usefixtures("at_noon")
def test_a_failure_beside_it_does_not_hide_it(tmp_path: Path) -> None:
    yesterday = TODAY.next(-1)
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" Avalon", yesterday.day: b"!"}, GROWING)
    ingest_days(of, GROWING, [yesterday, TODAY])
    (noted,) = health.load(of.storage, "test")
    assert noted.last_error == "unknown to this service: region 'Avalon'; no such column"
