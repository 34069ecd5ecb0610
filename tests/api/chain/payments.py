"""Offers of a shop, payments that are signed for them, paid calls, and what the accounts know of each payment."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.stand_ins import buyer
from tests.stand_ins.chain import Chain, anvil
from tests.stand_ins.served import Served

NEEDS_ANVIL = [pytest.mark.slow, pytest.mark.skipif(anvil() is None, reason="anvil is not installed: make setup")]
PATHS = ("/v1/latest/GB", "/v1/price/FR")
Serve = Callable[..., Served]
"""Starts the shop, with more settings by name."""


@dataclass(frozen=True)
class Shop:
    """A running shop that tests share, and what its payee has got."""

    served: Served
    payee: str
    chain: Chain

    def earned(self) -> tuple[int, list[str]]:
        """All units, and the transfers' hashes, oldest first."""
        return self.chain.balance(self.payee), self.chain.transfers(self.payee)


def offer(served: Served, path: str = PATHS[0]) -> dict[str, Any]:
    """The first offer of a sample's headers."""
    answer = requests.get(served.url + path, timeout=10)
    element: dict[str, Any] = json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))["accepts"][0]
    return element


def payment(served: Served, **other: Any) -> str:
    """The header of a payment for the first path, other members of its authorization by name."""
    terms = offer(served)
    return buyer.header(buyer.pay_v2(terms, buyer.authorization(terms, **other)))


def get(served: Served, signed: str, path: str = PATHS[0]) -> requests.Response:
    return requests.get(served.url + path, headers={"PAYMENT-SIGNATURE": signed}, timeout=40)


def states(tmp_path: Path) -> list[str]:
    """Of every payment, oldest first."""
    connection = sqlite3.connect(tmp_path / "accounts.sqlite")
    try:
        return [row[0] for row in connection.execute("SELECT state FROM payments ORDER BY id")]
    finally:
        connection.close()
