"""Check runs in which bodies change, code raises or files cannot be written. Each failure costs only its part."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from assets.fetch.session import Fetched, Reply, Session
from assets.ingest.runs import ingest_days
from assets.sources import feed, source
from tests.assets.demand_feed import DAY, FEED, NOON, START, Publisher, one_a_day, parse, pipeline, run, stored, whole
from tests.stand_ins import stored_rows
from warehouse.documents import health
from warehouse.errors import FeedUnavailable
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows
from warehouse.series import month_versions, raw
from warehouse.series.month_versions import Month
from warehouse.store import layout
from warehouse.store.storage import Folder

pytestmark = pytest.mark.usefixtures("at_noon")


def test_a_changed_body_writes_nothing_keeps_the_bytes_and_fails_only_its_day(tmp_path: Path) -> None:
    yesterday = date(2026, 6, 9)
    of = pipeline(tmp_path, {DAY: whole(0, 30), yesterday: b"!"})
    report = run(of, yesterday, DAY)
    assert {d.day: d.status for d in report.days} == {"2026-06-09": "failed", "2026-06-10": "complete"}
    assert "FeedChanged: no such column" in report.failed[0].reason
    assert len(list(raw.find(of.storage, "test.demand"))) == 2
    assert health.load(of.storage, "test")[0].last_error == "no such column"


@pytest.mark.parametrize(("name", "status"), [("entsoe.demand", "failed"), ("nyiso.load", "missing")])
def test_an_old_day_answered_by_404_fails_where_questions_are_asked_and_is_missing_where_files_lie(
    tmp_path: Path, name: str, status: str
) -> None:
    """An outage in a backfill leaves failed days, which are requested again. A file that does not exist is final."""
    own = feed(name)
    of = replace(
        pipeline(tmp_path, {}),
        sources={own.source: source(own.source)},
        session=Session(lambda request, credentials: Reply(404, {}, b"404 page not found")),
    )
    (day,) = ingest_days(of, own, [MarketDay(date(2026, 1, 10), own.tz)]).days
    assert (day.status, day.rows) == (status, 0)


def test_a_day_of_which_a_part_failed_is_not_finished(tmp_path: Path) -> None:
    def two_parts(days: Sequence[MarketDay], now: int) -> list[Request]:
        (whole_day,) = one_a_day(days, now)
        return [whole_day, replace(whole_day, part="b", days=(date(2026, 6, 1), DAY))]

    of = pipeline(
        tmp_path, {DAY: whole(0, 30), date(2026, 6, 1): FeedUnavailable("gone")}, replace(FEED, requests=two_parts)
    )
    (day,) = run(of).days
    assert (day.status, day.rows, day.finished) == ("failed", 30, False)


@pytest.mark.parametrize("part", ["requests", "parse", "combine", "follow"])
def test_whatever_a_feeds_own_code_raises_fails_its_run_alone(tmp_path: Path, part: str) -> None:
    def raises(*_: object) -> Rows:
        raise KeyError("no such thing")

    report = run(pipeline(tmp_path, {DAY: whole(0, 30)}, replace(FEED, **{part: raises})))  # type: ignore[arg-type]
    assert f"test.demand: {part} raised KeyError: 'no such thing' (test_runs_failures.py:" in report.failed[0].reason


class Failing(Folder):
    """A folder in which writes below some prefixes fail, as on a full disk."""

    def __init__(self, root: Path, *prefixes: str) -> None:
        super().__init__(root)
        self.prefixes = prefixes

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        if key.startswith(self.prefixes):
            raise OSError(errno.ENOSPC, "No space left on device", key)
        super().put(key, body, version, durable)


def test_health_and_quarantine_that_cannot_be_written_cost_no_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    of = replace(
        pipeline(tmp_path, {DAY: whole(0, 30) + b" 3=1"}), storage=Failing(tmp_path, "published/", "quarantine/")
    )
    assert run(of).days[0].rows == 29
    assert len(stored(of)) == 29
    assert {r.getMessage().split(":")[0] for r in caplog.records} == {
        "quarantine of test.demand",
        "health of test.demand",
    }


def test_a_month_file_that_cannot_be_written_or_read_costs_its_zone_alone(tmp_path: Path) -> None:
    def two_zones(body: bytes, request: Request) -> Rows:
        rows = parse(body, request)
        return stored_rows.rows_of([*rows, *(row._replace(zone="FR") for row in rows)])

    feed = replace(FEED, zones=("GB", "FR"), parse=two_zones)
    of = pipeline(tmp_path, {DAY: whole(0, 30)}, feed)
    full = replace(of, storage=Failing(tmp_path, layout.series("demand", "GB", "2026-06")))
    report = run(full)
    assert report.zones == {"FR"}
    assert "No space left on device" in report.failed[0].reason
    assert layout.series("demand", "GB", "2026-06") in report.failed[0].reason
    errors = {h.zone: h.last_error for h in health.load(of.storage, "test")}
    assert errors["FR"] == ""
    assert "No space" in errors["GB"]
    run(of)
    of.storage.put(layout.series("demand", "FR", "2026-06"), b"")
    later = replace(of, session=Publisher({DAY: whole(0, 31)}))
    assert "GB" in run(later).zones
    assert len(stored(of)) == 31


def test_an_answer_that_cannot_be_kept_fails_its_days_and_no_other(tmp_path: Path) -> None:
    yesterday = date(2026, 6, 9)
    of = pipeline(tmp_path, {DAY: whole(0, 30), yesterday: whole(-48, 0)})
    full = replace(of, storage=Failing(tmp_path, layout.raw_prefix("test.demand", str(yesterday))))
    report = run(full, yesterday, DAY)
    assert {d.day: d.status for d in report.days} == {"2026-06-09": "failed", "2026-06-10": "complete"}
    assert "No space left on device" in report.failed[0].reason


def net_and_border(body: bytes, request: Request) -> Rows:
    """Return a day's net interchange, or its flow over one border."""
    rows = Rows()
    value, border = (100.0, None) if body == b"net" else (50.0, "FR")
    for i in range(48):
        rows.add("GB", Metric.INTERCHANGE, START + i * 1800, value, "MW", "30m", None, border, None)
    return rows


def one_for_each_part(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return two requests for each day: the net and the border."""
    url = "https://example.org/"
    return [
        Request("test.demand", url + part, days=(day.day,), part=part, ext="txt")
        for day in days
        for part in ("net", "border")
    ]


class TwoPartPublisher:
    """A publisher that returns the requested part. The border's endpoint can be unavailable."""

    border_fails = False

    def ask(self, request: Request) -> Fetched:
        if request.part == "border" and self.border_fails:
            raise FeedUnavailable("away")
        return Fetched(request, request.part.encode(), NOON)


def test_rows_of_a_failed_request_stay(tmp_path: Path) -> None:
    two_part = replace(FEED, metrics=(Metric.INTERCHANGE,), requests=one_for_each_part, parse=net_and_border)
    publisher = TwoPartPublisher()
    of = replace(pipeline(tmp_path, {}, two_part), session=publisher)

    def live_border_rows() -> int:
        found = month_versions.read(of.storage, Month("interchange", "GB", "2026-06"))
        return int(((found.superseded_at == -1) & found.where(lambda label: bool(label.border))).sum())

    run(of)
    before, publisher.border_fails = live_border_rows(), True
    run(of)
    assert live_border_rows() == before > 0
