"""Test rate limits and pauses that all processes of a machine share, and hosts that reject bursts or are down."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.fetch import session as session_module
from assets.fetch.credentials import Credentials
from assets.fetch.rate_limits import LONGEST_REST_S, RateLimits
from assets.fetch.session import Reply, Session
from assets.sources import source
from tests.fetch.scripted_publisher import ENVIRON, GOOD, HOST, REQUEST, Clock, Live, Script, example
from warehouse.errors import FeedUnavailable, cause_of
from warehouse.market.feeds import Request


@dataclass
class Nemweb:
    """A host that rejects more than `most` requests in `window` seconds with 403, as NEMWEB does."""

    clock: Clock
    most: int
    window: float
    times: list[float] = field(default_factory=list)
    refused: int = 0

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        self.clock.now += 0.05
        self.times = [time for time in self.times if time > self.clock.now - self.window]
        if len(self.times) >= self.most:
            self.refused += 1
            return Reply(403, {}, b"<html>Forbidden</html>")
        self.times.append(self.clock.now)
        return GOOD


@pytest.mark.parametrize(("most", "window"), [(40, 60.0), (10, 10.0), (20, 30.0), (5, 5.0), (30, 60.0)])
def test_a_first_fill_of_hundreds_of_files_gets_through_a_host_that_refuses_bursts(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, most: int, window: float
) -> None:
    terms = replace(source("aemo"), hosts=(HOST,))
    monkeypatch.setattr(session_module, "source", lambda code: terms)
    host = Nemweb(clock, most, window)
    session = Session(host, ENVIRON, tick=clock.tick, sleep=clock.sleep, chance=lambda: 0.5)
    started = clock.now
    for number in range(600):
        assert session.ask(Request("aemo.dispatch", f"https://{HOST}/{number}.zip")).body == b"rows"
    assert host.refused <= 60, "a tenth of the answers: a refused request pauses its session, and slows nothing down"
    assert clock.now - started < 600 * max(1.0, window / most) * 4


def test_a_host_that_goes_on_refusing_bursts_is_later_not_never(live: Live) -> None:
    session = live(Script([Reply(403, {}, b"")]))
    with pytest.raises(FeedUnavailable, match="too many requests at once, or none from this address"):
        session.ask(REQUEST)
    with pytest.raises(FeedUnavailable, match="paused for 60 s") as caught:
        session.ask(REQUEST)
    assert caught.value.retry_after == 60


def test_a_dead_host_is_left_alone_for_a_minute(live: Live, clock: Clock) -> None:
    script = Script([FeedUnavailable(f"{HOST}: connection refused")])
    session = live(script)
    with pytest.raises(FeedUnavailable, match="connection refused"):
        session.ask(REQUEST)
    count = len(script.calls)
    with pytest.raises(FeedUnavailable, match="paused for 60 s") as caught:
        session.ask(REQUEST)
    assert (len(script.calls), caught.value.retry_after, caught.value.kind) == (count, 60, "paused")
    assert cause_of(caught.value) == f"{HOST}: connection refused", "a pause keeps the failure that began it"
    clock.now += 60
    script.replies = [GOOD]
    session.ask(REQUEST)


def test_a_report_that_fails_costs_no_other_report_of_its_publisher(live: Live) -> None:
    session = live(Script([*[Reply(500, {}, b"")] * 3, GOOD]))
    with pytest.raises(FeedUnavailable, match=r"returned 500$"):
        session.ask(REQUEST)
    assert session.ask(Request("example.price", f"https://{HOST}/b")).body == b"rows"


def test_seconds_between_two_requests_where_the_publisher_says_so(live: Live, clock: Clock) -> None:
    session = live(Script([GOOD]), terms=example(interval=5.0))
    for _ in range(3):
        session.ask(REQUEST)
    assert clock.now == 1010.0


ROOT = Path(__file__).resolve().parents[2]
ASK = """
import sys, time
from pathlib import Path
from assets.fetch.rate_limits import RateLimits
given = []
rate_limits = RateLimits(Path(sys.argv[1]), now=lambda: 1000.0, sleep=given.append)
for _ in range(5):
    rate_limits.take("nemweb", 60, 0)
print(*given)
"""


def test_processes_share_one_pace(tmp_path: Path) -> None:
    """Run three processes with stopped clocks: each rate-limit slot is given once, a second apart."""
    started = [
        subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    waits = sorted(float(wait) for process in started for wait in process.communicate(timeout=60)[0].split())
    assert waits == [float(second) for second in range(1, 15)]


@given(st.lists(st.floats(0, 30), min_size=2, max_size=30), st.sampled_from([2, 6, 30, 300]), st.sampled_from([0, 5.0]))
def test_two_rate_limits_are_never_closer_than_the_publisher_allows(
    pauses: list[float], limit: int, interval: float
) -> None:
    clock, given = Clock(), list[float]()
    rate_limits = RateLimits(now=clock.tick, sleep=clock.sleep)
    for pause in pauses:
        clock.now += pause
        rate_limits.take("pjm", limit, interval)
        given.append(clock.now)
    least = max(interval, 60 / limit)
    assert all(later - first >= least - 1e-3 for first, later in pairwise(given))


def test_a_rest_outlives_the_process_and_holds_for_its_publisher_alone(tmp_path: Path) -> None:
    RateLimits(tmp_path, now=lambda: 1000.0).rest("caiso", 90)
    later = RateLimits(tmp_path, now=lambda: 1030.0, sleep=lambda seconds: None)
    with pytest.raises(FeedUnavailable, match="Requests to caiso are paused for 60 s") as caught:
        later.take("caiso", 60, 0)
    assert caught.value.retry_after == 60
    later.take("nyiso", 60, 0)
    RateLimits(tmp_path, now=lambda: 1091.0, sleep=lambda seconds: None).take("caiso", 60, 0)


def test_a_shorter_rest_ends_no_longer_one_and_none_is_longer_than_an_hour(tmp_path: Path) -> None:
    rate_limits = RateLimits(tmp_path, now=lambda: 1000.0)
    rate_limits.rest("caiso", 1e6)
    rate_limits.rest("caiso", None)
    with pytest.raises(FeedUnavailable) as caught:
        rate_limits.take("caiso", 60, 0)
    assert caught.value.retry_after == LONGEST_REST_S


def test_the_cause_of_a_pause_outlives_the_process_and_a_file_of_before_has_none(tmp_path: Path) -> None:
    RateLimits(tmp_path, now=lambda: 1000.0).rest("caiso", None, "oasis.caiso.com: its name\ndoes not resolve")
    with pytest.raises(FeedUnavailable) as caught:
        RateLimits(tmp_path, now=lambda: 1010.0).take("caiso", 60, 0)
    assert str(caught.value) == "Requests to caiso are paused for 50 s: oasis.caiso.com: its name does not resolve"
    (tmp_path / "caiso").write_text("990.000 1060.000\n")
    with pytest.raises(FeedUnavailable, match=r"^Requests to caiso are paused for 50 s$"):
        RateLimits(tmp_path, now=lambda: 1010.0).take("caiso", 60, 0)


def test_a_clock_that_was_set_back_stops_nobody(tmp_path: Path) -> None:
    rate_limits = RateLimits(tmp_path, now=lambda: 10_000.0)
    rate_limits.take("caiso", 60, 0)
    rate_limits.rest("caiso", 600)
    waits: list[float] = []
    RateLimits(tmp_path, now=lambda: 1000.0, sleep=waits.append).take("caiso", 60, 0)
    assert waits == []
