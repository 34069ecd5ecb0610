"""Test sessions with publishers: the request and time of a response, error types by status, attempts after pauses."""

from __future__ import annotations

import pytest

from assets.fetch.session import ATTEMPTS, SLOW, Reply, Session
from assets.sources import feeds
from tests.fetch.scripted_publisher import GOOD, HOST, KEYED, REQUEST, Clock, Live, Script
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market.feeds import Request


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, FeedUnavailable),
        (410, FeedUnavailable),
        (401, FeedUnavailable),
        (400, FeedChanged),
        (501, FeedUnavailable),
        (302, FeedUnavailable),
        (451, FeedChanged),
    ],
)
def test_a_status_that_asking_again_does_not_cure_is_typed_at_once(
    live: Live, status: int, error: type[FeedError]
) -> None:
    script = Script([Reply(status, {}, b"<html>")])
    with pytest.raises(error, match=HOST):
        live(script).ask(REQUEST)
    assert len(script.calls) == 1


@pytest.mark.parametrize(
    ("feed", "body", "error"),
    [
        ("nyiso.load", b"", NotPublished),
        ("nyiso.load", b"<html><title>404 Not Found</title></html>", NotPublished),
        ("entsoe.price", b"404 page not found", FeedUnavailable),
        ("entsoe.price", b"", FeedUnavailable),
        ("eia.demand", b'{"error": "Not Found", "code": 404}', FeedUnavailable),
        ("energy_charts.price", b'{"detail": "No content available"}', NotPublished),
        ("energy_charts.price", b'{"detail": "Too Many Requests"}', FeedUnavailable),
    ],
)
def test_404_of_a_file_is_not_there_yet_and_of_a_question_an_outage(
    feed: str, body: bytes, error: type[FeedError]
) -> None:
    session = Session(Script([Reply(404, {}, body)]))
    with pytest.raises(FeedError) as caught:
        session.ask(Request(feed, "https://publisher.example/rows"))
    assert type(caught.value) is error


def test_every_feed_of_an_interface_takes_404_for_an_outage() -> None:
    files = {feed.id for feed in feeds().values() if feed.files}
    assert {"entsoe.price", "eia.demand", "elexon.price", "neso.generation", "pjm.lmp_da"}.isdisjoint(files)
    for feed in feeds().values():
        with pytest.raises(FeedError) as caught:
            Session(Script([Reply(404, {}, b"404 page not found")])).ask(Request(feed.id, "https://publisher.example/"))
        assert type(caught.value) is (NotPublished if feed.files else FeedUnavailable)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 522])
def test_what_may_pass_is_asked_again_and_then_given_up(live: Live, status: int) -> None:
    script = Script([Reply(status, {}, b"")])
    with pytest.raises(FeedUnavailable, match=f"{HOST} returned {status}"):
        live(script).ask(REQUEST)
    assert len(script.calls) == ATTEMPTS


@pytest.mark.parametrize("status", [429, 403])
def test_one_request_too_many_is_repeated_after_longer_and_longer_pauses(live: Live, clock: Clock, status: int) -> None:
    script = Script([Reply(status, {}, b"<html>")])
    with pytest.raises(FeedUnavailable, match=f"{HOST} returned {status}"):
        live(script).ask(REQUEST)
    assert clock.slept == [5.0, 10.0, 20.0, 40.0]
    assert len(script.calls) == 5


def test_pauses_double_with_jitter(live: Live, clock: Clock) -> None:
    with pytest.raises(FeedUnavailable):
        live(Script([Reply(500, {}, b"")])).ask(REQUEST)
    assert clock.slept == [1.0, 2.0]


def test_retry_after_is_kept_to(live: Live, clock: Clock) -> None:
    live(Script([Reply(429, {"retry-after": "17"}, b""), GOOD])).ask(REQUEST)
    assert clock.slept == [17.0]


def test_a_long_retry_after_is_told_not_waited_for(live: Live, clock: Clock) -> None:
    script = Script([Reply(429, {"retry-after": "600"}, b"")])
    session = live(script)
    with pytest.raises(FeedUnavailable) as caught:
        session.ask(REQUEST)
    assert caught.value.retry_after == 600
    assert not clock.slept
    with pytest.raises(FeedUnavailable, match="paused for 600 s"):
        session.ask(REQUEST)
    assert len(script.calls) == 1, "the host is left alone meanwhile"
    clock.now += 601
    with pytest.raises(FeedUnavailable):
        session.ask(REQUEST)
    assert len(script.calls) == 2


def test_a_silent_host_is_not_asked_twice(live: Live, clock: Clock) -> None:
    script = Script([FeedUnavailable("silent")], lasts=SLOW + 1, clock=clock)
    with pytest.raises(FeedUnavailable, match="silent"):
        live(script).ask(REQUEST)
    assert len(script.calls) == 1


def test_a_session_that_never_leaves_the_machine_needs_no_keys_and_no_pauses(clock: Clock) -> None:
    script = Script([Reply(503, {}, b"")])
    session = Session(script, sleep=clock.sleep)
    with pytest.raises(FeedUnavailable, match="503"):
        session.ask(KEYED)
    assert len(script.calls) == 1
    assert not clock.slept
    assert script.calls[0][1].values == ()


def test_a_400_that_says_there_is_no_data_is_no_change_of_format() -> None:
    body = (
        b'<?xml version="1.0"?><Acknowledgement_MarketDocument xmlns="urn:x"><Reason><code>999</code>'
        b"<text>No matching data found for Data item ENERGY_PRICES [12.1.D]</text></Reason>"
        b"</Acknowledgement_MarketDocument>"
    )
    request = Request("entsoe.price", "https://web-api.tp.entsoe.eu/api", zone="FR")
    with pytest.raises(NotPublished):
        Session(lambda request, credentials: Reply(400, {}, body)).ask(request)
    with pytest.raises(FeedChanged):
        Session(lambda request, credentials: Reply(400, {}, b"")).ask(request)
