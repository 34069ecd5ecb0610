"""Check a run over a feed's days: what it keeps, folds, withdraws, quarantines and reports, and what it requests."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time
from pathlib import Path

import pytest

from assets.ingest.runs import ingest_days
from tests.assets.demand_feed import DAY, FEED, NOON, START, Publisher, one_a_day, parse, pipeline, run, stored, whole
from tests.stand_ins import stored_rows
from warehouse.documents import health
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Publication, Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows
from warehouse.series import folding, raw

pytestmark = pytest.mark.usefixtures("at_noon")


def test_a_day_is_kept_folded_and_noted(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    report = run(of)
    assert [(d.day, d.status, d.rows) for d in report.days] == [("2026-06-10", "complete", 30)]
    assert report.zones == {"GB"}
    assert len(stored(of)) == 30
    assert [k.body for k in raw.find(of.storage, "test.demand")] == [whole(0, 30)]
    (noted,) = health.load(of.storage, "test")
    assert (noted.last_ok, noted.last_error, noted.data_until) == (NOON, "", START + 30 * 1800)


def test_the_same_bytes_again_change_no_file_but_health(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    run(of)
    before = {
        k: of.storage.stat(k)
        for k in of.storage.keys("")
        if not k.startswith(("published/health", "attempts", "locks"))
    }
    assert run(of).zones == set()
    assert before == {
        k: of.storage.stat(k)
        for k in of.storage.keys("")
        if not k.startswith(("published/health", "attempts", "locks"))
    }


def test_a_whole_answer_evicts_what_it_no_longer_states_and_a_short_one_does_not(tmp_path: Path) -> None:
    yesterday = date(2026, 6, 9)
    full = " ".join(f"{i}={30000 + i}" for i in range(-48, 0))
    of = pipeline(tmp_path, {yesterday: full.encode()})
    assert run(of, yesterday).days[0].status == "complete"
    cut = replace(of, session=Publisher({yesterday: " ".join(full.split()[:20]).encode()}))
    report = run(cut, yesterday)
    assert report.days[0].status == "partial"
    assert "GB demand" in report.days[0].reason
    assert len(stored(of)) == 48
    coarse = replace(FEED, parse=_hourly)
    of_hours = pipeline(tmp_path, {yesterday: full.encode()}, coarse)
    assert sum(f.evicted for f in run(of_hours, yesterday).folded) == 48
    assert set(
        stored_rows.read(of.storage, "GB", "demand", Window(START - 86400, START)).column("resolution").to_pylist()
    ) == {"1h"}


def _hourly(body: bytes, request: Request) -> Rows:
    rows = Rows()
    for row in parse(body, request):
        if row.ts % 3600 == 0:
            rows.add("GB", Metric.DEMAND, row.ts, row.value, "MW", "1h")
    return rows


def _wiser(body: bytes, request: Request) -> Rows:
    rows = Rows()
    for row in parse(body, request):
        if row.value == 25000:
            rows.refuse("GB", Metric.DEMAND, [row.ts])
        else:
            rows.add("GB", Metric.DEMAND, row.ts, row.value, "MW", "30m")
    return rows


def test_what_a_parser_has_learnt_to_refuse_is_withdrawn_and_nothing_else(tmp_path: Path) -> None:
    """A refused reading makes the day partial, yet its wrong row is withdrawn. A row that is merely left out stays."""
    yesterday = date(2026, 6, 9)
    body = " ".join(f"{i}={25000 if i in (-28, -49) else 30000}" for i in range(-49, 0))
    of = pipeline(tmp_path, {yesterday: body.encode()})
    run(of, yesterday)
    assert (stored(of)[-28], stored(of)[-49], len(stored(of))) == (25000, 25000, 49)
    missing = body.replace(" -20=30000", "")
    learnt = replace(of, session=Publisher({yesterday: missing.encode()}))
    feed = replace(FEED, parse=_wiser)
    report = ingest_days(learnt, feed, [MarketDay(yesterday, feed.tz)])
    assert sum(f.evicted for f in report.folded) == 1
    left = stored(of)
    assert (-28 in left, left[-20], left[-49], len(left)) == (False, 30000, 25000, 48)


def test_nothing_yet_is_no_failure_before_the_deadline(tmp_path: Path) -> None:
    tomorrow = date(2026, 6, 11)
    of = pipeline(tmp_path, {})
    assert run(of, tomorrow).days[0].status == "pending"
    assert health.load(of.storage, "test")[0].last_error == ""
    assert run(of, DAY).days[0].status == "failed"
    assert run(of, date(2026, 5, 1)).days[0].status == "missing"


def test_listings_are_followed_once_and_bounded(tmp_path: Path) -> None:
    def follow(body: bytes, request: Request) -> list[Request]:
        return one_a_day([MarketDay(DAY, FEED.tz)], clock.now()) * 2 if request.kind == "listing" else []

    listing = Request("test.demand", "https://example.org/list", days=(DAY,), kind="listing")
    feed = replace(FEED, requests=lambda days, now: [listing], follow=follow)
    of = pipeline(tmp_path, {DAY: whole(0, 30)}, feed)
    report = run(of)
    assert of.session.requests == 2  # type: ignore[attr-defined]
    assert report.days[0].status == "complete"


def test_a_file_that_never_changes_is_asked_for_once_and_stated_again(tmp_path: Path) -> None:
    def follow(body: bytes, request: Request) -> list[Request]:
        files = [replace(r, once=True) for r in one_a_day([MarketDay(DAY, FEED.tz)], clock.now())]
        return files if request.kind == "listing" else []

    listing = Request("test.demand", "https://example.org/list", days=(DAY,), kind="listing")
    of = pipeline(tmp_path, {DAY: whole(0, 30)}, replace(FEED, requests=lambda days, now: [listing], follow=follow))
    first, again = run(of), run(of)
    assert of.session.requests == 3  # type: ignore[attr-defined]
    assert again.days == first.days
    assert again.bytes < first.bytes


def test_a_year_of_capacity_is_whole_without_holes(tmp_path: Path) -> None:
    def yearly(body: bytes, request: Request) -> Rows:
        rows = Rows()
        rows.add("FR", Metric.CAPACITY, int(body), 1000.0, "MW", "1y", fuel="gas")
        return rows

    feed = replace(
        FEED,
        zones=("FR",),
        metrics=(Metric.CAPACITY,),
        resolution="1y",
        tz="Europe/Brussels",
        parse=yearly,
        publication=Publication(daily_at=time(), day_offset=180),
    )
    year = date(2025, 1, 1)
    of = pipeline(tmp_path, {year: str(MarketDay(year, feed.tz).start).encode()}, feed)
    report = ingest_days(of, feed, [MarketDay(year, feed.tz)])
    assert [(d.status, d.rows, d.reason) for d in report.days] == [("complete", 1, "")]
    assert report.findings == ()


def test_contradictions_and_impossible_values_are_set_aside(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" 3=1 5=9e9"})
    report = run(of)
    assert report.quarantined
    assert sorted(set(range(30)) - set(stored(of))) == [3, 5]
    (key,) = of.storage.keys("quarantine/")
    run(of)
    assert of.storage.keys("quarantine/") == [key]


@pytest.mark.parametrize("stray", [100 * 48, 48 * 365 * 36, -48 * 36, -48 * 3650])
def test_rows_far_from_what_was_asked_are_set_aside_and_counted(tmp_path: Path, stray: int) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + f" {stray}=30000".encode()})
    report = run(of)
    assert (report.days[0].status, report.days[0].rows, report.quarantined) == ("complete", 30, 1)
    assert [(f.check, f.severity, f.count) for f in report.findings] == [("time", "error", 1)]
    (noted,) = health.load(of.storage, "test")
    assert noted.data_until == START + 30 * 1800
    assert [(zone, month) for _, zone, month in folding.places(of.storage)] == [("GB", "2026-06")]


def test_tomorrows_rows_of_an_auction_are_believed_and_the_day_afters_are_not(tmp_path: Path) -> None:
    auction = replace(FEED, publication=Publication(daily_at=time(13), day_offset=-1))
    of = pipeline(tmp_path, {DAY: whole(0, 48) + b" 125=30000 126=30000"}, auction)
    report = run(of)
    assert report.quarantined == 1, "now is 15:00: 48 hours later is the first instant that cannot be"
    assert max(stored(of)) == 125
