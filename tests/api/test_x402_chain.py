"""Test real transfers on a chain that behaves like Base: gunicorn, two official facilitators, races, lies and kills.

The chain decides doubts about a transfer. `test_x402_service` uses the official clients.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.stand_ins import buyer
from tests.stand_ins.chain import BUYER, KEYS, Chain, anvil
from tests.stand_ins.facilitator import Core, Facilitator
from tests.stand_ins.official import Official
from tests.stand_ins.paying_clients import NEEDS_NODE, NODE
from tests.stand_ins.served import ROOT, Served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(anvil() is None, reason="anvil is not installed: make setup")]
PATH = "/v1/latest/GB"
Serve = Callable[..., Served]
"""A function that starts the shop. Its keyword arguments are further settings."""


@pytest.fixture
def facilitators(chain: Chain) -> Iterator[list[Facilitator]]:
    """Yield two facilitators in the order in which a shop tries them. A test may make them fail."""
    running = [Facilitator(Official(chain.url, key)) for key in KEYS[:2]]
    yield running
    for each in running:
        each.close()


@pytest.fixture
def payee() -> str:
    """Return an address that has received no payment."""
    return str(Account.create().address)


@pytest.fixture
def serve(tmp_path: Path, facilitators: list[Facilitator], payee: str) -> Iterator[Serve]:
    """Yield a function that starts the shop with the settings of production."""
    running: list[Served] = []

    def start(**environ: str) -> Served:
        settings = {
            "EMDS_DATABASE_URL": f"sqlite:///{tmp_path / 'accounts.sqlite'}",
            "EMDS_PAY_TO": payee,
            "EMDS_FACILITATOR_URLS": ",".join(each.url for each in facilitators),
            "EMDS_FREE_CALLS_PER_MINUTE": "0",
        }
        running.append(Served(settings | environ, workers=2))
        return running[-1]

    yield start
    for each in running:
        each.stop()


def payment(served: Served, **other: Any) -> str:
    """Return the header of a payment. `other` replaces fields of its authorization."""
    answer = requests.get(served.url + PATH, timeout=10)
    offer = json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))["accepts"][0]
    return buyer.header(buyer.pay_v2(offer, buyer.authorization(offer, **other)))


def get(served: Served, signed: str, path: str = PATH) -> requests.Response:
    return requests.get(served.url + path, headers={"PAYMENT-SIGNATURE": signed}, timeout=40)


def states(tmp_path: Path) -> list[str]:
    """Return the state of every payment, oldest first."""
    connection = sqlite3.connect(tmp_path / "accounts.sqlite")
    try:
        return [row[0] for row in connection.execute("SELECT state FROM payments ORDER BY id")]
    finally:
        connection.close()


def test_fifty_copies_over_workers_are_charged_once_and_larger_headers_refused(
    chain: Chain, serve: Serve, payee: str
) -> None:
    served = serve()
    signed = payment(served)
    statuses: list[int] = []
    ask = lambda: statuses.append(get(served, signed, PATH + "?sleep=0.3").status_code)  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 402, 409}
    assert 1 <= statuses.count(200) <= 4
    assert chain.balance(payee) == 1000
    document = json.loads(base64.b64decode(payment(served)))
    for size, status in ((6_000, 200), (20_000, 431)):
        assert get(served, buyer.header(document | {"extensions": {"echo": "x" * size}})).status_code == status
    assert chain.balance(payee) == 2000


@dataclass
class ActsBeforeSettling:
    """A facilitator's core that changes the chain just before it settles."""

    core: Core
    act: Callable[[], None]

    def verify(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.core.verify(body)

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        self.act()
        return self.core.settle(body)


def test_a_payer_who_cancels_meanwhile_gets_nothing(
    chain: Chain, serve: Serve, payee: str, facilitators: list[Facilitator], tmp_path: Path
) -> None:
    served = serve(EMDS_RPC_URL=chain.url)
    nonce = "0x" + os.urandom(32).hex()
    facilitators[0].core = ActsBeforeSettling(facilitators[0].core, lambda: _cancel(chain, nonce))
    answer = get(served, payment(served, nonce=nonce))
    assert answer.status_code == 402
    assert "made" not in answer.text
    assert states(tmp_path) == ["failed"]
    assert chain.balance(payee) == 0


def _cancel(chain: Chain, nonce: str) -> None:
    types = {"CancelAuthorization": [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]}
    message = encode_typed_data(buyer.domain(), types, {"authorizer": BUYER, "nonce": nonce})
    signed = Account.sign_message(message, KEYS[2])
    chain.send(
        "5a049a70" + BUYER[2:].lower().rjust(64, "0") + nonce[2:] + f"{signed.v:064x}{signed.r:064x}{signed.s:064x}"
    )


def test_workers_killed_while_settling_lose_and_double_nothing(
    chain: Chain, serve: Serve, payee: str, facilitators: list[Facilitator], tmp_path: Path
) -> None:
    served = serve(EMDS_RPC_URL=chain.url)
    facilitators[0].faults["settle"] = "done-hang"
    signed = payment(served)
    failed: list[Exception] = []

    def ask() -> None:
        try:
            get(served, signed)
        except requests.ConnectionError as fault:
            failed.append(fault)

    asking = threading.Thread(target=ask)
    asking.start()
    _until(lambda: chain.balance(payee) == 1000)
    served.kill()
    asking.join()
    assert len(failed) == 1
    assert states(tmp_path) == ["settling"]
    facilitators[0].faults["settle"] = ""
    served.start()
    assert get(served, signed).status_code == 409
    served.stop()
    served.start(SHOP_LEASE="1")  # as if a minute had passed
    answer = get(served, signed)
    assert (answer.status_code, answer.json()["method"]) == (200, "payment")
    assert get(served, signed).content == answer.content
    assert (chain.balance(payee), states(tmp_path)) == (1000, ["settled"])


def test_a_doubt_ends_when_the_chain_passes_its_date(
    serve: Serve, payee: str, facilitators: list[Facilitator], tmp_path: Path
) -> None:
    chain = Chain()  # a separate chain, because its clock is moved
    chain.mint(BUYER, 1_000_000)
    facilitators[0].core = facilitators[1].core = Official(chain.url, KEYS[0])
    served = serve(EMDS_RPC_URL=chain.url)
    facilitators[0].faults["settle"] = facilitators[1].faults["settle"] = "drop"
    signed = payment(served)
    assert get(served, signed).status_code == 503
    chain.rpc("evm_increaseTime", [300])
    chain.rpc("evm_mine", [])
    refused = get(served, signed)
    assert (refused.status_code, refused.json()["error"]) == (
        402,
        "invalid_exact_evm_payload_authorization_valid_before",
    )
    assert (states(tmp_path), chain.balance(payee)) == (["failed"], 0)
    chain.close()


def _until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@NEEDS_NODE
def test_the_tokens_code_is_its_sources() -> None:
    ended = subprocess.run(
        ["node", "--liftoff-only", "compile.mjs", "../stand_ins/usdc.sol"],
        cwd=NODE,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout.strip() == (ROOT / "tests" / "stand_ins" / "usdc.hex").read_text().strip()
