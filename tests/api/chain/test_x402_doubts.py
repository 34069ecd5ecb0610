"""Doubts about a real transfer are settled by the chain: lies, lost answers, kills. Nobody is charged for nothing."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import requests

from api.access.database import Database
from api.access.usage import UsageCounter
from api.access.x402.chain import Chain as Node
from api.access.x402.ledger import Ledger
from api.access.x402.reconciler import Reconciler
from tests.api.chain.payments import NEEDS_ANVIL, Serve, get, payment, states
from tests.stand_ins.chain import BUYER, KEYS, Chain
from tests.stand_ins.facilitator import Facilitator, Fault
from tests.stand_ins.official import Official

pytestmark = NEEDS_ANVIL


def test_the_chain_settles_a_doubt_within_the_call(
    chain: Chain,
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
    tmp_path: Path,
) -> None:
    served = serve(EMDS_RPC_URL=chain.url)
    faults: tuple[Fault, ...] = ("done-drop", "done-500", "done-html")
    for number, fault in enumerate(faults):
        if number:
            time.sleep(4.5)  # by then the facilitator that failed is asked again
        facilitators[0].faults["settle"] = fault
        answer = get(served, payment(served))
        assert answer.status_code == 200, (fault, answer.text)
        assert json.loads(base64.b64decode(answer.headers["PAYMENT-RESPONSE"]))["transaction"] in chain.transfers(payee)
    assert chain.balance(payee) == 3000
    assert states(tmp_path) == ["settled"] * 3
    assert facilitators[1].calls["settle"] == 0


def test_a_lie_is_found_out_and_serves_nothing(
    chain: Chain,
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
    tmp_path: Path,
) -> None:
    served = serve(EMDS_RPC_URL=chain.url)
    facilitators[0].faults["settle"] = "lie"
    signed = payment(served)
    answer = get(served, signed)
    assert (answer.status_code, chain.balance(payee)) == (503, 0)
    assert "made" not in answer.text
    assert states(tmp_path) == ["unknown"]
    facilitators[0].faults["settle"] = ""
    assert get(served, signed).status_code == 200
    assert chain.balance(payee) == 1000


def test_without_a_node_a_doubt_stays_unknown_until_there_is_one(
    chain: Chain,
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
    tmp_path: Path,
) -> None:
    served = serve()
    for each in facilitators:
        each.faults["settle"] = "done-500"
    signed = payment(served)
    assert get(served, signed).status_code == 503
    for each in facilitators:
        each.faults["settle"] = ""
    assert get(served, signed).status_code == 503, "a used authorization alone proves no payment"
    assert (states(tmp_path), chain.balance(payee)) == (["unknown"], 1000)
    served.stop()
    served.start(EMDS_RPC_URL=chain.url)
    answer = get(served, signed)
    assert (answer.status_code, answer.json()["method"]) == (200, "payment")
    assert (states(tmp_path), chain.balance(payee)) == (["settled"], 1000)


def test_after_every_lie_the_ledger_reconciles_with_the_chain(
    chain: Chain, serve: Serve, payee: str, facilitators: list[Facilitator], tmp_path: Path
) -> None:
    """Nobody was charged without an answer or a credit, answered without money, or charged twice."""
    served = serve(EMDS_RPC_URL=chain.url)
    faults: tuple[Fault, ...] = ("", "lie", "done-drop", "screened", "500")
    answered = 0
    for fault in faults:
        for each in facilitators:
            each.faults["settle"] = fault
        signed = payment(served)
        answer = get(served, signed)
        for each in facilitators:
            each.faults["settle"] = ""
        if answer.status_code != 200:
            time.sleep(2.5)  # by then a facilitator that failed is asked again
            answer = get(served, signed)
        answered += answer.status_code == 200
        assert chain.balance(payee) == 1000 * answered, fault
        served.kill()  # what failed is forgotten; every call is answered, and a graceful end takes seconds
        served.start()
    accounts = UsageCounter(Database.opened(f"sqlite:///{tmp_path / 'accounts.sqlite'}"))
    report = Reconciler(Ledger(accounts.database), Node(chain.url), time.time).read_transfers(payee.lower())
    accounts.close()
    assert answered == len(faults) - 1, "a screening is final"
    assert (report.transfers, report.answer, report.owed) == (answered, answered, 0)
    assert (report.credit, report.waiting, report.unproven) == (0, 0, 0)


def test_workers_killed_while_settling_lose_and_double_nothing(
    chain: Chain,
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
    tmp_path: Path,
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
    serve: Serve,
    payee: str,
    facilitators: list[Facilitator],
    tmp_path: Path,
) -> None:
    chain = Chain()  # one of its own: its clock is moved
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
