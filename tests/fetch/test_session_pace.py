"""The session's pace: requests a minute, hosts that refuse bursts, and publishers that nobody asks for a while."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from assets.fetch import session as session_module
from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply, Session
from assets.sources import source
from tests.fetch.scripted_publisher import ENVIRON, GOOD, HOST, REQUEST, Clock, Live, Script, example
from warehouse.errors import FeedUnavailable
from warehouse.market.market import Request


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
    assert host.refused <= 60, "a tenth of the answers: a refused request pauses its session, and slows nothing down"
    assert clock.now - started < 600 * max(1.0, window / most) * 4


def test_a_host_that_goes_on_refusing_bursts_is_later_not_never(live: Live) -> None:
    session = live(Script([Reply(403, {}, b"")]))
    with pytest.raises(FeedUnavailable, match="too many requests at once, or none from this address"):
        session.ask(REQUEST)
    with pytest.raises(FeedUnavailable, match="asked again in 60 s") as caught:
        session.ask(REQUEST)
    assert caught.value.retry_after == 60


def test_a_dead_host_is_left_alone_for_a_minute(live: Live, clock: Clock) -> None:
    script = Script([FeedUnavailable(f"{HOST}: connection refused")])
    session = live(script)
    with pytest.raises(FeedUnavailable, match="connection refused"):
        session.ask(REQUEST)
    count = len(script.calls)
    with pytest.raises(FeedUnavailable, match="asked again in 60 s") as caught:
        session.ask(REQUEST)
    assert (len(script.calls), caught.value.retry_after, caught.value.kind) == (count, 60, "resting")
    clock.now += 60
    script.replies = [GOOD]
    session.ask(REQUEST)


def test_a_report_that_fails_costs_no_other_report_of_its_publisher(live: Live) -> None:
    session = live(Script([*[Reply(500, {}, b"")] * 3, GOOD]))
    with pytest.raises(FeedUnavailable, match=r"answers 500$"):
        session.ask(REQUEST)
    assert session.ask(Request("example.price", f"https://{HOST}/b")).body == b"rows"


def test_seconds_between_two_requests_where_the_publisher_says_so(live: Live, clock: Clock) -> None:
    session = live(Script([GOOD]), terms=example(interval=5.0))
    for _ in range(3):
        session.ask(REQUEST)
    assert clock.now == 1010.0
