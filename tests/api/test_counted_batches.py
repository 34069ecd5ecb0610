"""Calls of one moment, counted in one statement: each as if it had come alone, on both databases."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from api.access.accounts import prepared_statements
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.key_format import digest_of
from api.access.accounts.prepared_statements import PreparedStatements, Value
from api.access.accounts.sign_ups import SignUp
from api.access.accounts.store import CALLS_PER_DAY, Accounts
from api.access.accounts.usage_counter import CountedCall, UsageRow
from api.access.accounts.usage_counter_postgres import PostgresUsageCounter
from api.access.accounts.usage_counter_sqlite import SqliteUsageCounter
from tests.stand_ins import postgres
from tests.stand_ins.postgres import NEEDS_POSTGRES
from warehouse.clock import DAY

TODAY = 20_000
NOW = TODAY * DAY + 3600
UNKNOWN = digest_of("emds_unknown")
ON_POSTGRES = (pytest.mark.slow, NEEDS_POSTGRES)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Postgres]:
    running = postgres.Postgres()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=ON_POSTGRES)])
def accounts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Accounts]:
    url = f"sqlite:///{tmp_path / 'accounts.sqlite'}"
    if request.param == "postgres":
        running: postgres.Postgres = request.getfixturevalue("server")
        running.empty()
        url = running.url
    opened = Accounts.open(url)
    yield opened
    opened.close()


@pytest.fixture
def on_postgres(server: postgres.Postgres) -> Iterator[Accounts]:
    server.empty()
    opened = Accounts.open(server.url)
    yield opened
    opened.close()


def new_key(accounts: Accounts, name: str = "a") -> bytes:
    return digest_of(accounts.sign_up(SignUp(f"{name}@example.org", "192.0.2.1"), 0, NOW))


def batch(accounts: Accounts, digests: Sequence[bytes], day: int = TODAY) -> list[int | None]:
    """What each call of a batch is numbered, None where it was not counted."""
    return numbers(accounts, [CountedCall(digest, day, CALLS_PER_DAY) for digest in digests])


def numbers(accounts: Accounts, calls: Sequence[CountedCall]) -> list[int | None]:
    counter = accounts._counter
    assert isinstance(counter, SqliteUsageCounter | PostgresUsageCounter)
    return [row[1] if row else None for row in counter._count_all(calls)]


def used(accounts: Accounts, digest: bytes, now: int = NOW) -> int | None:
    usage = accounts.usage(digest, now)
    return usage.used if usage else None


def test_a_key_that_comes_many_times_at_its_limit_gets_what_is_left(accounts: Accounts) -> None:
    one, other = new_key(accounts, "a"), new_key(accounts, "b")
    assert batch(accounts, [one] * (CALLS_PER_DAY - 3)) == list(range(1, CALLS_PER_DAY - 2))
    given = batch(accounts, [one, other, one, one, other, one, one])
    assert given == [CALLS_PER_DAY - 2, 1, CALLS_PER_DAY - 1, CALLS_PER_DAY, 2, None, None]
    assert (used(accounts, one), used(accounts, other)) == (CALLS_PER_DAY, 2)
    assert batch(accounts, [one]) == [None]


def test_a_key_at_its_limit_leaves_its_batch_in_one_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = Accounts.open(f"sqlite:///{tmp_path / 'accounts.sqlite'}")
    spent, one, other = (new_key(accounts, name) for name in "abc")
    assert batch(accounts, [spent] * CALLS_PER_DAY)[-1] == CALLS_PER_DAY
    run, statements = SqliteUsageCounter._run, list[str]()

    def noted(self: SqliteUsageCounter, statement: str, values: Sequence[object]) -> list[UsageRow]:
        statements.append(statement)
        return run(self, statement, values)

    monkeypatch.setattr(SqliteUsageCounter, "_run", noted)
    assert batch(accounts, [spent, one, other, spent, one]) == [None, 1, 1, None, 2]
    assert len(statements) == 2
    statements.clear()
    assert batch(accounts, [spent, spent]) == [None, None]
    assert len(statements) == 1
    assert (used(accounts, spent), used(accounts, one)) == (CALLS_PER_DAY, 2)
    accounts.close()


def test_more_calls_than_a_day_holds_in_one_batch(accounts: Accounts) -> None:
    key = new_key(accounts)
    assert batch(accounts, [key] * (CALLS_PER_DAY + 2)) == [*range(1, CALLS_PER_DAY + 1), None, None]


def test_keys_that_open_nothing_leave_the_others_of_their_batch_alone(accounts: Accounts) -> None:
    live, revoked = new_key(accounts, "a"), new_key(accounts, "b")
    unconfirmed = digest_of(accounts.sign_up_unconfirmed(SignUp("c@example.org", "192.0.2.1"), 0, NOW).key)
    usage = accounts.usage(revoked, NOW)
    assert usage
    accounts.revoke(usage.key, NOW)
    given = batch(accounts, [UNKNOWN, live, revoked, unconfirmed, live, UNKNOWN, b"short"])
    assert given == [None, 1, None, None, 2, None, None]


def test_a_batch_over_midnight_counts_each_call_on_its_day(accounts: Accounts) -> None:
    key = new_key(accounts)
    days = [TODAY, TODAY + 1, TODAY, TODAY + 1, TODAY + 1]
    assert numbers(accounts, [CountedCall(key, day, CALLS_PER_DAY) for day in days]) == [1, 1, 2, 2, 3]
    assert (used(accounts, key), used(accounts, key, NOW + DAY)) == (2, 3)


def test_each_key_of_a_batch_has_its_own_quota(accounts: Accounts) -> None:
    small, usual, none = (new_key(accounts, name) for name in "abc")
    with accounts.database.begin() as connection:
        for digest, quota in ((small, 2), (none, 0)):
            connection.exec_driver_sql(f"UPDATE keys SET quota = {quota} WHERE id = {_id(accounts, digest)}")
    assert batch(accounts, [small, usual, small, none, small, usual]) == [1, 1, 2, None, None, 2]


def _id(accounts: Accounts, digest: bytes) -> int:
    usage = accounts.usage(digest, NOW)
    assert usage
    return usage.key


def test_both_spellings_of_a_rotated_key_share_a_day_exactly(accounts: Accounts) -> None:
    old = new_key(accounts)
    new = digest_of(accounts.rotate(old, NOW) or "")
    assert batch(accounts, [new] * (CALLS_PER_DAY - 30)) == list(range(1, CALLS_PER_DAY - 29))
    given: list[bool] = []

    def call(digest: bytes) -> None:
        given.extend(accounts.reserve(digest, NOW) is not None for _ in range(7))

    _together([threading.Thread(target=call, args=(digest,)) for digest in (old, new) * 3])
    assert (given.count(True), given.count(False)) == (30, 12)
    assert used(accounts, new) == CALLS_PER_DAY


@pytest.mark.slow
@NEEDS_POSTGRES
def test_batches_of_two_workers_lock_in_one_order(on_postgres: Accounts, server: postgres.Postgres) -> None:
    """Locked as the calls came, two batches would wait for each other until PostgreSQL fails one of them."""
    digests = [new_key(on_postgres, f"n{number}") for number in range(40)]
    other, rounds = Accounts.open(server.url), 150
    faults: list[BaseException] = []

    def count(accounts: Accounts, ordered: Sequence[bytes]) -> None:
        try:
            for _ in range(rounds):
                batch(accounts, ordered)
        except BaseException as fault:
            faults.append(fault)

    both = ((on_postgres, digests), (other, digests[::-1]))
    _together([threading.Thread(target=count, args=arguments) for arguments in both])
    other.close()
    assert not faults
    assert {used(on_postgres, digest) for digest in digests} == {2 * rounds}
    with psycopg.connect(server.url.replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'").fetchone()
    assert row == (0,)


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_batch_whose_answer_is_lost_never_opens_a_call_too_many(
    on_postgres: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, and its answer lost, it is sent again: that may take calls from a key and gives none."""
    roomy, full = new_key(on_postgres, "a"), new_key(on_postgres, "b")
    batch(on_postgres, [full] * (CALLS_PER_DAY - 1))
    run = PreparedStatements.run
    lost: list[str] = []

    def lose_once(connection: PreparedStatements, statement: str, values: Sequence[Value]) -> list[UsageRow]:
        rows = run(connection, statement, values)
        if not lost:
            lost.append(statement)
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return rows

    monkeypatch.setattr(PreparedStatements, "run", lose_once)
    assert batch(on_postgres, [roomy, full]) == [2, None]
    assert (used(on_postgres, roomy), used(on_postgres, full)) == (2, CALLS_PER_DAY)


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_batch_is_found_by_its_keys_however_small_the_tables_are(on_postgres: Accounts) -> None:
    batch(on_postgres, [new_key(on_postgres)])
    counter = on_postgres._counter
    assert isinstance(counter, PostgresUsageCounter)
    values = "(500, ARRAY[''::bytea], ARRAY[1::bigint], 20000)"
    rows = counter._idle[-1]._connection.execute(f"EXPLAIN EXECUTE emds_0 {values}").fetchall()
    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan" not in plan
    assert "Index Scan using keys_digest_key" in plan
    assert "$1" in plan, "planned for this batch, not for all"


@pytest.mark.slow
@NEEDS_POSTGRES
def test_what_a_prepared_statement_takes_and_gives(server: postgres.Postgres) -> None:
    statements = PreparedStatements(server.url.replace("+psycopg", ""))
    echo = "SELECT $1, $2, NULL::bigint, NULL::bytea, $3, n, b FROM unnest($4, $5) AS each (n, b)"
    least, most = -(2**63), 2**63 - 1
    for digest in (b"", b"\0\xff'\\"):
        rows = statements.run(echo, (least, digest, most, [-1, 0], [b"", digest]))
        assert rows == [(least, digest, None, None, most, -1, b""), (least, digest, None, None, most, 0, digest)]
    assert statements.run("SELECT 1 WHERE $1 > 1", (1,)) == []
    with pytest.raises(psycopg.errors.DivisionByZero):
        statements.run("SELECT 1 / $1", (0,))
    with pytest.raises(psycopg.errors.UndefinedTable):
        statements.run("SELECT $1 FROM nowhere", (0,))
    assert statements.run("SELECT 1 / $1", (1,)) == [(1,)]
    with pytest.raises(psycopg.OperationalError):
        statements.run("SELECT 1 FROM (SELECT pg_terminate_backend(pg_backend_pid())) AS ended WHERE $1 = 1", (1,))
    with pytest.raises(psycopg.OperationalError):
        statements.run("SELECT 1 / $1", (1,))
    statements.close()
    with pytest.raises(psycopg.OperationalError):
        statements.run("SELECT 1 / $1", (1,))


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_fault_of_the_statement_leaves_no_connection_behind(on_postgres: Accounts, server: postgres.Postgres) -> None:
    digest = new_key(on_postgres)
    with on_postgres.database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE usage RENAME TO away")
    with pytest.raises(psycopg.errors.UndefinedTable):
        batch(on_postgres, [digest])
    with on_postgres.database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO usage")
    assert batch(on_postgres, [digest]) == [1]
    server.stop()
    try:
        with pytest.raises(AccountsUnavailable):
            batch(on_postgres, [digest])
    finally:
        server.start()
    assert batch(on_postgres, [digest]) == [2]


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_database_that_takes_no_writes_does_not_answer(on_postgres: Accounts, server: postgres.Postgres) -> None:
    """As a standby's, after its primary is gone."""
    digest, counter = new_key(on_postgres), on_postgres._counter
    assert isinstance(counter, PostgresUsageCounter)
    assert batch(on_postgres, [digest]) == [1]
    for connection in counter._idle:
        connection._connection.execute("SET default_transaction_read_only = on")
    assert batch(on_postgres, [digest]) == [2], "another connection takes them"
    with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        try:
            counter.close()
            with pytest.raises(AccountsUnavailable, match="ReadOnlySqlTransaction"):
                batch(on_postgres, [digest])
        finally:
            owner.execute("SET default_transaction_read_only = off")
            owner.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
    assert batch(on_postgres, [digest]) == [3]


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_connection_whose_server_forgot_its_statements_is_opened_anew(on_postgres: Accounts) -> None:
    """As behind a pooler."""
    digest, counter = new_key(on_postgres), on_postgres._counter
    assert isinstance(counter, PostgresUsageCounter)
    assert batch(on_postgres, [digest]) == [1]
    for connection in counter._idle:
        connection._connection.execute("DEALLOCATE ALL")
    assert batch(on_postgres, [digest]) == [2]


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_server_that_stands_still_is_not_waited_for(on_postgres: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_statements, "WITHIN_S", 0.3)
    digest, counter = new_key(on_postgres), on_postgres._counter
    assert isinstance(counter, PostgresUsageCounter)
    assert batch(on_postgres, [digest]) == [1]
    [idle] = counter._idle
    server_process = idle._connection.info.backend_pid
    os.kill(server_process, signal.SIGSTOP)
    going_on = threading.Timer(15, os.kill, (server_process, signal.SIGCONT))
    going_on.start()
    try:
        assert batch(on_postgres, [digest]) == [2], "by another connection"
        assert going_on.is_alive()
    finally:
        going_on.cancel()
        os.kill(server_process, signal.SIGCONT)


def _together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
