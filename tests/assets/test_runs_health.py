"""Check what runs note about a feed's health: the progress of each metric, failed polls, and unknown members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets import checks
from assets.ingest import stored_days
from assets.ingest.runs import ingest_days, reparse_days
from tests.assets.demand_feed import DAY, FEED, NOON, START, one_a_day, parse, pipeline, run, stored, whole
from warehouse.documents import health
from warehouse.errors import CredentialsMissing, FeedUnavailable
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Request, Secret
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Member, Rows, SeriesKey
from warehouse.store.storage import Folder, Storage

pytestmark = pytest.mark.usefixtures("at_noon")


def test_health_knows_how_far_each_metric_came(tmp_path: Path) -> None:
    """Later rows of one metric do not hide that another stopped, and those of a border do not hide a missing total."""

    def two(body: bytes, request: Request) -> Rows:
        rows = parse(body, request)
        rows.extend(
            SeriesKey("GB", Metric.PRICE_DAY_AHEAD, "GBP/MWh", "1h"), [START + i * 3600 for i in range(24)], [50.0] * 24
        )
        flow = SeriesKey("GB", Metric.INTERCHANGE, "MW", "30m")
        rows.extend(flow, [START + i * 1800 for i in range(10)], [5.0] * 10)
        rows.extend(flow._replace(counterparty="FR"), [START + i * 1800 for i in range(30)], [5.0] * 30)
        return rows

    metrics = (Metric.DEMAND, Metric.PRICE_DAY_AHEAD, Metric.INTERCHANGE, Metric.PRICE)
    run(pipeline(tmp_path, {DAY: whole(0, 30)}, replace(FEED, parse=two, metrics=metrics)))
    (noted,) = health.load(Folder(tmp_path), "test")
    assert noted.data_until == START + 24 * 3600
    assert noted.reached == {
        "demand": START + 30 * 1800,
        "price_day_ahead": START + 24 * 3600,
        "interchange": START + 10 * 1800,
        "price": 0,
    }


def test_a_missing_key_is_told_of_every_day_and_zone_and_asked_for_once(tmp_path: Path) -> None:
    def keyed(days: Sequence[MarketDay], now: int) -> list[Request]:
        secrets = (Secret("query", "key", ("X_KEY",)),)
        open_to_all = Request("test.demand", "https://example.org/open", days=(DAY,), zone="GB")
        return [replace(r, zone=zone, secrets=secrets) for zone in ("GB", "FR") for r in one_a_day(days, now)] + [
            open_to_all
        ]

    yesterday = date(2026, 6, 9)
    feed = replace(FEED, zones=("GB", "FR"), requests=keyed)
    of = pipeline(tmp_path, {yesterday: CredentialsMissing(("X_KEY",)), DAY: whole(0, 30)}, feed)
    report = run(of, yesterday, DAY)
    assert of.session.requests == 2  # type: ignore[attr-defined]
    assert {(d.status, d.reason) for d in report.days} == {("not_configured", "not configured: set X_KEY")}
    assert report.failed == []
    assert {(h.zone, h.last_error) for h in health.load(of.storage, "test")} == {
        (z, "not configured: set X_KEY") for z in ("GB", "FR")
    }
    assert len(stored(of)) == 30


def test_a_backfill_of_old_days_does_not_hide_why_todays_poll_fails(tmp_path: Path) -> None:
    run(pipeline(tmp_path, {DAY: FeedUnavailable("example.org answers 503")}))
    old = date(2026, 5, 1)
    shift = -48 * (DAY - old).days
    assert run(pipeline(tmp_path, {old: whole(shift, shift + 48, 60000)}), old).days[0].status == "complete"
    (noted,) = health.load(Folder(tmp_path), "test")
    assert (noted.last_ok, noted.last_error) == (NOON, "example.org answers 503")


def test_a_publisher_that_was_not_asked_was_not_reached(tmp_path: Path) -> None:
    """Nothing is due for tomorrow, so only a request with a response shows that the publisher is reachable."""
    tomorrow = date(2026, 6, 11)
    silent = replace(FEED, requests=lambda days, now: [])
    assert run(pipeline(tmp_path, {}, silent), tomorrow).days[0].status == "pending"
    assert health.load(Folder(tmp_path), "test") == []
    run(pipeline(tmp_path, {}), tomorrow)
    assert health.load(Folder(tmp_path), "test")[0].last_ok == NOON, "an answer without rows is an answer"


def test_a_pause_keeps_its_cause_in_health_and_report(tmp_path: Path) -> None:
    cause = "example.org: its name does not resolve"
    paused = FeedUnavailable(f"Requests to test are paused for 60 s: {cause}", 60, "paused", cause)
    (day,) = run(pipeline(tmp_path, {DAY: paused})).days
    assert day.reason == f"FeedUnavailable: {cause}"
    assert health.load(Folder(tmp_path), "test")[0].last_error == cause


def test_a_day_that_waits_is_no_success_beside_one_that_fails(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: FeedUnavailable("example.org answers 503")})
    report = run(of, DAY, date(2026, 6, 11))
    assert [day.status for day in report.days] == ["failed", "pending"]
    (noted,) = health.load(of.storage, "test")
    assert (noted.last_ok, noted.last_error) == (0, "example.org answers 503")


def test_a_health_that_ends_in_2062_falls_back_to_the_truth(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    far = clock.instant("2062-06-10T00:00:00Z")
    health.note(of.storage, "test", [health.Health("test.demand", "GB", 5, "", 0, far, 0, {"demand": far})])
    run(of)
    (noted,) = health.load(of.storage, "test")
    assert (noted.data_until, noted.reached) == (START + 30 * 1800, {"demand": START + 30 * 1800})


TODAY = MarketDay(DAY, FEED.tz)
NEW = Member("GB", "demand", "region 'Avalon'")


def parse_avalon(body: bytes, request: Request) -> Rows:
    """Parse as the feed does. A body that ends in `Avalon` also has a reading of a region that no table contains."""
    rows = parse(body.removesuffix(b"Avalon"), request)
    if body.endswith(b"Avalon"):
        rows.note_unknown(NEW, [TODAY.start + 1800])
    return rows


def believed(storage: Storage, feed: Feed) -> dg.AssetCheckEvaluation:
    rows = stored_days.read(storage, feed, [f"{TODAY.day:%Y-%m}"])
    return next(iter(checks.evaluate(storage, feed, [TODAY], NOON, rows)))


GROWING = replace(FEED, parse=parse_avalon)


def test_its_name_stands_until_an_answer_lacks_it(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" Avalon"}, GROWING)
    for _ in range(2):
        report = ingest_days(of, GROWING, [TODAY])
        assert (report.days[0].status, len(stored(of))) == ("complete", 30), "the rest of the body stands"
        assert [(f.check, f.severity, f.zone, f.metric, f.count, f.detail) for f in report.findings] == [
            ("unknown", "error", "GB", "demand", 1, f"region 'Avalon' from {clock.iso(TODAY.start + 1800)}")
        ]
        (noted,) = health.load(of.storage, "test")
        assert noted.unknown_member
        assert noted.last_error == "unknown to this service: region 'Avalon'"
        assert noted.last_ok == NOON, "the rest came"
        verdict = believed(of.storage, GROWING)
        assert (verdict.passed, verdict.severity) == (False, dg.AssetCheckSeverity.ERROR)
        assert verdict.metadata["count"].value == 1
        assert verdict.metadata["findings"].value[0].startswith("unknown to this service: GB demand region 'Avalon'; ")
    assert len(of.storage.keys("quarantine/")) == 1, "the same name of the same day is kept once"
    known = replace(GROWING, parse=lambda body, request: parse(body.removesuffix(b"Avalon"), request), version="2")
    reparse_days(of, known, [TODAY])
    assert believed(of.storage, known).passed
    ingest_days(of, known, [TODAY])
    (noted,) = health.load(of.storage, "test")
    assert not noted.last_error


def test_a_failure_beside_it_does_not_hide_it(tmp_path: Path) -> None:
    yesterday = TODAY.next(-1)
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" Avalon", yesterday.day: b"!"}, GROWING)
    ingest_days(of, GROWING, [yesterday, TODAY])
    (noted,) = health.load(of.storage, "test")
    assert noted.last_error == "unknown to this service: region 'Avalon'; no such column"
