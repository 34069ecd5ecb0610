"""Check what a buyer gets if the accounts database fails during a payment. No response is wrong about a charge."""

from __future__ import annotations

from typing import Any

import pytest

from api.access.accounts_engine import AccountsUnavailable
from api.access.x402.ledger import Ledger
from tests.stand_ins.trade import LIMITS, PATH, PRICE, Trade


def lose(*_: Any, **__: Any) -> None:
    raise AccountsUnavailable("gone")


def test_an_empty_answer_is_in_no_doubt_where_the_ledger_is_gone(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    payment = trade.payment()
    monkeypatch.setattr(Ledger, "released", lose)
    answer = trade.get(payment, PATH + "?rows=0")
    assert (answer.status_code, trade.paid, trade.row(payment).state) == (200, 0, "claimed")
    monkeypatch.undo()
    trade.shift[0] += LIMITS.lease
    assert (trade.get(payment).status_code, trade.paid) == (200, PRICE)


@pytest.mark.parametrize("lost", ["settled", "replay", "delivered"])
def test_a_ledger_that_is_lost_after_the_money_moved_denies_no_charge(
    trade: Trade, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    payment = trade.payment()
    with monkeypatch.context() as patch:
        if lost == "settled":  # the first attempt leaves a doubt, and the second one settles
            trade.without_node()
            trade.a.faults["settle"] = trade.b.faults["settle"] = "500"
        if lost == "delivered":
            patch.setattr(Ledger, "settled", lose)
        assert trade.get(payment).status_code == (200 if lost == "replay" else 503)
    trade.a.faults["settle"] = trade.b.faults["settle"] = ""
    trade.restart()
    trade.shift[0] += LIMITS.lease * (lost == "delivered")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, lost, lose)
        refused = trade.get(payment)
    assert refused.json["type"].endswith("/problems/settlement-unknown")
    assert (refused.status_code, "charged" in refused.json, trade.paid) == (503, False, PRICE)
