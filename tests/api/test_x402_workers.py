"""Workers that die while they hold a payment, and who sells at all."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from api.access.database import AccountsUnavailable
from api.access.gate import Gate, call_of
from api.access.values import Answer, Grant
from api.access.x402.payment import decode
from api.http.messages import Request
from api.http.problems import Problem
from api.settings import Facilitator as Listed
from api.settings import Settings
from tests.stand_ins.shop import shop
from tests.stand_ins.trade import LIMITS, PATH, PAY_TO, PRICE, Trade


def test_what_a_dead_worker_held_is_free_after_its_lease(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    decoded = decode(payment)
    with trade.http.application.test_request_context(PATH, headers={"PAYMENT-SIGNATURE": payment}) as context:
        entry = trade.gate.admit(
            call_of(Request(context.request.environ), "latest", ())
        )  # the worker dies here: no settle, no release
    assert trade.row(payment).state == "claimed"
    assert trade.get(payment).status_code == 409
    trade.shift[0] = LIMITS.lease + 1
    assert trade.get(payment).status_code == 200
    assert (trade.paid, decoded.nonce in trade.book.spent) == (PRICE, True)
    assert isinstance(entry, Grant)
    late = entry.settle(Answer(200, 1, b"late"))
    assert isinstance(late, Problem)  # the slow worker's answer must not go out a second time
    assert (late.kind.status, trade.paid) == (409, PRICE)


def test_what_died_while_settling_is_in_doubt_then_served(trade: Trade) -> None:
    trade.node.down = True
    trade.a.faults["settle"] = trade.b.faults["settle"] = "done-drop"
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    assert trade.get(payment).status_code == 503
    with trade.gate.database.begin() as connection:  # as if the worker had died before it wrote that down
        connection.exec_driver_sql("UPDATE payments SET state = 'settling'")
    assert trade.get(payment).status_code == 409
    trade.shift[0] = LIMITS.lease + 1
    trade.node.down = False
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_a_ledger_that_fails_after_the_money_moved_leaves_a_doubt(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))

    def fails(*_: object, **__: object) -> None:
        raise AccountsUnavailable("OperationalError")

    with monkeypatch.context() as patch:
        patch.setattr(type(trade.ledger), "settled", fails)
        answer = trade.get(payment)
    assert (answer.status_code, answer.json["type"].rpartition("/")[2]) == (503, "settlement-unknown")
    assert trade.paid == PRICE
    trade.shift[0] = LIMITS.lease + 1
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


# Where payments are off


def _closed(tmp_path: Path, mode: str, **changes: Any) -> tuple[Gate, TestResponse]:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path / 'accounts.sqlite'}",
        pay_to=PAY_TO,
        facilitators=(Listed("https://far.example"),),
    )
    gate = Gate.open(replace(settings, **changes), mode)
    return gate, shop(gate).test_client().get(PATH, headers={"X-PAYMENT": "junk"})


@pytest.mark.parametrize(
    ("mode", "changes", "sells"),
    [
        ("live", {"rpc_url": "https://node.example"}, True),
        ("live", {}, False),  # real money, and no node to ask about it
        ("live", {"facilitators": (Listed("http://127.0.0.1:9"),)}, True),
        ("live", {"pay_to": ""}, False),
        ("live", {"facilitators": ()}, False),
        ("simulated", {}, False),
        ("simulated", {"facilitators": (Listed("http://127.0.0.1:9"),)}, True),
        ("simulated", {"facilitators": (Listed("https://127.0.0.1.far.example"),)}, False),
    ],
)
def test_who_sells(tmp_path: Path, mode: str, changes: dict[str, Any], sells: bool) -> None:
    gate, answer = _closed(tmp_path, mode, **changes)
    assert gate.x402.open is sells
    assert answer.status_code == (400 if sells else 402)
    if not sells:
        assert (answer.json["accepts"], "signup" in answer.json["error"]) == ([], True)
    gate.close()
