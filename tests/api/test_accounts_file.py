"""Test the accounts file of an older release, its permissions, and files that are empty, damaged or unwritable."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from api.access import database as databases
from api.access import sign_up as sign_ups
from api.access.accounts_engine import AccountsUnavailable, open_engine
from api.access.database import Database
from api.access.key_spelling import digest_of
from api.access.keys import Keys
from api.access.migration import migrate
from api.access.x402.ledger import Ledger
from api.application import create_app
from api.http.problems import Problem
from warehouse.market.clock import DAY

NOW = 20_000 * DAY + 3600
OLD_KEY = "emds_" + "A1b" * 14 + "Z"
"""A key of 43 digits, from before keys had a checksum."""
OLD_TABLES = """
CREATE TABLE keys (id INTEGER NOT NULL, digest BLOB NOT NULL, email TEXT NOT NULL, created INTEGER NOT NULL,
    revoked INTEGER, PRIMARY KEY (id), UNIQUE (digest));
CREATE INDEX keys_by_email ON keys (email);
CREATE TABLE usage (key_id INTEGER NOT NULL, day INTEGER NOT NULL, calls INTEGER NOT NULL, PRIMARY KEY (key_id, day),
    FOREIGN KEY(key_id) REFERENCES keys (id)) WITHOUT ROWID;
CREATE TABLE sign_ups (id INTEGER NOT NULL, client TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (id));
CREATE INDEX sign_ups_by_client ON sign_ups (client, at);
CREATE TABLE repeats (client TEXT NOT NULL, token BLOB NOT NULL, email TEXT NOT NULL, salt BLOB NOT NULL,
    at INTEGER NOT NULL, PRIMARY KEY (client, token));
CREATE TABLE payments (id INTEGER NOT NULL, network TEXT NOT NULL, payer TEXT NOT NULL, nonce TEXT NOT NULL,
    state TEXT NOT NULL, attempt INTEGER NOT NULL, version INTEGER NOT NULL, asset TEXT NOT NULL, pay_to TEXT NOT NULL,
    amount INTEGER NOT NULL, valid_before INTEGER NOT NULL, path TEXT NOT NULL, fingerprint TEXT NOT NULL,
    payment_hash TEXT NOT NULL, facilitator TEXT NOT NULL, tx TEXT NOT NULL, error TEXT NOT NULL, answer_headers TEXT,
    answer_body BLOB, answered INTEGER, replays INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
    PRIMARY KEY (id), UNIQUE (network, payer, nonce));
CREATE INDEX payments_by_state ON payments (state, updated);
CREATE TABLE schema_step (step INTEGER NOT NULL, PRIMARY KEY (step));
INSERT INTO schema_step VALUES (0);
"""
"""The tables of release 0.1.0, as its code created them."""


def old_file(path: Path) -> None:
    """Write an accounts file of release 0.1.0 with a key, its counts, and payments in every state."""
    connection = sqlite3.connect(path)
    connection.executescript(OLD_TABLES)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("INSERT INTO keys VALUES (7, ?, 'ada+x@example.org', ?, NULL)", (digest_of(OLD_KEY), NOW - DAY))
    connection.execute("INSERT INTO usage VALUES (7, ?, 41)", (NOW // DAY,))
    states = ("verified", "settling", "settled", "failed", "unknown", "released")
    for number, state in enumerate(states):
        tx = "0x" + f"{number:064x}" if state == "settled" else ""
        connection.execute(
            "INSERT INTO payments (network, payer, nonce, state, attempt, version, asset, pay_to, amount, valid_before,"
            " path,"
            " fingerprint, payment_hash, facilitator, tx, error, replays, created, updated)"
            " VALUES ('eip155:8453', '0xaa', ?, ?, 1, 2, '0xbb', '0xcc', 1000, 9, '/v1/latest/GB', 'f', 'h', '', ?, '',"
            " 0, 1, 1)",
            (f"0x{number}", state, tx),
        )
    connection.commit()
    connection.close()


def test_a_file_of_an_older_release_keeps_its_keys_counts_and_payments(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    old_file(path)
    accounts = Keys(Database(f"sqlite:///{path}"))
    reserved = accounts.reserve(digest_of(OLD_KEY), NOW)
    assert reserved
    assert (reserved.key, reserved.used, reserved.limit) == (7, 42, 500)
    assert Ledger(accounts.database).counts() == {
        "claimed": 1, "settling": 1, "settled": 1, "failed": 1, "unknown": 1, "released": 1
    }  # fmt: skip
    entry = Ledger(accounts.database).find_authorization("eip155:8453", "0xaa", "0x2")
    assert entry
    assert (entry.state, entry.tx, entry.log_index) == ("settled", "0x" + f"{2:064x}", None)
    for _ in range(2):
        sign_ups.sign_up(accounts.database, "ADA@example.org", "x", NOW)
    with pytest.raises(Problem, match="active keys"):
        sign_ups.sign_up(accounts.database, "ada+other@example.org", "x", NOW)
    accounts.database.close()
    Database(f"sqlite:///{path}").open()  # the second start finds the migration complete


def test_a_migrated_file_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    old_file(tmp_path / "old.sqlite")
    shapes = []
    for name in ("old", "new"):
        engine = open_engine(f"sqlite:///{tmp_path / name}.sqlite")
        migrate(engine)
        inspector = inspect(engine)
        shapes.append(
            {
                table: (
                    {column["name"] for column in inspector.get_columns(table)},
                    set(inspector.get_pk_constraint(table)["constrained_columns"]),
                    {tuple(index["column_names"]) for index in inspector.get_indexes(table)},
                )
                for table in inspector.get_table_names()
            }
        )
        engine.dispose()
    assert shapes[0] == shapes[1]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    before = os.umask(0)
    try:
        accounts = Keys(Database(f"sqlite:///{path}"))
        sign_ups.sign_up(accounts.database, "a@example.org", "x", NOW)
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        accounts.database.close()
        path.chmod(0o644)
        Database(f"sqlite:///{path}").open()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def _text(path: Path) -> None:
    path.write_bytes(b"no database at all " * 1000)


def _flipped(path: Path) -> None:
    Database(f"sqlite:///{path}").open()
    content = bytearray(path.read_bytes())
    content[100:4096] = os.urandom(3996)
    path.write_bytes(content)


def _folder(path: Path) -> None:
    path.mkdir()


def _newer(path: Path) -> None:
    Database(f"sqlite:///{path}").open()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO schema_step VALUES (99)")
    connection.close()


@pytest.mark.parametrize("damage", [_text, _flipped, _folder, _newer])
def test_free_paths_are_served_whatever_became_of_the_accounts(market: Any, damage: Callable[[Path], None]) -> None:
    path = market.home / "accounts.sqlite"
    damage(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(AccountsUnavailable):
        Keys(Database(f"sqlite:///{path}")).reserve(digest_of(OLD_KEY), NOW)
    client = market.client()
    for free in ("/v1/zones", "/catalog", "/healthz", "/v1/price/GB?sample=true"):
        assert client.get(free).status_code == 200, free
    assert client.get("/v1/price/GB").status_code == 402
    keyed = client.get("/v1/price/GB", headers={"Authorization": f"Bearer {OLD_KEY}"})
    assert (keyed.status_code, keyed.json["type"].rpartition("/")[2]) == (503, "accounts-unavailable")
    assert client.post("/v1/keys/signup", json={"email": "a@example.org"}).status_code == 503
    if damage is not _newer and path.is_file():
        assert path.read_bytes() == before, "the damaged file was not replaced"


def test_accounts_that_come_back_are_used_again(market: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "_RETRY_AFTER_S", 0.0)
    path = market.home / "accounts.sqlite"
    path.write_bytes(b"")
    client = market.client()
    assert client.post("/v1/keys/signup", json={"email": "a@example.org"}).status_code == 503
    path.unlink()
    assert client.post("/v1/keys/signup", json={"email": "a@example.org"}).status_code == 201


def test_a_file_that_vanishes_is_not_replaced_under_a_running_worker(tmp_path: Path) -> None:
    accounts = Keys(Database(f"sqlite:///{tmp_path / 'accounts.sqlite'}"))
    accounts.database.open()
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(AccountsUnavailable):
        accounts.reserve(digest_of(OLD_KEY), NOW)
    assert not (tmp_path / "accounts.sqlite").exists()
    accounts.database.close()


def test_a_full_disk_stops_what_is_counted_and_nothing_else(market: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)  # the table of limits
    monkeypatch.setattr(os, "link", full)  # the new database
    app = create_app(market.settings(free_calls_per_minute=3))
    client = app.test_client()
    assert [client.get("/v1/zones").status_code for _ in range(5)] == [200] * 3 + [429] * 2, "counted in memory"
    assert client.post("/v1/keys/signup", json={"email": "a@example.org"}).status_code == 503
    app.extensions["emds"].gate.close()
