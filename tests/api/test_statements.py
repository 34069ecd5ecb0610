"""Run every SQL statement of `api.access` against PostgreSQL, and find each by its place in the source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine, event

import api.access
from api.access import key_life, sign_up, webhooks
from api.access.accounts_engine import open_engine
from api.access.database import Database
from api.access.key_spelling import digest_of
from api.access.keys import Keys
from api.access.migration import migrate
from api.access.tables import METADATA
from api.access.values import Call, WholeAnswer
from api.access.x402.ledger import Ledger, LedgerEntry, PaymentTerms, Transfer
from api.http.problems import Problem
from tests.api.key_service import NOON, Service, opened
from tests.stand_ins.ports import free_port
from tests.stand_ins.postgres import NEEDS_POSTGRES, Postgres
from warehouse.market.clock import DAY

ROOM = Path(api.access.__file__).parent
CALLS = frozenset({"execute", "exec_driver_sql", "run", "_change", "_first", "_read", "_scalar", "_written"})
"""Methods that send a statement, or call such a method with it."""
ELSEWHERE = frozenset({"_begin", "connect_sqlite", "_create", "_prepare_file", "_prepare_sqlite", "_run"})
"""Functions that are only for SQLite, and `_run`, whose callers are checked instead."""
Place = tuple[str, int, int]
"""The file, first line and last line of a call."""


def places() -> set[Place]:
    """Return every call in `api.access` that sends a statement to PostgreSQL."""
    found: set[Place] = set()
    for path in ROOM.rglob("*.py"):
        tree = ast.parse(path.read_text())
        others = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name in ELSEWHERE)
        skipped = {call for function in others for call in ast.walk(function)}
        for node in ast.walk(tree):
            name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", ""))
            if isinstance(node, ast.Call) and name in CALLS and node not in skipped:
                found.add((str(path), node.lineno, node.end_lineno or node.lineno))
    return found


@contextmanager
def lines_that_send(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[tuple[str, int]]]:
    """Collect the lines of `api.access` on the stack of each statement that succeeds."""
    lines: set[tuple[str, int]] = set()

    def note(*_: Any) -> None:
        frame: Any = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(ROOM)):
                lines.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back

    run = Database._run

    def noted(self: Database, statement: str, values: Any) -> Any:
        row = run(self, statement, values)
        note()
        return row

    monkeypatch.setattr(Database, "_run", noted)
    event.listen(Engine, "after_cursor_execute", note)
    yield lines
    event.remove(Engine, "after_cursor_execute", note)


def first_release(server: Postgres) -> None:
    """Set up the tables of the first release, with one key in them, and migrate them."""
    server.empty()
    engine = open_engine(server.url)
    METADATA.create_all(engine)
    added = {"keys": ("identity", "confirmed", "confirmation", "quota"), "payments": ("log_index",)}
    added["webhooks"] = ("slow_until",)  # of a later release, so that a step finds the column missing
    later = ("file_reads", "previous_keys", "credits", "scanned_blocks", "repeats")
    with engine.begin() as connection:
        for table in later:
            connection.exec_driver_sql(f"DROP TABLE {table}")
        for table, columns in added.items():
            for column in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.exec_driver_sql("CREATE TABLE repeats (token TEXT PRIMARY KEY)")
        connection.exec_driver_sql("CREATE TABLE sign_ups (id BIGINT PRIMARY KEY)")
        connection.exec_driver_sql("INSERT INTO keys (digest, email, created) VALUES ('\\x00', 'A+b@example.org', 1)")
        connection.exec_driver_sql("INSERT INTO schema_step (step) VALUES (0)")
    migrate(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT identity, confirmed FROM keys").all() == [("a@example.org", 1)]
    engine.dispose()


def use_keys(service: Service) -> None:
    """Count calls, look at usage, read files, rotate and revoke a key, and set quotas."""
    database, books = service.gate.database, service.gate.keys
    for _ in range(4):
        with suppress(Problem):
            sign_up.sign_up(database, "a@example.org", "x", NOON, token="again")
            sign_up.sign_up(database, "a@example.org", "x", NOON)
    key, _ = sign_up.sign_up(database, "a@example.org", "x", NOON + 8 * DAY)
    file, call = b"\x01" * 32, Call("/v1/bulk/price/GB/2026-03.parquet", "bulk-file", "192.0.2.1", api_key=key)
    for _ in range(2):
        grant: Any = books.admit(replace(call, file=file), service.gate.limits, 0, NOON)
        grant.settle(WholeAnswer(200, 1))
    grant = books.admit(replace(call, file=b"\x02" * 32), service.gate.limits, 0, NOON)
    grant.settle(WholeAnswer(500, 0))
    usage = books.usage(digest_of(key), NOON, file)
    assert usage is not None
    assert (usage.used, usage.read) == (1, True)
    assert books.current_digest(usage.key) == digest_of(key)
    assert key_life.set_quota(database, usage.key, 7)
    old = digest_of(key)
    new = key_life.rotate(database, old, NOON)
    assert new
    assert key_life.key_uses(database, 3, 500, NOON)[0].today == 1
    assert key_life.revoke(database, old, NOON)
    assert key_life.revoke(database, digest_of(new), NOON)


def confirm_by_mail(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sign up with a mail server that refuses, then with one that delivers, and open the link."""
    assert service.sign_up("mail@example.org", **{"Idempotency-Key": "once"}).status_code == 503
    sent: list[str] = []
    monkeypatch.setattr(sign_up, "_send", lambda *mail: sent.append(mail[-1]))
    assert service.sign_up("mail@example.org").status_code == 201
    assert service.http.get(f"/v1/keys/confirm?token={sent[0]}").status_code == 200


def keep_ledger(database: Database) -> None:
    """Take payments through every state, and transfers to responses and credits."""
    ledger, answer = Ledger(database), WholeAnswer(200, 1, b"{}")

    def claim(nonce: str, now: int = NOON) -> LedgerEntry:
        signed = ("eip155:8453", "0xaa", nonce, 2, "0xcc", "0xbb", 1000)
        entry = ledger.claim(PaymentTerms(*signed, now + 120, "/v1/latest/GB", "f", "h"), now, 90)
        assert entry
        return entry

    def settling(nonce: str) -> LedgerEntry:
        entry = ledger.settling(claim(nonce), NOON, "https://f.example", answer)
        assert entry
        return entry

    assert ledger.released(claim("0x1"), NOON)
    told = ledger.settled(settling("0x1"), NOON, "", None, answered=True)
    assert told
    assert ledger.find(told.terms) == told
    assert ledger.unproven("eip155:8453") == 1
    ledger.proven(told, "0xt", 1)
    assert ledger.find_transfer("eip155:8453", "0xt", 1)
    assert ledger.replay(told, NOON, 300, 3) == answer
    twice = ledger.settled(settling("0x2"), NOON, "0xt", 1, answered=True)
    assert twice
    assert twice.state == "failed", "another row has the transfer"
    doubt = ledger.unknown(settling("0x3"), NOON)
    assert doubt
    assert ledger.undecided(0) == [doubt]
    owed = ledger.settled(doubt, NOON, "0xu", 2, answered=False)
    assert owed
    assert ledger.delivered(owed, NOON, answer)
    ledger.expire(NOON + DAY, 90, 300)
    assert ledger.counts() == {"settled": 2, "failed": 1}
    assert (ledger.first_payment(), ledger.scanned("eip155:8453", "0xbb")) == (NOON, None)
    ledger.mark_scanned("eip155:8453", "0xbb", 7)
    ledger.record_credit("eip155:8453", Transfer("0xv", 1, "0xaa", 5, 7), NOON)
    assert ledger.credits() == (1, 5)
    ledger.drop_credit("eip155:8453", "0xv", 1)


def keep_webhooks(service: Service) -> None:
    """Subscribe, deliver, fail, give up, enable and remove."""
    database, books = service.gate.database, service.gate.keys
    usage = books.usage(digest_of(service.key()), NOON)
    assert usage
    wanted = {"url": "https://hook.example/", "events": ["changes"], "zones": [], "threshold": None}
    hook = webhooks.create(database, usage.key, wanted, "0", NOON)
    assert webhooks.listed(database, usage.key) == webhooks.deliverable(database) == [hook]
    assert webhooks.claim(database, hook.id, NOON) is None
    assert webhooks.enqueue_batch(database, hook, [b"1"], "1", {}, NOON)
    assert webhooks.add(database, hook.id, b"2", NOON)
    message = webhooks.claim(database, hook.id, NOON)
    assert message
    assert webhooks.count_waiting(database) == 2
    webhooks.record_delivery(database, hook.id, message, False, NOON)
    assert webhooks.record_failure(database, replace(hook, failing_since=NOON - DAY), "gone", NOON)
    webhooks.enable(database, hook.id)
    webhooks.remove(database, hook.id)


@pytest.mark.slow
@NEEDS_POSTGRES
def test_every_statement_runs_on_postgresql(
    postgres_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lines_that_send(monkeypatch) as lines:
        first_release(postgres_server)
        postgres_server.empty()
        mail = urlsplit(f"smtp://127.0.0.1:{free_port()}?from=keys@emds.example")
        service = opened(tmp_path, database_url=postgres_server.url, home=str(tmp_path), smtp_url=mail)
        use_keys(service)
        confirm_by_mail(service, monkeypatch)
        keep_ledger(service.gate.database)
        keep_webhooks(service)
        service.gate.close()
    silent = {
        place for place in places() if not any((place[0], line) in lines for line in range(place[1], place[2] + 1))
    }
    assert not silent, "these statements did not run"


@pytest.mark.slow
@NEEDS_POSTGRES
def test_the_first_call_of_a_day_may_be_for_a_file(postgres_server: Postgres) -> None:
    postgres_server.empty()
    database = Database(postgres_server.url)
    books = Keys(database)
    digest = digest_of(sign_up.sign_up(database, "a@example.org", "x", NOON)[0])
    for now in (NOON, NOON + DAY):
        reserved = books.reserve(digest, now)
        assert reserved
        assert books.record_read(reserved, b"\x01" * 32)
    database.close()


@pytest.mark.slow
@NEEDS_POSTGRES
def test_a_password_may_hold_any_sign(postgres_server: Postgres) -> None:
    """Check that both drivers read the URL. The server itself trusts all clients."""
    postgres_server.empty()
    database = Database(postgres_server.url.replace("emds@", "emds:s3cr%20t%25%2B%2F%40@"))
    books = Keys(database)
    assert books.usage(digest_of(sign_up.sign_up(database, "a@example.org", "x", NOON)[0]), NOON)
    database.close()
