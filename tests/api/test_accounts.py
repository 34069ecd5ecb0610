"""Test keys, sign-ups, counted calls and table creation on both databases, with failures at every point."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import DBAPIError

from api.access import database, key_life
from api.access import sign_up as sign_ups
from api.access.accounts_engine import AccountsUnavailable, open_engine
from api.access.database import Database
from api.access.key_life import revoke
from api.access.key_spelling import KEY_PREFIX, digest_of
from api.access.keys import CALLS_PER_DAY, Keys
from api.access.migration import migrate
from api.access.tables import STEPS
from api.http.problems import Problem
from tests.stand_ins.postgres import NEEDS_POSTGRES, Postgres
from warehouse.market.clock import DAY

TODAY = 20_000
NOW = TODAY * DAY + 3600


@pytest.fixture
def accounts(accounts_url: str) -> Iterator[Keys]:
    opened = Keys(Database(accounts_url))
    yield opened
    opened.database.close()


@pytest.fixture
def on_postgres(postgres_server: Postgres) -> Iterator[Keys]:
    postgres_server.empty()
    opened = Keys(Database(postgres_server.url))
    yield opened
    opened.database.close()


def sign_up(
    accounts: Keys, email: str = "a@example.org", client: str = "192.0.2.1", token: str = "", now: int = NOW
) -> str:
    return sign_ups.sign_up(accounts.database, email, client, now, token=token)[0]


def new_key(accounts: Keys, name: str = "a") -> bytes:
    return digest_of(sign_up(accounts, f"{name}@example.org"))


def counted(accounts: Keys, digest: bytes) -> int | None:
    """Count a call and return the day's calls with it, or None if the call is refused."""
    reserved = accounts.reserve(digest, NOW)
    return reserved.used if reserved else None


def used(accounts: Keys, digest: bytes) -> int:
    usage = accounts.usage(digest, NOW)
    assert usage
    return usage.used


def set_quota(accounts: Keys, digest: bytes, quota: int) -> None:
    usage = accounts.usage(digest, NOW)
    assert usage
    with accounts.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE keys SET quota = {quota} WHERE id = {usage.key}")


def test_keys_that_open_nothing_count_nothing(accounts: Keys) -> None:
    revoked = new_key(accounts)
    other = sign_ups.sign_up(accounts.database, "c@example.org", "192.0.2.1", NOW, confirmed=False)
    unconfirmed = digest_of(other[0])
    usage = accounts.usage(revoked, NOW)
    assert usage
    revoke(accounts.database, usage.key, NOW)
    for digest in (revoked, unconfirmed, digest_of("emds_unknown"), b"short"):
        assert counted(accounts, digest) is None
    with accounts.database.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM usage").scalar() == 0


@pytest.mark.parametrize("quota", [0, 1, 700])
def test_a_key_s_own_quota_is_its_limit(accounts: Keys, quota: int) -> None:
    key, usual = new_key(accounts, "a"), new_key(accounts, "b")
    set_quota(accounts, key, quota)
    assert [counted(accounts, key) for _ in range(quota + 1)] == [*range(1, quota + 1), None]
    assert accounts.reserve(usual, NOW).limit == CALLS_PER_DAY  # type: ignore[union-attr]


def test_both_spellings_of_a_rotated_key_share_a_day_exactly(accounts: Keys) -> None:
    old = new_key(accounts)
    new = digest_of(key_life.rotate(accounts.database, old, NOW) or "")
    set_quota(accounts, new, 30)
    answered: list[bool] = []

    def call(digest: bytes) -> None:
        answered.extend(accounts.reserve(digest, NOW) is not None for _ in range(7))

    together([threading.Thread(target=call, args=(digest,)) for digest in (old, new) * 3])
    assert (answered.count(True), answered.count(False)) == (30, 12)
    assert used(accounts, new) == 30


def call_until_full(url: str, digest: bytes, answered: Any) -> None:
    """Respond as a worker on a separate host does, as long as calls are counted."""
    accounts = Keys(Database(url))
    while accounts.reserve(digest, NOW) is not None:
        with answered.get_lock():
            answered.value += 1
        time.sleep(0.001)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_workers_that_are_killed_while_they_count_open_no_call_too_many(accounts: Keys) -> None:
    url = accounts.database.url.render_as_string(hide_password=False)
    digest, limit = new_key(accounts), 2000
    set_quota(accounts, digest, limit)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    answered, kills = context.Value("i", 0), 6
    workers = [context.Process(target=call_until_full, args=(url, digest, answered)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for number in range(kills):
        time.sleep(0.1)
        with answered.get_lock():  # otherwise a killed worker would keep the lock for ever
            workers[number % 2].kill()
        workers[number % 2].join()
        workers[number % 2] = context.Process(target=call_until_full, args=(url, digest, answered))
        workers[number % 2].start()
    for worker in workers:
        worker.join()
    assert limit - kills <= answered.value <= limit, "each kill loses at most the call under way"
    assert used(accounts, digest) == limit


FAULTS: dict[str, LiteralString] = {
    "a trigger": "RAISE EXCEPTION 'no'",
    "a shutdown": "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1)",
    "a fail-over": "RAISE EXCEPTION 'cannot execute' USING ERRCODE = 'read_only_sql_transaction'",
}


@pytest.mark.slow
@NEEDS_POSTGRES
@pytest.mark.parametrize("fault", FAULTS)
def test_a_count_whose_commit_fails_is_no_count(fault: str, on_postgres: Keys, postgres_server: Postgres) -> None:
    """Check that a call is counted only after the commit, although the statement returns its row before."""
    digest = new_key(on_postgres)
    assert [counted(on_postgres, digest) for _ in range(8)] == list(range(1, 9)), "prepared by the driver by now"
    body = FAULTS[fault]
    with psycopg.connect(postgres_server.url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + "; RETURN NULL; END $$"
        )
        owner.execute(
            "CREATE CONSTRAINT TRIGGER fails AFTER INSERT OR UPDATE ON usage DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION fail()"
        )
        for _ in range(3):
            with pytest.raises(AccountsUnavailable):
                counted(on_postgres, digest)
        reserved = on_postgres.usage(digest, NOW)
        assert reserved
        owner.execute("DROP TRIGGER fails ON usage")
        owner.execute("DROP FUNCTION fail")
    assert used(on_postgres, digest) == 8
    assert counted(on_postgres, digest) == 9


@pytest.mark.slow
@NEEDS_POSTGRES
@pytest.mark.timeout(120)
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_stops_while_calls_are_counted_opens_none_too_many(
    mode: str, on_postgres: Keys, postgres_server: Postgres
) -> None:
    digest, answered, tried = new_key(on_postgres), [], []
    set_quota(on_postgres, digest, 100_000)
    over = threading.Event()

    def call() -> None:
        while not over.is_set():
            tried.append(1)
            try:
                answered.append(counted(on_postgres, digest))
            except AccountsUnavailable:
                time.sleep(0.01)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        time.sleep(0.3)
        postgres_server.stop(mode)
        postgres_server.start()
    over.set()
    for thread in threads:
        thread.join()
    assert len(answered) > 100
    assert len(set(answered)) == len(answered), "two calls under one number: one of them was rolled back"
    assert len(answered) <= used(on_postgres, digest) <= 2 * len(tried)


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_call_is_taken_back_once_where_the_answer_is_lost(on_postgres: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose the server after it commits the statement. A second attempt would subtract a second call."""
    digest = new_key(on_postgres)
    reserved = [on_postgres.reserve(digest, NOW) for _ in range(3)]
    run = on_postgres.database._run

    def lose(statement: str, values: dict[str, Any]) -> Any:
        run(statement, values)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr(on_postgres.database, "_run", lose)
        assert reserved[0] is not None
        assert on_postgres.give_back(reserved[0]) == reserved[0].used
    assert used(on_postgres, digest) == 2


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_connection_whose_server_forgot_its_statements_is_opened_anew(on_postgres: Keys) -> None:
    """Forget prepared statements, as behind a pooler."""
    digest = new_key(on_postgres)
    assert [counted(on_postgres, digest) for _ in range(8)][-1] == 8
    connection: Any = on_postgres.database._pool.connect()
    connection.driver_connection.execute("DEALLOCATE ALL")
    connection.close()
    assert counted(on_postgres, digest) == 9


def together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_call_given_back_can_be_made_again(accounts: Keys) -> None:
    digest = digest_of(sign_up(accounts))
    reserved = [accounts.reserve(digest, NOW) for _ in range(CALLS_PER_DAY)]
    assert accounts.reserve(digest, NOW) is None
    assert reserved[7]
    assert accounts.give_back(reserved[7]) == CALLS_PER_DAY - 1
    again = accounts.reserve(digest, NOW)
    assert again
    assert again.used == CALLS_PER_DAY


def test_midnight_utc_opens_a_new_day_and_a_call_goes_back_to_its_own(accounts: Keys) -> None:
    digest = digest_of(sign_up(accounts))
    before = [accounts.reserve(digest, NOW - NOW % DAY + DAY - 1) for _ in range(CALLS_PER_DAY)]
    after = accounts.reserve(digest, NOW - NOW % DAY + DAY)
    assert after
    assert after.used == 1
    assert before[0]
    accounts.give_back(before[0])
    assert accounts.usage(digest, NOW).used == CALLS_PER_DAY - 1  # type: ignore[union-attr]
    assert accounts.usage(digest, NOW + DAY).used == 1  # type: ignore[union-attr]


def test_a_key_is_long_and_nowhere_in_the_database(tmp_path: Path) -> None:
    accounts = Keys(Database(f"sqlite:///{tmp_path / 'accounts.sqlite'}"))
    keys = [sign_up(accounts, token="a-token-of-a-client"), sign_up(accounts)]
    accounts.database.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for key in keys:
        assert key.startswith(KEY_PREFIX)
        assert len(key) == len(KEY_PREFIX) + 43 + 6
        assert key.isascii()
        assert key.encode() not in content
        assert digest_of(key) in content
    assert b"a-token-of-a-client" not in content


def test_a_fourth_key_retires_the_one_idle_longest_or_is_refused(accounts: Keys) -> None:
    first, second, third = (sign_up(accounts, now=NOW + n) for n in range(3))
    with pytest.raises(Problem, match="active keys"):
        sign_up(accounts, now=NOW + DAY)
    later = NOW + 10 * DAY
    accounts.reserve(digest_of(first), later - DAY)
    accounts.reserve(digest_of(third), later - 5 * DAY)
    fourth = sign_up(accounts, now=later)
    live = {key for key in (first, second, third, fourth) if accounts.usage(digest_of(key), later)}
    assert live == {first, third, fourth}
    with pytest.raises(Problem, match="active keys"):
        sign_up(accounts, now=later)


def test_the_same_idempotency_key_gives_the_same_key_for_a_day(accounts: Keys) -> None:
    key = sign_up(accounts, token="6b1f")
    assert sign_up(accounts, token="6b1f", now=NOW + DAY - 1) == key
    assert sign_up(accounts, token="6b1f", client="192.0.2.9") != key  # a token guessed by another client
    assert sign_up(accounts, token="6b1f", now=NOW + DAY) != key
    other = sign_up(accounts, email="b@example.org", token="6b1f", now=NOW + DAY)
    assert other not in (key, sign_up(accounts, token="6b1f", now=NOW + DAY))
    assert sign_up(accounts, email="B+tag@example.org", token="6b1f", now=NOW + DAY) == other


def _open(url: str, start: threading.Barrier, failed: multiprocessing.Queue[str]) -> None:
    start.wait()
    try:
        sign_ups.sign_up(Database(url), f"{multiprocessing.current_process().pid}@example.org", "x", NOW)
    except (DBAPIError, sqlite3.Error) as fault:
        failed.put(repr(fault))


@pytest.mark.slow
def test_workers_that_start_at_once_make_the_tables_once(accounts_url: str) -> None:
    context = multiprocessing.get_context("forkserver")  # the fork server imports once for all workers
    context.set_forkserver_preload([__name__])
    with context.Manager() as shared:
        start, failed = shared.Barrier(6), shared.Queue()
        workers = [context.Process(target=_open, args=(accounts_url, start, failed)) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert failed.empty(), failed.get()
        assert [worker.exitcode for worker in workers] == [0] * 6
    engine = open_engine(accounts_url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM schema_step")).scalar_one() == 1
        assert connection.execute(text("SELECT count(*) FROM keys")).scalar_one() == 6
    engine.dispose()


def _add_note(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE keys ADD COLUMN note TEXT DEFAULT 'kept'"))


def test_a_database_of_an_earlier_release_keeps_its_rows_through_a_step(accounts_url: str) -> None:
    accounts = Keys(Database(accounts_url))
    key = sign_up(accounts)
    accounts.database.close()
    engine = open_engine(accounts_url)
    migrate(engine, (*STEPS, _add_note))
    migrate(engine, (*STEPS, _add_note))
    assert "note" in {column["name"] for column in inspect(engine).get_columns("keys")}
    engine.dispose()
    with pytest.raises(AccountsUnavailable, match="this release supports up to"):
        Database(accounts_url).open()
    engine = open_engine(accounts_url)
    with engine.begin() as connection:
        connection.execute(text(f"DELETE FROM schema_step WHERE step = {len(STEPS) + 1}"))
    engine.dispose()
    reopened = Keys(Database(accounts_url))
    assert reopened.usage(digest_of(key), NOW)
    reopened.database.close()


def test_a_step_that_fails_leaves_the_database_as_it_was(accounts_url: str) -> None:
    def broken(connection: Connection) -> None:
        _add_note(connection)
        raise RuntimeError("half way")

    engine = open_engine(accounts_url)
    migrate(engine)
    with pytest.raises(RuntimeError):
        migrate(engine, (*STEPS, broken))
    assert "note" not in {column["name"] for column in inspect(engine).get_columns("keys")}
    migrate(engine, (*STEPS, _add_note))
    engine.dispose()


def test_a_sign_up_reads_no_table_of_keys_from_end_to_end(tmp_path: Path) -> None:
    accounts = Keys(Database(f"sqlite:///{tmp_path / 'accounts.sqlite'}"))
    plans: list[str] = []

    def explain(connection: Connection, _: Any, statement: str, parameters: Any, *_more: Any) -> None:
        if statement.startswith(("DELETE", "SELECT", "UPDATE")):
            driver: Any = connection.connection.driver_connection
            plans.extend(row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(accounts.database.open(), "before_cursor_execute", explain)
    for number in range(4):
        sign_ups.sign_up(accounts.database, "a@example.org", "x", NOW + number * 8 * DAY)
    assert any("keys_unconfirmed" in plan for plan in plans)
    assert not [plan for plan in plans if plan.startswith("SCAN keys")]
    accounts.database.close()


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_step_may_take_longer_than_a_statement_of_a_call(
    postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres_server.empty()
    monkeypatch.setattr(database, "WITHIN_S", 0.5)
    engine = open_engine(postgres_server.url)
    migrate(engine)
    migrate(engine, (*STEPS, lambda connection: connection.execute(text("SELECT pg_sleep(1)"))))
    engine.dispose()


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_database_without_an_encoding_serves(postgres_server: Postgres) -> None:
    postgres_server.create_without_encoding("plain")
    accounts = Keys(Database(postgres_server.address("plain")))
    digest = digest_of(sign_up(accounts, email="émile@example.org"))
    assert accounts.reserve(digest, NOW)
    usage = accounts.usage(digest, NOW)
    assert usage is not None
    assert usage.used == 1
    accounts.database.close()
