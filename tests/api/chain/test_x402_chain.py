"""Real clients pay real transfers: official SDKs, gunicorn, the official facilitator, a chain that answers as Base."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.api.chain.payments import NEEDS_ANVIL, PATHS, Serve, Shop, get, offer, payment, states
from tests.stand_ins import buyer
from tests.stand_ins.chain import BUYER, KEYS, Chain
from tests.stand_ins.facilitator import Core, Facilitator
from tests.stand_ins.paying_clients import CLIENTS, NEEDS_NODE, NODE
from tests.stand_ins.served import ROOT

pytestmark = NEEDS_ANVIL

UNITS = 1000 + 10_000


@pytest.mark.parametrize(
    ("with_node", "client"),
    [
        *(pytest.param(True, *each.values, id=f"own-node-{each.id}", marks=each.marks) for each in CLIENTS),
        # No client can tell: one of each language.
        *(
            pytest.param(False, *each.values, id=f"facilitator-alone-{each.id}", marks=each.marks)
            for each in CLIENTS[1:3]
        ),
    ],
)
def test_official_clients_pay_to_the_unit(
    chain: Chain,
    open_shop: Callable[[bool], Shop],
    with_node: bool,
    client: Callable[[list[str]], list[dict[str, Any]]],
) -> None:
    shop = open_shop(with_node)
    before, (units, transfers) = chain.balance(BUYER), shop.earned()
    reports = client([shop.served.url + path for path in PATHS])
    assert [(each["status"], each["body"]["method"]) for each in reports] == [(200, "payment")] * 2
    assert all(each["receipt"]["success"] for each in reports)
    assert before - chain.balance(BUYER) == UNITS
    assert shop.earned() == (units + UNITS, transfers + [each["receipt"]["transaction"] for each in reports])


def test_twelve_buyers_at_once_are_charged_once_each(open_shop: Callable[[bool], Shop]) -> None:
    shop = open_shop(True)
    units, transfers = shop.earned()
    signed = [payment(shop.served) for _ in range(12)]
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda each=each: statuses.append(get(shop.served, each).status_code))
        for each in signed
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 12
    assert shop.earned()[0] - units == 12_000
    assert len(shop.earned()[1]) - len(transfers) == 12


def test_fifty_copies_over_workers_are_charged_once(open_shop: Callable[[bool], Shop]) -> None:
    shop = open_shop(False)
    units, _ = shop.earned()
    signed = payment(shop.served)
    statuses: list[int] = []
    path = PATHS[0] + "?sleep=0.3"
    threads = [
        threading.Thread(target=lambda: statuses.append(get(shop.served, signed, path).status_code)) for _ in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 402, 409}
    assert 1 <= statuses.count(200) <= 4
    assert shop.earned()[0] - units == 1000


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
    chain: Chain,
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
    tmp_path: Path,
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


def test_a_payer_who_empties_the_wallet_meanwhile_gets_nothing(
    chain: Chain,
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
) -> None:
    served = serve(EMDS_RPC_URL=chain.url)
    wallet = Account.create()
    chain.mint(wallet.address, 1000)
    terms = offer(served)
    signed = buyer.authorization(terms, **{"from": wallet.address})
    header = buyer.header(buyer.pay_v2(terms, signed, buyer.sign(signed, wallet.key)))
    other = buyer.authorization(terms | {"payTo": BUYER}, **{"from": wallet.address})
    facilitators[0].core = ActsBeforeSettling(
        facilitators[0].core, lambda: chain.settle(other, buyer.sign(other, wallet.key))
    )
    answer = get(served, header)
    assert chain.balance(wallet.address) == 0
    assert answer.status_code == 402
    assert "made" not in answer.text
    assert chain.balance(payee) == 0


def test_large_payment_headers_are_read_and_larger_ones_refused(open_shop: Callable[[bool], Shop]) -> None:
    shop = open_shop(False)
    units, _ = shop.earned()
    document = json.loads(base64.b64decode(payment(shop.served)))
    statuses = {}
    for size in (6_000, 20_000):
        signed = buyer.header(document | {"extensions": {"echo": "x" * size}})
        statuses[size] = get(shop.served, signed).status_code
    assert statuses == {6_000: 200, 20_000: 431}
    assert shop.earned()[0] - units == 1000


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


def test_the_rig_runs_for_owners() -> None:
    running = subprocess.Popen([sys.executable, "-m", "tests.stand_ins"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert running.stdout
    lines = [running.stdout.readline() for _ in range(4)]
    settings = dict(word.split("=", 1) for word in lines[1].split()[1:])
    assert set(settings) == {"EMDS_PAY_TO", "EMDS_FACILITATOR_URLS", "EMDS_RPC_URL"}
    node = requests.post(
        settings["EMDS_RPC_URL"], json={"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}, timeout=10
    )
    assert int(node.json()["result"], 16) == 8453
    for url in settings["EMDS_FACILITATOR_URLS"].split(","):
        kinds = requests.get(url + "/supported", timeout=10).json()["kinds"]
        assert {"x402Version": 2, "scheme": "exact", "network": "eip155:8453"} in kinds
    running.terminate()
    assert running.wait(20) == 0
    running.stdout.close()
