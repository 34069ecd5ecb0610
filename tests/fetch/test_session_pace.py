"""The session's pace: requests a minute, hosts that refuse bursts, and hosts or reports left alone for a while."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import pytest

from assets.fetch import session as session_module
from assets.fetch.credentials import Credentials
from assets.fetch.host_state import LONGEST_REST
from assets.fetch.rate_limit import OwnStates, RateLimiter
from assets.fetch.session import ATTEMPTS, Reply, Session
from assets.sources import source
from tests.fetch.scripted_publisher import ENVIRON, GOOD, HOST, REQUEST, Clock, Live, Script, example
from warehouse.errors import FeedUnavailable
from warehouse.market import Request


@dataclass
class Nemweb:
    """A host that refuses with 403 what exceeds `most` requests in `window` seconds, as NEMWEB does."""

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
    assert host.refused <= 40
    assert clock.now - started < 600 * max(1.0, window / most) * 4


def test_a_host_that_goes_on_refusing_bursts_is_later_not_never(live: Live) -> None:
    session = live(Script([Reply(403, {}, b"")]))
    with pytest.raises(FeedUnavailable, match="too many requests at once, or none from this address"):
        session.ask(REQUEST)
    with pytest.raises(FeedUnavailable, match="asked again in 60 s") as caught:
        session.ask(REQUEST)
    assert caught.value.retry_after == 60


def test_a_slowed_host_gets_its_pace_back() -> None:
    clock = Clock()
    gate = RateLimiter(OwnStates(clock.tick), clock.sleep)
    gate.throttled(HOST)
    gate.throttled(HOST)
    gate.enter(HOST, "/", 60.0, 0.0)
    assert gate.wait(HOST, 60.0, 0.0) == 2.0, "refused together: slowed down once"
    for _ in range(100):
        gate.answered(HOST, "/")
    assert gate.wait(HOST, 60.0, 0.0) == 0.0


def test_a_dead_host_is_left_alone_for_a_while_and_longer_each_time(live: Live, clock: Clock) -> None:
    script = Script([FeedUnavailable(f"{HOST}: connection refused")])
    session = live(script)
    waits = []
    for _ in range(6):
        with pytest.raises(FeedUnavailable, match="connection refused"):
            session.ask(REQUEST)
        count = len(script.calls)
        with pytest.raises(FeedUnavailable, match="connection refused; asked again in") as caught:
            session.ask(REQUEST)
        assert len(script.calls) == count
        assert caught.value.retry_after is not None
        waits.append(caught.value.retry_after)
        clock.now += caught.value.retry_after
    assert waits[:4] == [60.0, 120.0, 240.0, 300.0]
    assert waits[-1] == LONGEST_REST
    script.replies = [GOOD]
    session.ask(REQUEST)
    session.ask(REQUEST)


def test_a_report_that_fails_is_left_alone_and_its_host_after_three_of_them(live: Live) -> None:
    script = Script([Reply(500, {}, b"")])
    session = live(script)
    for name in ("a", "b", "c"):
        request = Request("example.price", f"https://{HOST}/{name}")
        with pytest.raises(FeedUnavailable, match=r"answers 500$"):
            session.ask(request)
        count = len(script.calls)
        with pytest.raises(FeedUnavailable, match="asked again in 60 s"):
            session.ask(request)
        assert len(script.calls) == count
    with pytest.raises(FeedUnavailable, match="asked again in 60 s"):
        session.ask(Request("example.price", f"https://{HOST}/d"))
    assert len(script.calls) == 3 * ATTEMPTS


def test_a_report_that_works_opens_its_host_again(live: Live) -> None:
    script = Script([*[Reply(500, {}, b"")] * 2 * ATTEMPTS, GOOD, *[Reply(500, {}, b"")] * ATTEMPTS, GOOD])
    session = live(script)
    requests = [Request("example.price", f"https://{HOST}/{name}") for name in "abcde"]
    for request, succeeds in zip(requests, (False, False, True, False, True), strict=True):
        if succeeds:
            assert session.ask(request).body == b"rows"
        else:
            with pytest.raises(FeedUnavailable):
                session.ask(request)


def test_one_dead_host_does_not_close_another(live: Live) -> None:
    script = Script([FeedUnavailable("refused")])
    session = live(script)
    with pytest.raises(FeedUnavailable):
        session.ask(REQUEST)
    script.replies = [GOOD]
    other = Request("example.load", "https://www.example.org/load")
    assert session.ask(other).body == b"rows"


def test_so_many_requests_a_minute_and_not_more(live: Live, clock: Clock) -> None:
    session = live(Script([GOOD]), terms=example(per_minute=6))
    starts = []
    for _ in range(13):
        session.ask(REQUEST)
        starts.append(clock.now)
    assert starts[:6] == [1000.0] * 6, "the first ones need not wait"
    assert all(later - first >= 60.0 for first, later in zip(starts, starts[6:], strict=False))


def test_seconds_between_two_requests_where_the_publisher_says_so(live: Live, clock: Clock) -> None:
    session = live(Script([GOOD]), terms=example(interval=5.0))
    for _ in range(3):
        session.ask(REQUEST)
    assert clock.now == 1010.0


def test_a_slow_pace_leaves_no_second_attempt_within_patience(live: Live, clock: Clock) -> None:
    script = Script([Reply(503, {}, b"")])
    session = live(script, terms=example(per_minute=0.5))
    with pytest.raises(FeedUnavailable):
        session.ask(REQUEST)
    assert (len(script.calls), clock.slept) == (1, [])


def test_less_than_one_request_a_minute() -> None:
    clock = Clock()
    gate = RateLimiter(OwnStates(clock.tick), clock.sleep)
    for _ in range(3):
        gate.enter(HOST, "/", 0.5, 0.0)
    assert clock.now == 1000.0 + 2 * 120


def test_threads_share_the_pace() -> None:
    clock, lock = Clock(), threading.Lock()
    starts: list[float] = []

    def sleep(seconds: float) -> None:
        with lock:
            starts.append(clock.now + seconds)

    gate = RateLimiter(OwnStates(clock.tick), sleep)
    threads = [threading.Thread(target=gate.enter, args=(HOST, "/", 60_000.0, 5.0)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(starts) == [1000.0 + 5.0 * i for i in range(1, 8)]
