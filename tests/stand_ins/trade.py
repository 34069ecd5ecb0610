"""Connect a selling service, a buyer, two facilitators and a node by real HTTP.

The facilitators and the node share a book.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.gate import Gate
from api.access.values import Call
from api.access.x402 import offers
from api.access.x402.facilitators import Timeouts
from api.access.x402.ledger import Ledger, LedgerEntry
from api.access.x402.payment import decode
from api.access.x402.reconciler import Reconciler
from api.access.x402.server import PaymentLimits, X402ResourceServer
from api.settings import Facilitator as Listed
from api.settings import Settings
from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.book_node import BookNode
from tests.stand_ins.chain import BUYER
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.shop import shop

PAY_TO = "0x00000000000000000000000000000000DeaDBeef"
PATH = "/v1/latest/GB"
PRICE = 1000
LIMITS = PaymentLimits(lease=60, confirm=0.3, timeouts=Timeouts(connect=2, verify=2, settle=2, pending=0.01))
"""Time limits in seconds that a busy machine does not reach.

Each facilitator that hangs delays a test by its timeout.
"""
HEADER = {1: "X-PAYMENT", 2: "PAYMENT-SIGNATURE"}
RECEIPT = {1: "X-PAYMENT-RESPONSE", 2: "PAYMENT-RESPONSE"}
NONCE_USED = "invalid_exact_evm_nonce_already_used"


@dataclass
class Trade:
    """A selling service, two facilitators over a shared book, a node, and a buyer with ten cents."""

    gate: Gate
    http: FlaskClient
    a: Facilitator
    b: Facilitator
    book: Book
    node: BookNode
    shift: list[float]
    answered: set[str] = field(default_factory=set)
    """The nonces of payments for which a response with a receipt arrived."""
    trusted: int = 0
    """The number of unpaid responses that a test expects after a false claim while the node is unavailable."""

    def offer(self, version: int = 2, path: str = PATH) -> dict[str, Any]:
        answer = self.http.get(path)
        document = answer.json if version == 1 else json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))
        element: dict[str, Any] = document["accepts"][0]
        return element

    def offered(self) -> dict[str, Any]:
        """Return the complete offer of version 2."""
        document: dict[str, Any] = json.loads(base64.b64decode(self.http.get(PATH).headers["PAYMENT-REQUIRED"]))
        return document

    def payment(self, version: int = 2, **other: Any) -> str:
        """Return a valid payment. `other` replaces parts of its authorization."""
        offer = self.offer(version)
        signed = buyer.authorization(offer, **other)
        return buyer.header(buyer.pay_v1(offer, signed) if version == 1 else buyer.pay_v2(offer, signed))

    def get(self, payment: str, path: str = PATH, version: int = 2, **headers: str) -> TestResponse:
        answer = self.http.get(path, headers={HEADER[version]: payment, **headers})
        if answer.status_code == 200 and set(RECEIPT.values()) & set(answer.headers.keys()):
            self.answered.add(decode(payment).nonce)
        return answer

    @property
    def paid(self) -> int:
        return self.book.balances.get(PAY_TO.lower(), 0)

    def row(self, payment: str) -> LedgerEntry:
        """Return the ledger entry of `payment`."""
        entry = self.ledger.find(self.gate.x402._terms(decode(payment), Call(PATH, "latest", "")))
        assert entry
        return entry

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.gate.database)

    def settle_outside(self, payment: str, tx: str = "0x" + "ee" * 32) -> None:
        """Settle the authorization of `payment` in the transaction `tx`, outside the service."""
        self.book.move(json.loads(base64.b64decode(payment))["payload"]["authorization"], tx)

    def restart(self, limits: PaymentLimits = LIMITS, **changes: Any) -> None:
        """Start a new worker with fresh circuit breakers. `changes` replace settings."""
        self.gate.settings = replace(self.gate.settings, **changes)
        clock = self.clock
        self.gate.x402 = X402ResourceServer(self.gate.settings, self.ledger, True, clock, limits)

    def without_node(self) -> None:
        """Start a new worker without a node."""
        self.restart(rpc_url="")

    def clock(self) -> float:
        return time.time() + self.shift[0]

    def reconcile(self) -> SimpleNamespace:
        """Read the transfers as `emds reconcile` does and return the report."""
        from api.access.x402.chain import Chain

        reconciler = Reconciler(self.ledger, Chain(self.node.url), self.clock)
        return SimpleNamespace(**reconciler.read_transfers(PAY_TO))

    def close_the_books(self) -> None:
        """Check that each charge has a response or a credit, and that no payment was charged twice.

        This holds after every test. The number of unpaid responses is exactly `trusted`.
        """
        self.node.down = self.node.logs_hidden = False
        self.shift[0] += LIMITS.lease + 1  # The leases of all processes that claimed a payment have expired.
        ledger = self.ledger
        ledger.expire(int(self.clock()), LIMITS.lease, LIMITS.replay)
        self.reconcile()
        report = self.reconcile()
        charged = {t["nonce"]: t["at"] for t in self.book.transfers if t["to"] == PAY_TO.lower() and t["nonce"]}
        assert len(charged) == sum(t["to"] == PAY_TO.lower() and t["nonce"] != "" for t in self.book.transfers), "twice"
        assert len(self.answered - set(charged)) == report.unproven == self.trusted, "answered without money"
        assert (report.owed, report.waiting) == (0, 0)
        for nonce, at in charged.items():
            entry = ledger.find_authorization(offers.NETWORK, BUYER.lower(), nonce)
            assert entry is None or entry.state == "settled" or at < entry.created - 5, (
                "charged without an answer or a credit"
            )
        assert report.answer + report.credit == report.transfers


@contextmanager
def open_trade(folder: Path) -> Iterator[Trade]:
    """Yield a trade whose accounts database is in `folder`. Check the books and close the servers afterwards."""
    book = Book({BUYER.lower(): 100_000})
    a, b, node = Facilitator(book), Facilitator(book), BookNode(book)
    settings = Settings(
        database_url=f"sqlite:///{folder / 'accounts.sqlite'}",
        pay_to=PAY_TO,
        facilitators=(Listed(a.url), Listed(b.url)),
        rpc_url=node.url,
        base_url="https://emds.example",
        free_calls_per_minute=0,
    )
    shift = [0.0]
    gate = Gate(settings, "live", lambda: time.time() + shift[0])
    built = Trade(gate, shop(gate).test_client(), a, b, book, node, shift)
    built.restart()
    yield built
    built.close_the_books()
    for thread in threading.enumerate():
        if thread.name == "emds-reconcile":
            thread.join()
    for server in (a, b, node):
        server.close()
    gate.close()


def receipt(answer: TestResponse, version: int = 2) -> dict[str, Any]:
    """Return the receipt of the paid response `answer`."""
    document: dict[str, Any] = json.loads(base64.b64decode(answer.headers[RECEIPT[version]]))
    return document


def reason(answer: TestResponse) -> str:
    """Return the reason why a 402 or 400 response refused the payment. Both versions must give the same reason."""
    if answer.status_code == 402:
        assert json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))["error"] == answer.json["error"]
        assert answer.json["accepts"]
        return str(answer.json["error"])
    return str(answer.json["code"])


def at_once(calls: list[Callable[[], TestResponse]]) -> list[TestResponse]:
    """Run `calls` at the same time and return their responses."""
    answers: list[TestResponse] = []
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], TestResponse]) -> None:
        start.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
