"""The session towards publishers: rate limit, retries, circuit breaker, the type of each status, secrets."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from assets.fetch import session as session_module
from assets.fetch.credentials import Credentials
from assets.fetch.host_state import LONGEST_REST
from assets.fetch.rate_limit import OwnStates, RateLimiter
from assets.fetch.session import ATTEMPTS, PATIENCE, SLOW, Reply, Session
from assets.sources import source
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market import Request, Secret, Source

HOST = "api.example.org"
TOKEN = Secret("query", "securityToken", ("EXAMPLE_TOKEN",))
REQUEST = Request("example.price", f"https://{HOST}/price", (("day", "2026-03-29"),))
KEYED = Request("example.price", f"https://{HOST}/price", secrets=(TOKEN,))
SECRET = "s3cret-and-long"
ENVIRON = {"EXAMPLE_TOKEN": SECRET}
SPOILT = "grün\x00geheim"
GOOD = Reply(200, {}, b"rows")


def example(per_minute: float = 60_000, interval: float = 0.0) -> Source:
    return Source("example", "Example", "", (HOST,), per_minute, "", "", "", "yes", (), min_interval_s=interval)


@dataclass
class Clock:
    """A clock that moves only by `sleep`."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def tick(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Script:
    """A transport that gives its replies in turn and repeats the last; a reply that is an error is raised."""

    replies: list[Reply | FeedError]
    calls: list[tuple[Request, Credentials]] = field(default_factory=list)
    lasts: float = 0.0
    clock: Clock | None = None

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        self.calls.append((request, credentials))
        if self.clock:
            self.clock.now += self.lasts
        outcome = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(outcome, FeedError):
            raise outcome
        return outcome


Live = Callable[..., Session]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Live:
    """Makes a live session over a script, on the clock of the test."""

    def make(script: Script, environ: Mapping[str, str] = ENVIRON, terms: Source | None = None) -> Session:
        monkeypatch.setattr(session_module, "source", lambda code: terms or example())
        return Session(
            script, environ, now=lambda: 1_790_000_000, tick=clock.tick, sleep=clock.sleep, chance=lambda: 0.5
        )

    return make


def test_an_answer_tells_its_question_and_its_time(live: Live) -> None:
    answer = live(Script([GOOD])).ask(REQUEST)
    assert answer.body == b"rows"
    assert answer.request is REQUEST
    assert answer.fetched_at == 1_790_000_000


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, NotPublished),
        (410, NotPublished),
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


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_variable_to_check(live: Live, status: int) -> None:
    with pytest.raises(CredentialsMissing, match="check EXAMPLE_TOKEN") as caught:
        live(Script([Reply(status, {}, b"")])).ask(KEYED)
    assert caught.value.names == ("EXAMPLE_TOKEN",)


def test_ercots_403_says_that_it_answers_only_in_the_united_states(live: Live) -> None:
    """Its firewall refuses other addresses before it looks at a key."""
    keyed = replace(KEYED, url="https://api.ercot.com/api/public-reports")
    for request in (keyed, replace(REQUEST, url="https://www.ercot.com/misapp")):
        with pytest.raises(FeedUnavailable, match="outside the United States"):
            live(Script([Reply(403, {}, b"")])).ask(request)
    with pytest.raises(CredentialsMissing):
        live(Script([Reply(401, {}, b"")])).ask(keyed)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 522])
def test_what_may_pass_is_asked_again_and_then_given_up(live: Live, status: int) -> None:
    script = Script([Reply(status, {}, b"")])
    with pytest.raises(FeedUnavailable, match=f"{HOST} answers {status}"):
        live(script).ask(REQUEST)
    assert len(script.calls) == ATTEMPTS


@pytest.mark.parametrize("status", [429, 403])
def test_one_request_too_many_is_repeated_after_longer_and_longer_pauses(live: Live, clock: Clock, status: int) -> None:
    script = Script([Reply(status, {}, b"<html>")])
    with pytest.raises(FeedUnavailable, match=f"{HOST} answers {status}"):
        live(script).ask(REQUEST)
    assert clock.slept == [5.0, 10.0, 20.0, 40.0]
    assert len(script.calls) == 5


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


def test_a_second_attempt_that_succeeds_is_an_answer(live: Live, clock: Clock) -> None:
    assert live(Script([Reply(503, {}, b""), GOOD])).ask(REQUEST).body == b"rows"
    assert clock.slept == [1.0]


def test_pauses_double_with_jitter(live: Live, clock: Clock) -> None:
    with pytest.raises(FeedUnavailable):
        live(Script([Reply(500, {}, b"")])).ask(REQUEST)
    assert clock.slept == [1.0, 2.0]


def test_retry_after_is_kept_to(live: Live, clock: Clock) -> None:
    live(Script([Reply(429, {"retry-after": "17"}, b""), GOOD])).ask(REQUEST)
    assert clock.slept == [17.0]


def test_a_429_without_retry_after_waits_oasis_five_seconds(live: Live, clock: Clock) -> None:
    live(Script([Reply(429, {}, b""), GOOD])).ask(REQUEST)
    assert clock.slept == [5.0]


@pytest.mark.parametrize("word", ["soon", "-", "1e400"])
def test_a_retry_after_that_is_none_is_no_retry_after(live: Live, clock: Clock, word: str) -> None:
    live(Script([Reply(503, {"retry-after": word}, b""), GOOD])).ask(REQUEST)
    assert clock.slept == [1.0]


def test_a_long_retry_after_is_told_not_waited_for(live: Live, clock: Clock) -> None:
    script = Script([Reply(429, {"retry-after": "600"}, b"")])
    session = live(script)
    with pytest.raises(FeedUnavailable) as caught:
        session.ask(REQUEST)
    assert caught.value.retry_after == 600
    assert not clock.slept
    with pytest.raises(FeedUnavailable, match="asked again in 600 s"):
        session.ask(REQUEST)
    assert len(script.calls) == 1, "the host is left alone meanwhile"
    clock.now += 601
    with pytest.raises(FeedUnavailable):
        session.ask(REQUEST)
    assert len(script.calls) == 2


def test_no_attempt_begins_when_patience_is_over(live: Live, clock: Clock) -> None:
    script = Script([Reply(503, {"retry-after": f"{PATIENCE / 2 + 1:.0f}"}, b"")])
    with pytest.raises(FeedUnavailable):
        live(script).ask(REQUEST)
    assert clock.slept == [PATIENCE / 2 + 1]


def test_a_silent_host_is_not_asked_twice(live: Live, clock: Clock) -> None:
    script = Script([FeedUnavailable("silent")], lasts=SLOW + 1, clock=clock)
    with pytest.raises(FeedUnavailable, match="silent"):
        live(script).ask(REQUEST)
    assert len(script.calls) == 1


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


def test_a_session_that_never_leaves_the_machine_needs_no_keys_and_no_pauses(clock: Clock) -> None:
    script = Script([Reply(503, {}, b"")])
    session = Session(script, sleep=clock.sleep)
    with pytest.raises(FeedUnavailable, match="503"):
        session.ask(KEYED)
    assert len(script.calls) == 1
    assert not clock.slept
    assert script.calls[0][1].values == ()


# Credentials


def test_without_credentials_nothing_is_asked(live: Live) -> None:
    script = Script([GOOD])
    both = Request(
        "example.price", f"https://{HOST}/", secrets=(TOKEN, Secret("basic", "", ("EXAMPLE_USER", "EXAMPLE_PASSWORD")))
    )
    with pytest.raises(CredentialsMissing, match="set EXAMPLE_TOKEN, EXAMPLE_USER, EXAMPLE_PASSWORD") as caught:
        live(script, environ={"EXAMPLE_USER": " "}).ask(both)
    assert caught.value.names == ("EXAMPLE_TOKEN", "EXAMPLE_USER", "EXAMPLE_PASSWORD")
    assert not script.calls


def test_secrets_are_put_where_they_belong(live: Live) -> None:
    script = Script([GOOD])
    environ = {"T": "token-value\n", "H": "header-value", "U": "user", "P": "pass:word"}
    secrets = (Secret("query", "token", ("T",)), Secret("header", "X-Key", ("H",)), Secret("basic", "", ("U", "P")))
    live(script, environ=environ).ask(Request("example.price", f"https://{HOST}/", secrets=secrets))
    [(_, credentials)] = script.calls
    assert credentials.query == (("token", "token-value"),)
    assert credentials.headers == (("X-Key", "header-value"), ("Authorization", "Basic dXNlcjpwYXNzOndvcmQ="))


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(live: Live) -> None:
    keyed = Request("example.price", f"https://{HOST}/", secrets=(Secret("header", "X-Key", ("H",)),))
    with pytest.raises(CredentialsMissing, match="check H") as caught:
        live(Script([GOOD]), environ={"H": SPOILT}).ask(keyed)
    assert SPOILT[-6:] not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "echo",
    [
        b'{"api_key": "s3cret&long=/x"}',
        b"<a>s3cret&amp;long=/x</a>",
        b"?api_key=s3cret%26long%3D%2Fx&",
        b"s3cret&long=/x" * 3,
    ],
)
def test_an_echoed_secret_is_struck_out_of_the_body(live: Live, echo: bytes) -> None:
    answer = live(Script([Reply(200, {}, echo)]), environ={"EXAMPLE_TOKEN": "s3cret&long=/x"}).ask(KEYED)
    assert b"s3cret" not in answer.body
    assert b"REDACTED" in answer.body


def test_figures_are_never_struck_out_for_a_short_password(live: Live) -> None:
    body = b'{"value": 12345}'
    assert live(Script([Reply(200, {}, body)]), environ={"EXAMPLE_TOKEN": "12345"}).ask(KEYED).body == body


@pytest.mark.parametrize("status", [500, 429, 400, 401, 403, 404, 302])
def test_no_failure_shows_a_secret(live: Live, status: int) -> None:
    with pytest.raises(FeedError) as caught:
        live(Script([Reply(status, {"location": f"/?k={SECRET}"}, SECRET.encode())])).ask(KEYED)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_credentials_do_not_print_themselves() -> None:
    assert "s3cret" not in repr(Credentials((("k", "s3cret"),), (("h", "s3cret"),), (("f", "s3cret"),)))


# ERCOT's bearer token

ERCOT = Request(
    "example.spp",
    f"https://{HOST}/spp",
    secrets=(
        Secret("header", "Ocp-Apim-Subscription-Key", ("ERCOT_API_KEY",)),
        Secret("ercot", "", ("ERCOT_USERNAME", "ERCOT_PASSWORD")),
    ),
)
ERCOT_ENVIRON = {"ERCOT_API_KEY": "subscription", "ERCOT_USERNAME": "user@example.org", "ERCOT_PASSWORD": "very-s3cret"}


def test_ercots_token_is_bought_once_and_used_until_it_ends(live: Live, clock: Clock) -> None:
    token = Reply(200, {}, b'{"id_token": "bearer-token"}')
    script = Script([token, GOOD, GOOD, token, GOOD])
    session = live(script, environ=ERCOT_ENVIRON)
    session.ask(ERCOT)
    session.ask(ERCOT)
    clock.now += 3301
    session.ask(ERCOT)
    hosts = [request.url.split("/")[2] for request, _ in script.calls]
    assert hosts == ["ercotb2c.b2clogin.com", HOST, HOST, "ercotb2c.b2clogin.com", HOST]
    request, form = script.calls[0]
    assert ("password", "very-s3cret") in form.form
    assert "very-s3cret" not in repr(request)
    assert script.calls[1][1].headers == (
        ("Ocp-Apim-Subscription-Key", "subscription"),
        ("Authorization", "Bearer bearer-token"),
    )


@pytest.mark.parametrize("status", [400, 401])
def test_a_wrong_ercot_password_names_the_variables(live: Live, status: int) -> None:
    with pytest.raises(CredentialsMissing, match="check ERCOT_API_KEY, ERCOT_USERNAME, ERCOT_PASSWORD"):
        live(Script([Reply(status, {}, b"{}")]), environ=ERCOT_ENVIRON).ask(ERCOT)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"id_token": "a\\nb"}', b"[]", b"<html>"])
def test_a_token_that_is_none_is_typed(live: Live, body: bytes) -> None:
    with pytest.raises(FeedError):
        live(Script([Reply(200, {}, body)]), environ=ERCOT_ENVIRON).ask(ERCOT)


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
