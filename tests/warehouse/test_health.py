"""Test health and attempts: due times, the four states, what a later note keeps, and the counts of requests."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time
from pathlib import Path

import pytest
from msgspec import structs

from tests.stand_ins import declared
from warehouse.documents import attempts, health
from warehouse.documents.health import Health, expected_by, state
from warehouse.errors import DamagedFile
from warehouse.judge import coverage
from warehouse.market.clock import HOUR, MarketDay, Window, instant
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Metric
from warehouse.store import layout
from warehouse.store.storage import Folder

BRUSSELS = "Europe/Brussels"
ROLLING = Publication(lag_minutes=10, grace_minutes=30)
AUCTION = Publication(daily_at=time(13, 30), day_offset=-1, grace_minutes=120)
THE_DAY_AFTER = Publication(daily_at=time(6), day_offset=1, grace_minutes=60)
FEED = declared.feed("a.b", ["FR"], [Metric.PRICE], "5m", publication=ROLLING)


@pytest.mark.parametrize(
    ("day", "out"),
    [
        (date(2026, 3, 29), "2026-03-28T12:30:00Z"),  # auction for the day of 23 hours, in winter time
        (date(2026, 3, 30), "2026-03-29T11:30:00Z"),  # published on that day, in summer time
        (date(2026, 10, 26), "2026-10-25T12:30:00Z"),  # published on the day of 25 hours, in winter time
    ],
)
def test_a_daily_feed_is_out_by_the_clock_of_its_zone(day: date, out: str) -> None:
    market_day = MarketDay(day, BRUSSELS)
    assert AUCTION.out_at(market_day) == instant(out)
    assert expected_by(AUCTION, BRUSSELS, "1h", market_day.start) == instant(out) + 2 * HOUR
    feed = replace(FEED, resolution="1h", tz=BRUSSELS, publication=AUCTION)
    assert coverage.due_until(feed, market_day.window, instant(out) + 2 * HOUR - 1) == market_day.start
    assert coverage.due_until(feed, market_day.window, instant(out) + 2 * HOUR) == market_day.end


def test_a_rolling_row_is_due_its_lag_and_grace_after_its_interval() -> None:
    assert expected_by(ROLLING, "UTC", "5m", 1000 * HOUR) == 1000 * HOUR + 300 + 600 + 1800
    assert expected_by(THE_DAY_AFTER, "UTC", "1h", MarketDay(date(2026, 5, 1), "UTC").start) == instant(
        "2026-05-02T07:00:00Z"
    )


def test_the_states_in_time() -> None:
    until = 1000 * HOUR
    current = Health("a.b", "FR", last_ok=until, data_until=until)
    due = expected_by(ROLLING, "UTC", "5m", until)

    def at(now: int) -> str:
        return state(current, FEED, now)

    assert [at(due), at(due + 1), at(due + 90 * 60), at(due + 90 * 60 + 1)] == ["ok", "late", "late", "down"]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (None, "unknown"),
        (Health("a.b", "FR"), "unknown"),
        (Health("a.b", "FR", last_ok=5), "unknown"),
        (Health("a.b", "FR", last_error="set X", last_error_at=5, error_kind="not_configured"), "unknown"),
        (Health("a.b", "FR", last_error="example.org answers 503", last_error_at=5), "down"),
    ],
)
def test_without_any_row(stored: Health | None, expected: str) -> None:
    assert state(stored, FEED, 10) == expected


def test_a_feed_stands_as_its_worst_zone_whose_error_goes_first() -> None:
    feed, now = replace(FEED, zones=("BE", "FR", "NL")), 1000 * HOUR
    known = [
        Health("a.b", "BE", last_ok=now, data_until=now, last_error="cut"),
        Health("a.b", "FR", last_ok=now, data_until=now - 9 * HOUR, last_error="silent"),
        Health("a.c", "NL", last_ok=now, data_until=now),
    ]
    stands = health.feed_state(feed, known, now)
    assert (stands.state, stands.zones, stands.error) == ("down", ["FR"], "silent")
    known[0] = structs.replace(known[0], last_error="a tie", error_kind="unknown_member")
    strange = health.feed_state(feed, known, now)
    assert (strange.unknown_member, strange.error) == (True, "a tie")


def test_a_later_note_keeps_what_it_does_not_know(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    health.note(
        storage, "a", [Health("a.b", "FR", last_ok=10, data_until=100), Health("a.b", "BE", last_ok=10, data_until=50)]
    )
    health.note(storage, "a", [Health("a.b", "FR", last_error="silent", last_error_at=20, quarantined=2)])
    assert health.load(storage, "a") == [
        Health("a.b", "BE", last_ok=10, data_until=50),
        Health("a.b", "FR", last_ok=10, last_error="silent", last_error_at=20, data_until=100, quarantined=2),
    ]
    health.note(storage, "a", [Health("a.b", "FR", last_ok=30, data_until=90)])
    assert health.load(storage, "a")[1] == Health("a.b", "FR", last_ok=30, last_error_at=20, data_until=100)
    assert health.load(storage, "nobody") == []


def test_each_metric_has_an_end_of_its_own(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    health.note(
        storage, "a", [Health("a.b", "FR", last_ok=10, data_until=900, reached={"price": 100, "price_day_ahead": 900})]
    )
    health.note(
        storage, "a", [Health("a.b", "FR", last_ok=20, data_until=200, reached={"price": 200, "price_day_ahead": 0})]
    )
    health.note(
        storage,
        "a",
        [Health("a.b", "FR", last_error="silent", last_error_at=30, reached={"price": 0, "price_day_ahead": 0})],
    )
    (stored,) = health.load(storage, "a")
    assert (stored.until("price"), stored.until("price_day_ahead"), stored.until("demand")) == (200, 900, 0)
    assert (stored.data_until, stored.whole_until) == (900, 200)


def test_a_span_ends_where_nothing_is_due_yet() -> None:
    span = Window(0, 24 * HOUR)
    assert [coverage.due_until(FEED, span, now) for now in (0, 2400, 2999, 3000, 10**6)] == [0, 0, 300, 600, 24 * HOUR]


ASKED = "elexon.price"
T = instant("2026-11-20T00:00:00Z")


def test_requests_and_failures_add_up(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    attempts.note(storage, ASKED, T, 3, {"server": 1}, None)
    attempts.note(storage, ASKED, T + 60, 2, {"server": 1, "network": 2}, None)
    attempts.note(storage, "elexon.demand", T, 1, {}, None)
    kept = attempts.load(storage, "elexon", "2026-11")
    assert kept[ASKED] == attempts.Attempts(2, 5, {"server": 2, "network": 2}, ())
    assert kept["elexon.demand"].requests == 1
    assert attempts.load(storage, "elexon", "2026-10") == {}


def test_a_run_that_asks_for_past_days_only_watches_nothing(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    attempts.note(storage, ASKED, T, 1, {}, 900)
    attempts.note(storage, ASKED, T + 600, 1, {}, None)
    assert attempts.load(storage, "elexon", "2026-11")[ASKED].watched == ((T, T),)
    attempts.note(storage, ASKED, T + 900, 1, {}, 900)
    attempts.note(storage, ASKED, T + 1801, 1, {}, 900)
    spans = ((T, T + 900), (T + 1801, T + 1801))
    assert attempts.load(storage, "elexon", "2026-11")[ASKED].watched == spans, "asking goes on for 900 s, not for more"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"feeds": {"elexon.price": {}}}', b'{"feeds": 3}', b"null"])
def test_a_damaged_file_is_typed_for_readers_and_begun_anew_by_writers(tmp_path: Path, body: bytes) -> None:
    storage = Folder(tmp_path)
    storage.put(layout.attempts("elexon", "2026-11"), body)
    with pytest.raises(DamagedFile):
        attempts.load(storage, "elexon", "2026-11")
    attempts.note(storage, ASKED, T, 1, {}, 900)
    assert attempts.load(storage, "elexon", "2026-11")[ASKED].runs == 1
