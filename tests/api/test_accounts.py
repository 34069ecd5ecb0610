"""Keys, quotas and sign-ups on both databases, and how the tables are created."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from api.access import sign_up as sign_ups
from api.access.database import STEPS, AccountsUnavailable, Database, migrate, open_engine
from api.access.keys import KEY_PREFIX, digest_of
from api.access.sign_up import SignUp
from api.access.usage import CALLS_PER_DAY, UsageCounter
from api.http.problems import Problem
from tests.stand_ins.postgres import NEEDS_POSTGRES, Postgres
from warehouse.market.clock import DAY

NOW = 20_000 * DAY + 3600


@pytest.fixture
def accounts(accounts_url: str) -> Iterator[UsageCounter]:
    opened = UsageCounter(Database.opened(accounts_url))
    yield opened
    opened.close()


def sign_up(
    accounts: UsageCounter, email: str = "a@example.org", client: str = "192.0.2.1", token: str = "", now: int = NOW
) -> str:
    return sign_ups.sign_up(accounts.database, SignUp(email, client, token), 0, now).key


def test_a_call_given_back_can_be_made_again(accounts: UsageCounter) -> None:
    digest = digest_of(sign_up(accounts))
    reserved = [accounts.reserve(digest, NOW) for _ in range(CALLS_PER_DAY)]
    assert accounts.reserve(digest, NOW) is None
    assert reserved[7]
    assert accounts.give_back(reserved[7]) == CALLS_PER_DAY - 1
    again = accounts.reserve(digest, NOW)
    assert again
    assert again.used == CALLS_PER_DAY


def test_midnight_utc_opens_a_new_day_and_a_call_goes_back_to_its_own(accounts: UsageCounter) -> None:
    digest = digest_of(sign_up(accounts))
    before = [accounts.reserve(digest, NOW - NOW % DAY + DAY - 1) for _ in range(CALLS_PER_DAY)]
    after = accounts.reserve(digest, NOW - NOW % DAY + DAY)
    assert after
    assert after.used == 1
    assert before[0]
    accounts.give_back(before[0])
    assert accounts.usage(digest, NOW).used == CALLS_PER_DAY - 1  # type: ignore[union-attr]
    assert accounts.usage(digest, NOW + DAY).used == 1  # type: ignore[union-attr]


def test_many_keys_at_once_come_to_their_limits_exactly(accounts: UsageCounter) -> None:
    digests = [digest_of(sign_up(accounts, f"{name}@example.org")) for name in "abcd"]
    unknown = digest_of("emds_unknown")
    for left, digest in enumerate(digests):
        for _ in range(CALLS_PER_DAY - 5 * left):
            assert accounts.reserve(digest, NOW)
    reserved_by: list[int | None] = []

    def ask() -> None:
        for digest in [*digests, unknown] * 5:
            reserved = accounts.reserve(digest, NOW)
            reserved_by.append(reserved and reserved.key)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = Counter(reserved_by)
    assert sorted(counts.values()) == [5, 10, 15, 12 * 25 - 30]
    assert [usage.used for digest in digests if (usage := accounts.usage(digest, NOW))] == [CALLS_PER_DAY] * 4


def test_a_key_is_long_and_nowhere_in_the_database(tmp_path: Path) -> None:
    accounts = UsageCounter(Database.opened(f"sqlite:///{tmp_path / 'accounts.sqlite'}"))
    keys = [sign_up(accounts, token="a-token-of-a-client"), sign_up(accounts)]
    accounts.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for key in keys:
        assert key.startswith(KEY_PREFIX)
        assert len(key) == len(KEY_PREFIX) + 43 + 6
        assert key.isascii()
        assert key.encode() not in content
        assert digest_of(key) in content
    assert b"a-token-of-a-client" not in content


def test_five_sign_ups_an_hour_then_the_oldest_must_pass(accounts: UsageCounter) -> None:
    def attempt(number: int, now: int) -> str:
        return sign_ups.sign_up(accounts.database, SignUp(f"{number}@example.org", "192.0.2.1"), 5, now).key

    for number in range(5):
        attempt(number, NOW + number * 60)
    with pytest.raises(Problem, match="sign-ups an hour") as full:
        attempt(5, NOW + 300)
    assert full.value.members == {"retry_after": 3300}
    sign_ups.sign_up(accounts.database, SignUp("b@example.org", "192.0.2.2"), 5, NOW + 300)
    attempt(6, NOW + 3600)
    with pytest.raises(Problem, match="sign-ups an hour"):
        attempt(7, NOW + 3601)


def test_a_fourth_key_retires_the_one_idle_longest_or_is_refused(accounts: UsageCounter) -> None:
    first, second, third = (sign_up(accounts, now=NOW + n) for n in range(3))
    with pytest.raises(Problem, match="live keys"):
        sign_up(accounts, now=NOW + DAY)
    later = NOW + 10 * DAY
    accounts.reserve(digest_of(first), later - DAY)
    accounts.reserve(digest_of(third), later - 5 * DAY)
    fourth = sign_up(accounts, now=later)
    live = {key for key in (first, second, third, fourth) if accounts.usage(digest_of(key), later)}
    assert live == {first, third, fourth}
    with pytest.raises(Problem, match="live keys"):
        sign_up(accounts, now=later)


def test_the_same_idempotency_key_gives_the_same_key_for_a_day(accounts: UsageCounter) -> None:
    key = sign_up(accounts, token="6b1f")
    assert sign_up(accounts, token="6b1f", now=NOW + DAY - 1) == key
    assert sign_up(accounts, token="6b1f", client="192.0.2.9") != key  # a guessed token from elsewhere
    assert sign_up(accounts, token="6b1f", now=NOW + DAY) != key
    other = sign_up(accounts, email="b@example.org", token="6b1f", now=NOW + DAY)
    assert other not in (key, sign_up(accounts, token="6b1f", now=NOW + DAY))
    assert sign_up(accounts, email="B+tag@example.org", token="6b1f", now=NOW + DAY) == other


def test_a_refused_sign_up_counts_as_an_attempt_and_changes_no_key(accounts: UsageCounter) -> None:
    for _ in range(3):
        sign_up(accounts)
    for _ in range(2):
        with pytest.raises(Problem, match="live keys"):
            sign_ups.sign_up(accounts.database, SignUp("a@example.org", "192.0.2.1"), 5, NOW)
    with pytest.raises(Problem, match="sign-ups an hour"):
        sign_ups.sign_up(accounts.database, SignUp("a@example.org", "192.0.2.1"), 5, NOW)


def _open(url: str, start: threading.Barrier, failed: multiprocessing.Queue[str]) -> None:
    start.wait()
    try:
        sign_ups.sign_up(
            Database.opened(url), SignUp(f"{multiprocessing.current_process().pid}@example.org", "x"), 0, NOW
        )
    except (DBAPIError, sqlite3.Error) as fault:
        failed.put(repr(fault))


@pytest.mark.slow
def test_workers_that_start_at_once_make_the_tables_once(accounts_url: str) -> None:
    context = multiprocessing.get_context("forkserver")  # its server imports once for all of them
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
    accounts = UsageCounter(Database.opened(accounts_url))
    key = sign_up(accounts)
    accounts.close()
    engine = open_engine(accounts_url)
    migrate(engine, (*STEPS, _add_note))
    migrate(engine, (*STEPS, _add_note))
    assert "note" in {column["name"] for column in inspect(engine).get_columns("keys")}
    engine.dispose()
    with pytest.raises(AccountsUnavailable, match="this release knows"):
        UsageCounter(Database.opened(accounts_url))
    engine = open_engine(accounts_url)
    with engine.begin() as connection:
        connection.execute(text(f"DELETE FROM schema_step WHERE step = {len(STEPS) + 1}"))
    engine.dispose()
    reopened = UsageCounter(Database.opened(accounts_url))
    assert reopened.usage(digest_of(key), NOW)
    reopened.close()


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


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_database_without_an_encoding_serves(postgres_server: Postgres) -> None:
    postgres_server.create_without_encoding("plain")
    accounts = UsageCounter(Database.opened(postgres_server.address("plain")))
    digest = digest_of(sign_up(accounts, email="émile@example.org"))
    assert accounts.reserve(digest, NOW)
    usage = accounts.usage(digest, NOW)
    assert usage is not None
    assert usage.used == 1
    accounts.close()
