"""A run over a feed's days: what is kept, folded, reported and noted, also where answers fail or are short."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, time
from pathlib import Path

import pytest

from assets.fetch.session import Fetched
from assets.ingest import plots
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport, retry_after
from assets.ingest.runs import ingest_days, reparse_days
from warehouse import clock, health, layout, raw, series
from warehouse.clock import MarketDay, Window
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market import Feed, Metric, Publication, Request, Secret, Source
from warehouse.schema import Rows, SeriesKey
from warehouse.storage import Folder

DAY = date(2026, 6, 10)
START = MarketDay(DAY, "Europe/London").start
NOON = START + 15 * 3600


def parse(body: bytes, request: Request) -> Rows:
    """A body of `ts value` lines; `!` for one that is broken."""
    if body == b"!":
        raise FeedChanged("no such column")
    rows = Rows()
    for text in body.decode().split():
        ts, value = text.split("=")
        rows.add("GB", Metric.DEMAND, START + int(ts) * 1800, float(value), "MW", "30m")
    return rows


def one_a_day(days: Sequence[MarketDay], now: int) -> list[Request]:
    return [Request("test.demand", f"https://example.org/{d}", days=(d.day,), ext="txt") for d in days]


FEED = Feed(
    "test.demand",
    "half-hourly demand",
    ("GB",),
    (Metric.DEMAND,),
    1,
    "30m",
    "start",
    "Europe/London",
    date(2020, 1, 1),
    Publication(lag_minutes=0, grace_minutes=30),
    one_a_day,
    parse,
    30,
    revised_days=2,
)
SOURCE = Source("test", "Test", "https://example.org", ("example.org",), 60, "none", "", "Test", "yes", (FEED,))


class Publisher:
    """Answers by market day: bytes, or the failure to raise."""

    def __init__(self, answers: dict[date, bytes | FeedError]) -> None:
        self.answers, self.requests = answers, 0

    def ask(self, request: Request) -> Fetched:
        self.requests += 1
        answer = self.answers.get(request.days[0], NotPublished("empty body"))
        if isinstance(answer, FeedError):
            raise answer
        return Fetched(request, answer, NOON)


def whole(first: int = 0, last: int = 48, value: float = 30000) -> bytes:
    return " ".join(f"{i}={value + i}" for i in range(first, last)).encode()


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", str(NOON))


def pipeline(tmp_path: Path, answers: dict[date, bytes | FeedError], feed: Feed = FEED) -> PipelineContext:
    source = replace(SOURCE, feeds=(feed,))
    return PipelineContext(
        Folder(tmp_path),
        "simulated",
        {"test": source},
        (),
        {feed.id: 1},
        {"test"},
        Publisher(answers),
        lambda f, d: f.requests(d, clock.now()),
    )


def run(of: PipelineContext, *days: date) -> RunReport:
    feed = of.sources["test"].feeds[0]
    return ingest_days(of, feed, [MarketDay(d, feed.tz) for d in days or (DAY,)])


def stored(of: PipelineContext) -> dict[int, float]:
    rows = series.read(of.storage, "GB", "demand", Window(START - 90000, START + 2 * 86400))
    return {
        (t - START) // 1800: v
        for t, v in zip(rows.column("ts").to_pylist(), rows.column("value").to_pylist(), strict=True)
    }


@pytest.mark.usefixtures("at_noon")
def test_a_day_is_kept_folded_and_noted(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    report = run(of)
    assert [(d.day, d.status, d.rows) for d in report.days] == [("2026-06-10", "done", 30)]
    assert report.zones == {"GB"}
    assert len(stored(of)) == 30
    assert [k.body for k in raw.find(of.storage, "test.demand")] == [whole(0, 30)]
    (noted,) = health.load(of.storage, "test")
    assert (noted.last_ok, noted.last_error, noted.data_until) == (NOON, "", START + 30 * 1800)


@pytest.mark.usefixtures("at_noon")
def test_health_knows_how_far_each_metric_came(tmp_path: Path) -> None:
    """Rows ahead of one metric do not make up for another that stopped, nor a border for the total."""

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


@pytest.mark.usefixtures("at_noon")
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


@pytest.mark.usefixtures("at_noon")
def test_a_whole_answer_evicts_what_it_no_longer_states_and_a_short_one_does_not(tmp_path: Path) -> None:
    yesterday = date(2026, 6, 9)
    full = " ".join(f"{i}={30000 + i}" for i in range(-48, 0))
    of = pipeline(tmp_path, {yesterday: full.encode()})
    assert run(of, yesterday).days[0].status == "done"
    cut = replace(of, session=Publisher({yesterday: " ".join(full.split()[:20]).encode()}))
    report = run(cut, yesterday)
    assert report.days[0].status == "short"
    assert "GB demand" in report.days[0].reason
    assert len(stored(of)) == 48
    coarse = replace(FEED, parse=_hourly)
    of_hours = pipeline(tmp_path, {yesterday: full.encode()}, coarse)
    assert sum(f.evicted for f in run(of_hours, yesterday).folded) == 48
    assert set(
        series.read(of.storage, "GB", "demand", Window(START - 86400, START)).column("resolution").to_pylist()
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


@pytest.mark.usefixtures("at_noon")
def test_what_a_parser_has_learnt_to_refuse_is_withdrawn_and_nothing_else(tmp_path: Path) -> None:
    """A day with a refused reading is not whole, and still its wrong row goes; one that was only left out stays."""
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


@pytest.mark.usefixtures("at_noon")
def test_a_changed_body_writes_nothing_keeps_the_bytes_and_fails_only_its_day(tmp_path: Path) -> None:
    yesterday = date(2026, 6, 9)
    of = pipeline(tmp_path, {DAY: whole(0, 30), yesterday: b"!"})
    report = run(of, yesterday, DAY)
    assert {d.day: d.status for d in report.days} == {"2026-06-09": "failed", "2026-06-10": "done"}
    assert "FeedChanged: no such column" in report.failed[0].reason
    assert len(list(raw.find(of.storage, "test.demand"))) == 2
    assert health.load(of.storage, "test")[0].last_error == "no such column"


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FeedUnavailable("example.org answers 503"), "example.org answers 503"),
        (CredentialsMissing(("X_KEY",), refused=True), "refused by the publisher: check X_KEY"),
    ],
)
def test_failures_are_told_in_words(tmp_path: Path, error: FeedError, reason: str) -> None:
    of = pipeline(tmp_path, {DAY: error})
    report = run(of)
    assert report.failed[0].reason.endswith(reason)
    (noted,) = health.load(of.storage, "test")
    assert (noted.last_ok, noted.last_error) == (0, reason)
    assert stored(of) == {}
    assert (retry_after(report.failures) is None) == isinstance(error, CredentialsMissing)


@pytest.mark.usefixtures("at_noon")
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
    assert {(d.status, d.reason) for d in report.days} == {("not configured", "not configured: set X_KEY")}
    assert report.failed == []
    assert {(h.zone, h.last_error) for h in health.load(of.storage, "test")} == {
        (z, "not configured: set X_KEY") for z in ("GB", "FR")
    }
    assert len(stored(of)) == 30


@pytest.mark.usefixtures("at_noon")
def test_nothing_yet_is_no_failure_before_the_deadline(tmp_path: Path) -> None:
    tomorrow = date(2026, 6, 11)
    of = pipeline(tmp_path, {})
    assert run(of, tomorrow).days[0].status == "waiting"
    assert health.load(of.storage, "test")[0].last_error == ""
    assert run(of, DAY).days[0].status == "failed"
    assert run(of, date(2026, 5, 1)).days[0].status == "missing"


@pytest.mark.usefixtures("at_noon")
def test_a_day_past_the_reach_is_not_asked(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {date(2026, 6, 1): whole()}, replace(FEED, reach_days=3))
    report = run(of, date(2026, 6, 1))
    assert report.days[0].status == "out of reach"
    assert of.session.requests == 0  # type: ignore[attr-defined]


@pytest.mark.usefixtures("at_noon")
def test_contradictions_and_impossible_values_are_set_aside(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" 3=1 5=9e9"})
    report = run(of)
    assert report.quarantined
    assert sorted(set(range(30)) - set(stored(of))) == [3, 5]
    (key,) = of.storage.keys("quarantine/")
    run(of)
    assert of.storage.keys("quarantine/") == [key]


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
    return Rows.of(row._replace(value=row.value * 2) for row in rows)


@pytest.mark.usefixtures("at_noon")
def test_listings_are_followed_once_and_bounded(tmp_path: Path) -> None:
    def follow(body: bytes, request: Request) -> list[Request]:
        return one_a_day([MarketDay(DAY, FEED.tz)], clock.now()) * 2 if request.kind == "listing" else []

    listing = Request("test.demand", "https://example.org/list", days=(DAY,), kind="listing")
    feed = replace(FEED, requests=lambda days, now: [listing], follow=follow)
    of = pipeline(tmp_path, {DAY: whole(0, 30)}, feed)
    report = run(of)
    assert of.session.requests == 2  # type: ignore[attr-defined]
    assert report.days[0].status == "done"


@pytest.mark.usefixtures("at_noon")
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


def test_a_rerun_of_some_days_leaves_the_others_as_later_bodies_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One body states two days; the second day was corrected since by a body of its own."""
    first, second = date(2026, 6, 7), date(2026, 6, 9)
    both = FEED.id, "https://example.org/two", tuple[tuple[str, str], ...](), (first, date(2026, 6, 8), second)
    monkeypatch.setenv("EMDS_NOW", str(NOON - 7200))
    of = replace(pipeline(tmp_path, {first: whole(-144, 0)}), plan=lambda feed, days: [Request(*both)])
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
def test_a_backfill_of_old_days_does_not_hide_why_todays_poll_fails(tmp_path: Path) -> None:
    run(pipeline(tmp_path, {DAY: FeedUnavailable("example.org answers 503")}))
    old = date(2026, 5, 1)
    shift = -48 * (DAY - old).days
    assert run(pipeline(tmp_path, {old: whole(shift, shift + 48, 60000)}), old).days[0].status == "done"
    (noted,) = health.load(Folder(tmp_path), "test")
    assert (noted.last_ok, noted.last_error) == (NOON, "example.org answers 503")


@pytest.mark.usefixtures("at_noon")
def test_a_day_of_which_a_part_failed_is_not_finished(tmp_path: Path) -> None:
    def two_parts(days: Sequence[MarketDay], now: int) -> list[Request]:
        (whole_day,) = one_a_day(days, now)
        return [whole_day, replace(whole_day, part="b", days=(date(2026, 6, 1), DAY))]

    of = pipeline(
        tmp_path, {DAY: whole(0, 30), date(2026, 6, 1): FeedUnavailable("gone")}, replace(FEED, requests=two_parts)
    )
    (day,) = run(of).days
    assert (day.status, day.rows, day.finished) == ("failed", 30, False)


@pytest.mark.usefixtures("at_noon")
def test_why_a_day_is_out_of_reach_is_said(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {}, replace(FEED, reach_days=3))
    assert run(of, date(2019, 1, 1)).days[0].reason == "test.demand begins on 2020-01-01"
    assert run(of, date(2026, 6, 1)).days[0].reason == "test.demand reaches back 3 days"


@pytest.mark.usefixtures("at_noon")
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
        yearly=True,
        parse=yearly,
        publication=Publication(daily_at=time(), day_offset=180),
    )
    year = date(2025, 1, 1)
    of = pipeline(tmp_path, {year: str(MarketDay(year, feed.tz).start).encode()}, feed)
    report = ingest_days(of, feed, [MarketDay(year, feed.tz)])
    assert [(d.status, d.rows, d.reason) for d in report.days] == [("done", 1, "")]
    assert report.findings == ()


@pytest.mark.usefixtures("at_noon")
def test_an_untyped_error_of_a_parser_is_a_changed_feed_with_its_place(tmp_path: Path) -> None:
    def digits(body: bytes, request: Request) -> Rows:
        return (
            parse(body, request) if request.days[0] == DAY else parse(b"1=" + str(int(b"9" * 5000)).encode(), request)
        )

    yesterday = date(2026, 6, 9)
    of = pipeline(tmp_path, {DAY: whole(0, 30), yesterday: b"1"}, replace(FEED, parse=digits))
    report = run(of, yesterday, DAY)
    assert {d.day: d.status for d in report.days} == {"2026-06-09": "failed", "2026-06-10": "done"}
    assert "FeedChanged: test.demand: parse raised ValueError" in report.failed[0].reason
    assert "test_runs.py:" in report.failed[0].reason
    assert len(stored(of)) == 30


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize("part", ["requests", "combine", "follow"])
def test_whatever_a_feeds_own_code_raises_fails_its_run_alone(tmp_path: Path, part: str) -> None:
    def raises(*_: object) -> Rows:
        raise KeyError("no such thing")

    report = run(pipeline(tmp_path, {DAY: whole(0, 30)}, replace(FEED, **{part: raises})))  # type: ignore[arg-type]
    assert f"test.demand: {part} raised KeyError: 'no such thing' (test_runs.py:" in report.failed[0].reason


@pytest.mark.usefixtures("at_noon")
def test_what_a_transport_raises_untyped_is_told_without_its_text(tmp_path: Path) -> None:
    class Broken:
        def ask(self, request: Request) -> Fetched:
            raise RuntimeError("https://example.org/?key=sesame")

    report = run(replace(pipeline(tmp_path, {}), session=Broken()))
    assert "the request raised RuntimeError" in report.failed[0].reason
    assert "sesame" not in report.failed[0].reason


@pytest.mark.usefixtures("at_noon")
def test_an_empty_series_is_none(tmp_path: Path) -> None:
    """As the net of a zone of which one tie is missing: no row, no picture, no trouble."""

    def with_empty(rows: Rows) -> Rows:
        rows.extend(SeriesKey("GB", Metric.INTERCHANGE, "MW", "30m"), [], [])
        return rows

    report = run(pipeline(tmp_path, {DAY: whole(0, 30)}, replace(FEED, combine=with_empty)))
    assert [(d.status, d.rows) for d in report.days] == [("done", 30)]
    assert list(report.sample.readings) == [SeriesKey("GB", Metric.DEMAND, "MW", "30m")]
    empty = Rows()
    empty.extend(SeriesKey("GB", Metric.INTERCHANGE, "MW", "30m"), [], [])
    assert plots.sparkline(empty) == ""


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize("kept", [b"", b'{"feeds": [{"fe', b"[]", b'{"feeds": [{"feed": 1}]}', b"\xff\x00"])
def test_health_that_does_not_decode_is_begun_anew(tmp_path: Path, kept: bytes) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    of.storage.put("published/health/test.json", kept)
    assert run(of).days[0].status == "done"
    (noted,) = health.load(of.storage, "test")
    assert (noted.last_ok, noted.data_until) == (NOON, START + 30 * 1800)


class Failing(Folder):
    """A folder in which puts below some prefixes fail, as on a full disk."""

    def __init__(self, root: Path, *prefixes: str) -> None:
        super().__init__(root)
        self.prefixes = prefixes

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        if key.startswith(self.prefixes):
            raise OSError(errno.ENOSPC, "No space left on device", key)
        super().put(key, body, version, durable)


@pytest.mark.usefixtures("at_noon")
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


@pytest.mark.usefixtures("at_noon")
def test_a_month_file_that_cannot_be_written_or_read_costs_its_zone_alone(tmp_path: Path) -> None:
    def two_zones(body: bytes, request: Request) -> Rows:
        rows = parse(body, request)
        return Rows.of([*rows, *(row._replace(zone="FR") for row in rows)])

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


@pytest.mark.usefixtures("at_noon")
def test_an_answer_that_cannot_be_kept_fails_its_days_and_no_other(tmp_path: Path) -> None:
    yesterday = date(2026, 6, 9)
    of = pipeline(tmp_path, {DAY: whole(0, 30), yesterday: whole(-48, 0)})
    full = replace(of, storage=Failing(tmp_path, layout.raw_prefix("test.demand", str(yesterday))))
    report = run(full, yesterday, DAY)
    assert {d.day: d.status for d in report.days} == {"2026-06-09": "failed", "2026-06-10": "done"}
    assert "No space left on device" in report.failed[0].reason


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize("stray", [100 * 48, 48 * 365 * 36, -48 * 36, -48 * 3650])
def test_rows_far_from_what_was_asked_are_set_aside_and_counted(tmp_path: Path, stray: int) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + f" {stray}=30000".encode()})
    report = run(of)
    assert (report.days[0].status, report.days[0].rows, report.quarantined) == ("done", 30, 1)
    assert [(f.check, f.severity, f.count) for f in report.findings] == [("time", "error", 1)]
    (noted,) = health.load(of.storage, "test")
    assert noted.data_until == START + 30 * 1800
    assert [(zone, month) for _, zone, month in series.held(of.storage)] == [("GB", "2026-06")]


@pytest.mark.usefixtures("at_noon")
def test_tomorrows_rows_are_believed_and_the_day_afters_are_not(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 48) + b" 77=30000 78=30000"})
    report = run(of)
    assert report.quarantined == 1, "now is 15:00: 24 hours later is the first instant that cannot be"
    assert max(stored(of)) == 77


@pytest.mark.usefixtures("at_noon")
def test_a_health_that_ends_in_2062_falls_back_to_the_truth(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30)})
    far = clock.instant("2062-06-10T00:00:00Z")
    health.note(of.storage, "test", [health.Health("test.demand", "GB", 5, "", 0, far, 0, {"demand": far})])
    run(of)
    (noted,) = health.load(of.storage, "test")
    assert (noted.data_until, noted.reached) == (START + 30 * 1800, {"demand": START + 30 * 1800})


@pytest.mark.usefixtures("at_noon")
def test_kept_bodies_are_judged_by_when_they_were_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" 100=30000"})
    run(of)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 30 * 86400))
    assert reparse_days(of, FEED, [MarketDay(DAY, FEED.tz)]).quarantined == 1
