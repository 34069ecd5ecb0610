"""The state of a host, and the places where several threads and processes share it."""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.fetch import file_states, host_state
from assets.fetch.file_states import FileStates
from assets.fetch.host_state import LONGEST_RETRY_AFTER, MINUTE, MOST_PATHS, Circuit, HostState
from assets.fetch.rate_limit import LONGEST_WAIT, Change, HostStates, OwnStates, RateLimiter
from assets.fetch.session import Reply
from assets.fetch.shared_states import AGAIN_S, SharedStates, StatesAway
from orchestration import resources
from orchestration.settings import PipelineSettings
from warehouse.errors import FeedUnavailable
from warehouse.market import Request

HOST = "api.example.org"
_T = TypeVar("_T")


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def tick(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Place:
    """A place with a clock of its own, which can be away."""

    def __init__(self, clock: Clock, ahead: float = 0.0) -> None:
        self.states, self.away = OwnStates(lambda: clock.now + ahead), False

    def update(self, host: str, change: Change[_T]) -> _T:
        if self.away:
            raise StatesAway("OperationalError")
        return self.states.update(host, change)


def taken(states: HostStates, per_minute: float = 60.0, interval: float = 0.0) -> float:
    """The seconds that a turn would be waited for."""
    waits = [0.0]
    RateLimiter(states, waits.append).enter(HOST, "/", per_minute, interval)
    return waits[-1]


@given(
    st.lists(
        st.tuples(st.sampled_from([0.5, 1.9, 2.0, 7.0, 60.0]), st.sampled_from([0.0, 0.5, 5.0]), st.floats(0, 40)),
        max_size=60,
    )
)
def test_sources_of_one_host_keep_each_its_own_limit(asked: list[tuple[float, float, float]]) -> None:
    """Whoever asked before, a turn has no more than its own limit in its minute, and its interval before it."""
    clock, state, turns = 1000.0, HostState(), list[float]()
    for per_minute, interval, pause in asked:
        clock += pause
        turn = host_state.next_turn(state, clock, per_minute, interval)
        assert turn >= clock
        assert not turns or turn >= turns[-1] + interval
        most, span = max(1, int(per_minute)), MINUTE * max(1, int(per_minute)) / per_minute
        assert sum(other > turn - span + 1e-6 for other in turns) < most
        turns.append(turn)
        state = host_state.with_turns(state, [turn])
        assert len(state.turns) <= 61


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan])
def test_a_limit_of_no_request_is_kept_too(limit: float) -> None:
    with pytest.raises(FeedUnavailable, match="never asked") as caught:
        taken(OwnStates(Clock().tick), limit)
    assert caught.value.kind == "resting"


def test_a_limit_beyond_measure_is_asked_a_thousand_times_a_minute() -> None:
    states = OwnStates(Clock().tick)
    waits = [taken(states, math.inf) for _ in range(1001)]
    assert waits == [0.0] * 1000 + [MINUTE]


def test_a_turn_too_far_ahead_is_not_waited_for() -> None:
    states = OwnStates(Clock().tick)
    waits = [taken(states, 0.5) for _ in range(6)]
    assert waits == [0.0, 120.0, 240.0, 360.0, 480.0, LONGEST_WAIT]
    with pytest.raises(FeedUnavailable, match="no turn free for 720 s") as caught:
        taken(states, 0.5)
    assert (caught.value.retry_after, caught.value.kind) == (720.0, "resting")
    assert len(states.seen(HOST).turns) == 1, "and none was taken"


def test_a_clock_that_is_set_back_stops_nobody() -> None:
    clock = Clock(10_000.0)
    states = OwnStates(clock.tick)
    assert [taken(states, 2.0) for _ in range(3)] == [0.0, 0.0, 60.0]
    clock.now = 5_000.0
    assert taken(states, 2.0) == 60.0
    clock.now += 120.0
    assert [taken(states, 2.0) for _ in range(3)] == [0.0, 0.0, 60.0]


def test_circuits_are_bounded() -> None:
    state = HostState()
    for number in range(3 * MOST_PATHS):
        state = host_state.failed(state, f"/{number}{'x' * 5000}", "y" * 5000, False, None, 1000.0 + number)
    assert len(state.paths) == MOST_PATHS
    assert len(host_state.to_json(state)) < 30_000
    assert host_state.open_circuit(state, f"/{3 * MOST_PATHS - 1}{'x' * 5000}", 1150.0) is not None
    later = host_state.failed(state, "/new", "y", False, None, 9000.0)
    assert list(later.paths) == ["/new"], "long rested"
    forever = host_state.failed(HostState(), "/", "y", False, 1e9, 1000.0)
    assert forever.circuit.rest_until == 1000.0 + LONGEST_RETRY_AFTER


def test_requests_that_fail_together_open_a_circuit_once() -> None:
    state = host_state.failed(HostState(), "/", "refused", True, None, 1000.0)
    assert host_state.failed(state, "/", "refused", True, None, 1001.0).circuit == replace(state.circuit, failures=6)
    after = host_state.failed(state, "/", "refused", True, None, 1061.0)
    assert after.circuit.rest_until == 1061.0 + 120.0
    told = host_state.failed(state, "/", "busy", False, 10.0, 1001.0)
    assert told.circuit.rest_until == state.circuit.rest_until, "a shorter word shortens no rest"


STATE = HostState((1.5, 2.25), 4.0, 7, 3.0, Circuit(3, 1, 60.0, "refused"), {"/a": Circuit(3, 2, 61.0, "500")}, 9.0)


def test_what_is_kept_is_what_is_known() -> None:
    assert host_state.from_json(host_state.to_json(STATE)) == STATE


def test_no_text_of_a_publisher_is_beyond_what_a_database_keeps() -> None:
    path, reason = "/a\x00\ud800\U0001f600b", "an \x00 odd\ud800 word"
    state = host_state.failed(HostState(), path, reason, True, None, 1000.0)
    assert state.circuit.reason == "an  odd word"
    assert "\\u0000" not in host_state.to_json(state)
    host_state.to_json(state).encode("ascii")
    assert host_state.open_circuit(replace(state, circuit=host_state.CLOSED), path, 1001.0) is not None
    assert host_state.answered(state, path, 1001.0) == HostState()


@pytest.mark.parametrize(
    "text", ["", "{", "{}", "null", "[]", '"a"', host_state.to_json(STATE).replace("[1.5", '["b"'), "1" * 10]
)
def test_what_cannot_be_read_is_forgotten(text: str) -> None:
    assert host_state.from_json(text) == HostState()


def test_a_place_and_its_processes_need_no_common_clock() -> None:
    clock = Clock()
    place = Place(clock, ahead=1_790_000_000.0)
    one, other = SharedStates(place, clock.tick), SharedStates(place, lambda: clock.now - 5000.0)
    assert [taken(one, 2.0), taken(other, 2.0), taken(one, 2.0), taken(other, 2.0)] == [0.0, 0.0, 60.0, 60.0]
    assert [round(turn) for turn in other.seen(HOST).turns] == [-4000, -3940, -3940][1:]


def test_a_request_too_many_slows_all_of_them_down() -> None:
    clock = Clock()
    place = Place(clock)
    one, other = SharedStates(place, clock.tick), SharedStates(place, clock.tick)
    assert taken(one, 60.0) == 0.0
    RateLimiter(one, clock.sleep).throttled(HOST)
    RateLimiter(other, clock.sleep).throttled(HOST)
    assert taken(other, 60.0) == 2.0, "refused together: slowed down once"


def test_one_that_is_left_alone_goes_on_from_what_all_knew_and_tells_what_it_did(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    clock = Clock()
    place = Place(clock, ahead=500.0)
    one, other = SharedStates(place, clock.tick), SharedStates(place, clock.tick)
    for states in (one, one, other):
        assert taken(states, 6.0) == 0.0
    clock.now += 1
    place.away = True
    assert taken(other, 6.0) == 0.0
    RateLimiter(other, clock.sleep).failed(HOST, "/dead", "refused", False, None)
    assert caplog.text.count("not shared for now") == 1
    place.away = False
    assert taken(other, 6.0) == 0.0
    assert len(place.states.seen(HOST).turns) == 3, "left alone for a while"
    clock.now += AGAIN_S
    assert taken(other, 6.0) == 0.0
    assert [turn - 500 for turn in place.states.seen(HOST).turns] == [1000.0] * 3 + [1001.0] * 2 + [1011.0]
    assert caplog.text.count("shared again") == 1
    assert taken(one, 6.0) == 49.0
    with pytest.raises(FeedUnavailable, match="refused"):
        RateLimiter(one, clock.sleep).enter(HOST, "/dead", 60.0, 0.0)
    assert len(caplog.records) == 2


def test_a_rest_that_others_ended_meanwhile_does_not_come_back_with_who_was_away() -> None:
    clock = Clock()
    place, broken = Place(clock), Place(clock)
    broken.states = place.states
    one, other = SharedStates(broken, clock.tick), SharedStates(place, clock.tick)
    RateLimiter(one, clock.sleep).failed(HOST, "/", "refused", True, None)
    broken.away = True
    RateLimiter(one, clock.sleep).wait(HOST, 60.0, 0.0)
    with pytest.raises(FeedUnavailable):
        taken(other)
    RateLimiter(other, clock.sleep).answered(HOST, "/")
    broken.away = False
    clock.now += AGAIN_S
    assert taken(one) == 0.0


def test_an_answer_is_told_to_nobody_where_it_changes_nothing() -> None:
    clock = Clock()
    place = Place(clock)
    states = SharedStates(place, clock.tick)
    taken(states)
    place.away = True
    RateLimiter(states, clock.sleep).answered(HOST, "/")
    assert states.seen(HOST) == place.states.seen(HOST)
    RateLimiter(states, clock.sleep).failed(HOST, "/", "refused", True, None)
    RateLimiter(states, clock.sleep).answered(HOST, "/")
    assert states.seen(HOST).circuit == host_state.CLOSED


def kept(path: Path) -> HostState:
    with closing(sqlite3.connect(path)) as database:
        return host_state.from_json(database.execute("SELECT state FROM publisher_pace").fetchone()[0])


def race(states: Callable[[], HostStates], threads: int = 4, each: int = 15) -> list[float]:
    """All turns that threads take at once, with states of their own or one for all."""
    turns: list[float] = []

    def ask() -> None:
        own = states()
        for _ in range(each):
            waited = taken(own, 60_000.0, 0.25)
            turns.append(waited)

    running = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
    return turns


@pytest.mark.parametrize("one_for_all", [True, False])
def test_threads_and_places_that_race_take_no_turn_twice(one_for_all: bool, tmp_path: Path) -> None:
    path = tmp_path / "pace.sqlite"
    same = SharedStates(FileStates(path))
    waits = race(lambda: same if one_for_all else SharedStates(FileStates(path)))
    assert len(waits) == 60
    turns = kept(path).turns
    assert len(turns) == 60
    assert min(later - turn for turn, later in pairwise(turns)) >= 0.25 - 1e-5


def test_the_pace_lies_beside_the_accounts_and_only_where_publishers_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "transport_of", lambda *_: lambda request, credentials: Reply(200, {}, b"rows"))
    for feeds in ("simulated", "live"):
        home = tmp_path / feeds
        pipeline = resources.open_context({"EMDS_HOME": str(home), "EMDS_FEEDS": feeds})
        assert pipeline.session.ask(Request("neso.generation", "https://api.example.org/")).body == b"rows"
        assert (home / "pace.sqlite").exists() == (feeds == "live")
    (tmp_path / "none").mkdir()
    shared = resources.host_states(PipelineSettings.from_environ({"EMDS_HOME": str(tmp_path / "none")}))
    assert shared is not None
    assert taken(shared) == 0.0
    assert kept(tmp_path / "none" / "pace.sqlite").turns
    assert resources.host_states(PipelineSettings.from_environ({"EMDS_HOME": str(tmp_path / "not yet")})) is None
    assert not (tmp_path / "not yet").exists()


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "pace.sqlite"
    path.write_bytes(b"no database" * 1000)
    clock = Clock()
    states = SharedStates(FileStates(path, lambda: clock.now + 1e9), clock.tick)
    assert taken(states, 2.0) == 0.0
    clock.now += AGAIN_S
    assert taken(states, 2.0) == 0.0
    assert taken(SharedStates(FileStates(path, lambda: clock.now + 1e9), clock.tick), 2.0) == 50.0


def test_a_file_that_another_holds_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_states, "_PATIENCE_S", 0.05)
    path = tmp_path / "pace.sqlite"
    taken(SharedStates(FileStates(path)))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert taken(SharedStates(FileStates(path))) == 0.0
    holder.close()
    assert len(kept(path).turns) == 1
