"""Check `emds keys`, `emds reconcile`, what `emds doctor` reports on access, and the asset that reconciles.

The tests run them as the operator does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from api.access import sign_up as sign_ups
from api.access.database import Database
from api.access.key_spelling import digest_of
from api.access.keys import Keys
from orchestration.cli import main
from orchestration.jobs.service_assets import PAYMENTS, service_assets
from tests.stand_ins.trade import PAY_TO, Trade, open_trade
from warehouse.market.clock import DAY


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    """Yield three keys: a busy one, one that used up a day's quota, and one that was never used."""
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    opened = Keys(Database(f"sqlite:///{tmp_path / 'accounts.sqlite'}"))
    now = int(time.time())
    busy, full, _ = (
        sign_ups.sign_up(opened.database, f"{name}@example.org", "x", now)[0] for name in ("busy", "full", "idle")
    )
    for day in range(3):
        for _ in range(300):
            opened.reserve(digest_of(busy), now - day * DAY)
    for _ in range(510):
        opened.reserve(digest_of(full), now - DAY)
    yield opened
    opened.database.close()


def words(line: str) -> list[str]:
    return line.split()


def test_the_busiest_keys_are_listed_first(accounts: Keys, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 active keys of 3, 1400 requests in 30 days"
    rows = [words(line) for line in lines if "@example.org" in line]
    assert [(row[1], row[2], row[3], row[-1]) for row in rows] == [
        ("900", "300", "0", "busy@example.org"),
        ("500", "0", "1", "full@example.org"),
        ("0", "0", "0", "idle@example.org"),
    ]
    assert "never" in lines[-1]


def test_a_key_is_shown_limited_and_ended_by_its_number(accounts: Keys, capsys: pytest.CaptureFixture[str]) -> None:
    now = int(time.time())
    key = sign_ups.sign_up(accounts.database, "mine@example.org", "x", now)[0]
    usage = accounts.usage(digest_of(key), now)
    assert usage
    number = str(usage.key)
    assert main(["keys", "quota", number, "2"]) == 0
    assert [accounts.reserve(digest_of(key), now) is not None for _ in range(3)] == [True, True, False]
    assert main(["keys", "quota", number, "default"]) == 0
    assert accounts.reserve(digest_of(key), now)
    assert main(["keys", "list"]) == 0
    assert "mine@example.org" in capsys.readouterr().out
    assert main(["keys", "revoke", number]) == 0
    assert accounts.usage(digest_of(key), now) is None
    assert main(["keys", "list"]) == 0
    assert "mine@example.org" not in capsys.readouterr().out
    for action in (["revoke", "99"], ["quota", "99", "5"]):
        assert main(["keys", *action]) == 1
    for wrong in (["quota", number, "-1"], ["quota", number, "many"], ["revoke", "x"], []):
        assert main(["keys", *wrong]) == 2


@pytest.fixture
def trade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trade]:
    with open_trade(tmp_path) as built:
        monkeypatch.setenv("EMDS_HOME", str(tmp_path))
        monkeypatch.setenv("EMDS_PAY_TO", PAY_TO)
        monkeypatch.setenv("EMDS_RPC_URL", built.node.url)
        yield built


def test_reconcile_accounts_for_every_transfer(trade: Trade, capsys: pytest.CaptureFixture[str]) -> None:
    assert trade.get(trade.payment()).status_code == 200
    trade.settle_outside(trade.payment())
    assert main(["reconcile"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith("2 transfers, 0.002 USDC")
    assert [words(line)[-1] for line in lines[1:4]] == ["1", "0", "0"]
    assert lines[4].startswith("credits in total       1, 0.001 USDC")
    trade.node.down = True
    assert main(["reconcile"]) == 1
    assert "the node is not responding" in capsys.readouterr().err


def test_an_answer_without_money_and_a_doubt_fail_the_reconciliation(
    trade: Trade, capsys: pytest.CaptureFixture[str]
) -> None:
    trade.without_node()
    trade.a.faults["settle"] = "lie"  # without a node, the facilitator's word is accepted
    trade.trusted = 1
    assert trade.get(trade.payment()).status_code == 200
    assert trade.paid == 0
    assert main(["reconcile"]) == 1
    assert "unpaid responses       1" in capsys.readouterr().out
    assert _materialised() == (False, 1)


def _materialised() -> tuple[bool, int]:
    """Return whether the asset's check passes, and the number of unpaid responses that it found."""
    (payments,) = (asset for asset in service_assets(publishes=False) if asset.key == PAYMENTS)
    result = dg.materialize([payments])
    check = result.get_asset_check_evaluations()[0]
    return check.passed, int(check.metadata["unproven"].value) if "unproven" in check.metadata else 0


def test_the_asset_reconciles_and_its_check_passes(trade: Trade) -> None:
    assert trade.get(trade.payment()).status_code == 200
    assert _materialised() == (True, 0)


@pytest.mark.parametrize("verb", [["keys", "list"], ["webhooks", "list"]])
def test_an_accounts_database_that_is_away_is_told_with_the_reason(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_DATABASE_URL", "postgresql+psycopg://emds:s3cret@127.0.0.1:1/x")
    assert main(verb) == 1
    told = capsys.readouterr().err
    assert (
        told == "emds: The accounts database (EMDS_DATABASE_URL) is not responding: Connection refused. "
        "Check that it is running and reachable.\n"
    )
