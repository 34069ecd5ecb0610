"""Calls are counted exactly on both databases, whatever fails: commits, connections, servers, processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, LiteralString

import psycopg
import pytest

from api.access import sign_up as sign_ups
from api.access import usage as usage_counter
from api.access.database import AccountsUnavailable, Database
from api.access.key_listing import revoke_by_number
from api.access.keys import digest_of
from api.access.sign_up import SignUp
from api.access.usage import CALLS_PER_DAY, UsageCounter
from tests.stand_ins.postgres import NEEDS_POSTGRES, Postgres
from warehouse.market.clock import DAY

TODAY = 20_000
NOW = TODAY * DAY + 3600


@pytest.fixture
def accounts(accounts_url: str) -> Iterator[UsageCounter]:
    opened = UsageCounter(Database.opened(accounts_url))
    yield opened
    opened.close()


@pytest.fixture
def on_postgres(postgres_server: Postgres) -> Iterator[UsageCounter]:
    postgres_server.empty()
    opened = UsageCounter(Database.opened(postgres_server.url))
    yield opened
    opened.close()


def new_key(accounts: UsageCounter, name: str = "a") -> bytes:
    return digest_of(sign_ups.sign_up(accounts.database, SignUp(f"{name}@example.org", "192.0.2.1"), 0, NOW).key)


def counted(accounts: UsageCounter, digest: bytes) -> int | None:
    """Count a call; the day's calls with it."""
    reserved = accounts.reserve(digest, NOW)
    return reserved.used if reserved else None


def used(accounts: UsageCounter, digest: bytes) -> int:
    usage = accounts.usage(digest, NOW)
    assert usage
    return usage.used


def set_quota(accounts: UsageCounter, digest: bytes, quota: int) -> None:
    usage = accounts.usage(digest, NOW)
    assert usage
    with accounts.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE keys SET quota = {quota} WHERE id = {usage.key}")


def test_keys_that_open_nothing_count_nothing(accounts: UsageCounter) -> None:
    revoked = new_key(accounts)
    other = sign_ups.sign_up(accounts.database, SignUp("c@example.org", "192.0.2.1"), 0, NOW, confirmed=False)
    unconfirmed = digest_of(other.key)
    usage = accounts.usage(revoked, NOW)
    assert usage
    revoke_by_number(accounts.database, usage.key, NOW)
    for digest in (revoked, unconfirmed, digest_of("emds_unknown"), b"short"):
        assert counted(accounts, digest) is None
    with accounts.database.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM usage").scalar() == 0


@pytest.mark.parametrize("quota", [0, 1, 700])
def test_a_key_s_own_quota_is_its_limit(accounts: UsageCounter, quota: int) -> None:
    key, usual = new_key(accounts, "a"), new_key(accounts, "b")
    set_quota(accounts, key, quota)
    assert [counted(accounts, key) for _ in range(quota + 1)] == [*range(1, quota + 1), None]
    assert accounts.reserve(usual, NOW).limit == CALLS_PER_DAY  # type: ignore[union-attr]


def test_both_spellings_of_a_rotated_key_share_a_day_exactly(accounts: UsageCounter) -> None:
    old = new_key(accounts)
    new = digest_of(sign_ups.rotate(accounts.database, old, NOW) or "")
    set_quota(accounts, new, 30)
    answered: list[bool] = []

    def call(digest: bytes) -> None:
        answered.extend(accounts.reserve(digest, NOW) is not None for _ in range(7))

    together([threading.Thread(target=call, args=(digest,)) for digest in (old, new) * 3])
    assert (answered.count(True), answered.count(False)) == (30, 12)
    assert used(accounts, new) == 30


def call_until_full(url: str, digest: bytes, answered: Any) -> None:
    """A worker of its own host: answers as long as calls are counted."""
    accounts = UsageCounter(Database.opened(url))
    while accounts.reserve(digest, NOW) is not None:
        with answered.get_lock():
            answered.value += 1
        time.sleep(0.001)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_workers_that_are_killed_while_they_count_open_no_call_too_many(accounts: UsageCounter) -> None:
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
        with answered.get_lock():  # a worker that was killed with it would hold it for good
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
def test_a_count_whose_commit_fails_is_no_count(
    fault: str, on_postgres: UsageCounter, postgres_server: Postgres
) -> None:
    """The statement gives its row before the commit: who reads that row alone answers a call that nobody counted."""
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
    mode: str, on_postgres: UsageCounter, postgres_server: Postgres
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
def test_an_answer_that_is_lost_takes_a_call_and_gives_none(
    on_postgres: UsageCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    roomy, full = new_key(on_postgres, "a"), new_key(on_postgres, "b")
    set_quota(on_postgres, full, 1)
    run, lost = on_postgres._run, set[Any]()

    def lose_once(statement: str, values: dict[str, Any]) -> Any:
        row = run(statement, values)
        if values.get("digest") not in lost:
            lost.add(values.get("digest"))
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return row

    monkeypatch.setattr(on_postgres, "_run", lose_once)
    assert [counted(on_postgres, roomy), counted(on_postgres, full)] == [2, None]
    assert (used(on_postgres, roomy), used(on_postgres, full)) == (2, 1)


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_call_is_taken_back_once_where_the_answer_is_lost(
    on_postgres: UsageCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is gone after the statement was committed: sent again, it would take a second call off the count."""
    digest = new_key(on_postgres)
    reserved = [on_postgres.reserve(digest, NOW) for _ in range(3)]
    run = on_postgres._run

    def lose(statement: str, values: dict[str, Any]) -> Any:
        run(statement, values)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr(on_postgres, "_run", lose)
        assert reserved[0] is not None
        with pytest.raises(AccountsUnavailable):
            on_postgres.give_back(reserved[0])
    assert used(on_postgres, digest) == 2


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_database_that_takes_no_writes_is_unavailable(on_postgres: UsageCounter, postgres_server: Postgres) -> None:
    """As a standby, after its primary is gone."""
    digest = new_key(on_postgres)
    assert counted(on_postgres, digest) == 1
    for connection in on_postgres._idle:
        connection.execute("SET default_transaction_read_only = on")
    assert counted(on_postgres, digest) == 2, "another connection takes them"
    with psycopg.connect(postgres_server.url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        try:
            on_postgres.close()
            with pytest.raises(AccountsUnavailable, match="ReadOnlySqlTransaction"):
                counted(on_postgres, digest)
        finally:
            owner.execute("SET default_transaction_read_only = off")
            owner.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
    assert counted(on_postgres, digest) == 3


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_connection_whose_server_forgot_its_statements_is_opened_anew(on_postgres: UsageCounter) -> None:
    """As behind a pooler."""
    digest = new_key(on_postgres)
    assert [counted(on_postgres, digest) for _ in range(8)][-1] == 8
    for connection in on_postgres._idle:
        connection.execute("DEALLOCATE ALL")
    assert counted(on_postgres, digest) == 9


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_server_that_stands_still_is_not_waited_for(
    on_postgres: UsageCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_counter, "WITHIN_S", 0.3)
    digest = new_key(on_postgres)
    assert counted(on_postgres, digest) == 1
    [idle] = on_postgres._idle
    server_process = idle.info.backend_pid
    os.kill(server_process, signal.SIGSTOP)
    going_on = threading.Timer(15, os.kill, (server_process, signal.SIGCONT))
    going_on.start()
    try:
        assert counted(on_postgres, digest) == 2, "by another connection"
        assert going_on.is_alive()
    finally:
        going_on.cancel()
        os.kill(server_process, signal.SIGCONT)


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_fault_leaves_no_connection_behind(on_postgres: UsageCounter, postgres_server: Postgres) -> None:
    digest = new_key(on_postgres)
    with on_postgres.database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE usage RENAME TO away")
    with pytest.raises(AccountsUnavailable, match="UndefinedTable"):
        counted(on_postgres, digest)
    assert not on_postgres._idle
    with on_postgres.database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO usage")
    assert counted(on_postgres, digest) == 1
    postgres_server.stop()
    try:
        with pytest.raises(AccountsUnavailable):
            counted(on_postgres, digest)
    finally:
        postgres_server.start()
    assert counted(on_postgres, digest) == 2


def together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
