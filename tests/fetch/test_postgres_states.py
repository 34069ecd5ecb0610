"""Hosts' states in PostgreSQL: threads that race, a row that another holds, a server that stands still."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise

import psycopg
import pytest

from assets.fetch import host_state, postgres_states
from assets.fetch.host_state import HostState
from assets.fetch.postgres_states import PostgresStates
from assets.fetch.rate_limit import RateLimiter
from assets.fetch.shared_states import SharedStates, StatesAway
from tests.stand_ins.postgres import Postgres, programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL: run `make setup`"),
]
HOST = "api.example.org"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def address(server: Postgres) -> str:
    server.empty()
    return server.url.replace("+psycopg", "")


def one_turn(state: HostState, now: float) -> tuple[HostState, float]:
    turn = host_state.next_turn(state, now, 1000.0, 0.1)
    return host_state.with_turns(state, [turn]), turn


def test_connections_that_race_take_no_turn_twice_and_make_one_table(address: str) -> None:
    def ask(_: int) -> list[float]:
        states = PostgresStates(address)
        return [states.update(HOST, one_turn) for _ in range(15)]

    with ThreadPoolExecutor(6) as pool:
        turns = sorted(turn for told in pool.map(ask, range(6)) for turn in told)
    assert len(turns) == 90
    assert min(later - turn for turn, later in pairwise(turns)) >= 0.1 - 1e-5


def test_a_database_without_an_encoding_serves(server: Postgres) -> None:
    server.create_without_encoding("plain")
    states = PostgresStates(server.address("plain").replace("+psycopg", ""))
    assert states.update(HOST, one_turn) < states.update(HOST, one_turn)


def test_threads_of_one_process_share_one_connection(address: str) -> None:
    states = SharedStates(PostgresStates(address))
    with ThreadPoolExecutor(6) as pool:
        turns = sorted(pool.map(lambda _: states.update(HOST, one_turn), range(60)))
    assert min(later - turn for turn, later in pairwise(turns)) >= 0.1 - 1e-5
    with psycopg.connect(address) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        assert connection.execute(query).fetchone() == (2,)


def test_odd_words_of_a_publisher_are_kept_too(address: str) -> None:
    path, reason = "/a\x00\ud800\U0001f600b", "an \x00 odd\ud800 word"
    states = PostgresStates(address)
    states.update(HOST, lambda state, now: (host_state.failed(state, path, reason, True, None, now), None))
    circuit = PostgresStates(address).update(
        HOST, lambda state, now: (state, host_state.open_circuit(state, path, now))
    )
    assert circuit is not None


def test_a_change_that_raises_keeps_nothing_and_holds_nothing(address: str) -> None:
    states = PostgresStates(address)
    states.update(HOST, one_turn)
    with pytest.raises(ZeroDivisionError):
        states.update(HOST, lambda state, now: (state, 1 / 0))
    assert PostgresStates(address).update(HOST, lambda state, now: (state, len(state.turns))) == 1


def test_a_table_that_was_dropped_is_made_again(server: Postgres, address: str) -> None:
    states = PostgresStates(address)
    states.update(HOST, one_turn)
    server.empty()
    assert states.update(HOST, lambda state, now: (state, len(state.turns))) == 0


def test_a_user_who_may_make_no_table_keeps_the_own_pace(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA public TO guest")
    waits: list[float] = []
    gate = RateLimiter(SharedStates(PostgresStates(address.replace("emds@", "guest@"))), waits.append)
    for _ in range(3):
        gate.enter(HOST, "/", 2.0, 0.0)
    assert len(waits) == 1
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["InsufficientPrivilege"]


def test_a_row_that_another_holds_is_not_waited_for_without_end(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    states = PostgresStates(address)
    states.update(HOST, one_turn)
    shorter = postgres_states._BEGIN.replace("lock_timeout = 2000", "lock_timeout = 50")
    assert shorter != postgres_states._BEGIN
    monkeypatch.setattr(postgres_states, "_BEGIN", shorter)
    with psycopg.connect(address) as holder:
        holder.execute("SELECT * FROM publisher_pace FOR UPDATE")
        with pytest.raises(StatesAway, match="LockNotAvailable"):
            states.update(HOST, one_turn)
        states.update("another.example.org", one_turn)


def test_a_process_that_stands_still_holds_a_row_for_seconds_only(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_states, "_BEGIN", postgres_states._BEGIN.replace("timeout = 2000", "timeout = 200"))
    still, over = threading.Event(), threading.Event()

    def stand_still(state: HostState, now: float) -> tuple[HostState, None]:
        still.set()
        assert over.wait(60)
        return host_state.with_turns(state, [now]), None

    def hold() -> None:
        with suppress(StatesAway):
            PostgresStates(address).update(HOST, stand_still)

    PostgresStates(address).update(HOST, one_turn)
    thread = threading.Thread(target=hold)
    thread.start()
    assert still.wait(60)
    monkeypatch.undo()  # who waits, waits for two seconds
    assert PostgresStates(address).update(HOST, lambda state, now: (state, len(state.turns))) == 1
    over.set()
    thread.join(60)


@contextmanager
def freezing_line(port: int) -> Iterator[tuple[int, threading.Event]]:
    """A line to a server that forwards nothing any more once the event is set, and stays open."""
    frozen, ended = threading.Event(), threading.Event()
    with ExitStack() as sockets:
        listener = sockets.enter_context(socket.create_server(("127.0.0.1", 0)))

        def forward(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while piece := source.recv(65536):
                    if frozen.is_set():
                        ended.wait(60)
                    target.sendall(piece)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client = sockets.enter_context(listener.accept()[0])
                    upstream = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
                    for pair in ((client, upstream), (upstream, client)):
                        threading.Thread(target=forward, args=pair, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield int(listener.getsockname()[1]), frozen
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)


def test_a_server_that_stands_still_is_cut_off(server: Postgres, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with freezing_line(server.port) as (port, frozen):
        states = PostgresStates(address.replace(str(server.port), str(port)))
        states.update(HOST, one_turn)
        monkeypatch.setattr(postgres_states, "WITHIN_S", 0.1)
        frozen.set()
        with pytest.raises(StatesAway):
            states.update(HOST, one_turn)
