"""Check runs over the raw archive: they send no requests, and later responses prevail."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from assets.ingest.runs import reparse_days
from tests.assets.demand_feed import DAY, FEED, NOON, Publisher, parse, pipeline, run, stored, whole
from tests.stand_ins import stored_rows
from warehouse.documents import health
from warehouse.errors import FeedUnavailable
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows


@pytest.mark.usefixtures("at_noon")
def test_rerun_from_the_kept_bytes_asks_nobody(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    run(of)
    silent = replace(of, session=Publisher({}))
    doubled = replace(FEED, parse=lambda body, request: _scaled(parse(body, request)))
    report = reparse_days(silent, doubled, [MarketDay(DAY, FEED.tz)])
    assert silent.session.requests == 0  # type: ignore[attr-defined]
    assert sum(f.changed for f in report.folded) == 30
    assert stored(of)[0] == 60000


def _scaled(rows: Rows) -> Rows:
    return stored_rows.rows_of(row._replace(value=row.value * 2) for row in rows)


def test_a_rerun_of_some_days_leaves_the_others_as_later_bodies_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One body states three days. The last day was later corrected by a body of its own."""
    first, second = date(2026, 6, 7), date(2026, 6, 9)
    both = FEED.id, "https://example.org/two", tuple[tuple[str, str], ...](), (first, date(2026, 6, 8), second)
    monkeypatch.setenv("EMDS_NOW", str(NOON - 7200))
    asked = replace(FEED, requests=lambda days, now: [Request(*both)])
    of = pipeline(tmp_path, {first: whole(-144, 0)}, asked)
    run(of, first, date(2026, 6, 8), second)
    monkeypatch.setenv("EMDS_NOW", str(NOON))
    run(pipeline(tmp_path, {second: whole(-48, 0, 9000)}), second)
    corrected = stored(of)[-1]
    assert corrected == 9000 - 1
    report = reparse_days(of, FEED, [MarketDay(first, FEED.tz)])
    assert [f.unchanged for f in report.folded] == [48]
    assert stored(of)[-1] == corrected


def test_a_rerun_takes_a_days_last_rows_from_the_next_days_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMDS_NOW", str(NOON))
    run(pipeline(tmp_path, {DAY: whole(-10, 30)}))
    of = pipeline(tmp_path, {})
    for key in of.storage.keys("series/"):
        of.storage.delete(key)
    reparse_days(of, FEED, [MarketDay(date(2026, 6, 9), FEED.tz)])
    assert sorted(stored(of)) == list(range(-10, 0))


def test_a_rerun_is_no_answer_of_the_publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", str(NOON))
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    run(of)
    run(pipeline(tmp_path, {DAY: FeedUnavailable("example.org answers 503")}))
    monkeypatch.setenv("EMDS_NOW", str(NOON + 600))
    reparse_days(of, FEED, [MarketDay(DAY, FEED.tz)])
    (noted,) = health.load(of.storage, "test")
    assert (noted.last_ok, noted.last_error) == (NOON, "example.org answers 503")


@pytest.mark.usefixtures("at_noon")
def test_kept_bodies_are_judged_by_when_they_were_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" 100=30000"})
    run(of)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 30 * 86400))
    assert reparse_days(of, FEED, [MarketDay(DAY, FEED.tz)]).quarantined == 1


def test_a_clock_that_was_ahead_puts_no_superseded_figure_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next day's body also states the day before, and arrived while the clock was a day ahead."""
    next_day = DAY + timedelta(days=1)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 86400))
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda true=time.time_ns: true() + 86400 * 10**9)
        run(pipeline(tmp_path, {next_day: whole(0, 60)}), next_day)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 3600))
    run(pipeline(tmp_path, {DAY: whole(0, 30, 9000)}))
    corrected = stored(pipeline(tmp_path, {}))
    assert corrected[29] == 9029
    reparse_days(pipeline(tmp_path, {}), FEED, [MarketDay(DAY, FEED.tz)])
    assert stored(pipeline(tmp_path, {})) == corrected
