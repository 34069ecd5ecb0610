"""What the chain itself says of an authorization, by JSON-RPC to the owner's node: the last word on a doubtful payment.

EIP-3009: `authorizationState(address,bytes32)` tells whether it is spent; the event beside it tells by what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.access.accounts.ledger import PaymentTerms
from api.access.x402.json_post import NoReply, NotReached, post
from api.access.x402.requirements import USDC

_STATE = "0xe94a0102"
_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
_CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_MOST_BLOCKS = 9000
"""Five hours of Base, and what public nodes still search at once."""
_SLACK_BLOCKS = 150


class ChainUnavailable(Exception):
    """The node did not answer, or not with what was asked."""


@dataclass(frozen=True, slots=True)
class Paid:
    """The transfer to us is in a block; `tx` is empty where it lies too far back to be found."""

    tx: str


@dataclass(frozen=True, slots=True)
class Unspent:
    """Not used in the newest block, whose time is `at`."""

    at: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The payer used it up without paying us."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A node that answers for Base."""

    url: str
    timeout_s: float = 3.0

    def look(self, terms: PaymentTerms, since: int) -> Paid | Unspent | Cancelled:
        """What became of an authorization that was first seen at `since`. Raises ChainUnavailable."""
        block = self._call("eth_getBlockByNumber", ["latest", False])
        number, at = _number(_field(block, "number")), _number(_field(block, "timestamp"))
        spent = self._call(
            "eth_call", [{"to": USDC, "data": _STATE + _word(terms.payer) + terms.nonce[2:]}, hex(number)]
        )
        if not _number(spent):
            return Unspent(at)
        back = min(max(0, at - since) // 2 + _SLACK_BLOCKS, _MOST_BLOCKS)  # a block every two seconds
        topics = [[_USED, _CANCELED], "0x" + _word(terms.payer), terms.nonce]
        span = {"fromBlock": hex(max(0, number - back)), "toBlock": hex(number)}
        logs = self._call("eth_getLogs", [{"address": USDC, "topics": topics, **span}])
        if not isinstance(logs, list) or not logs:
            return Paid("")
        tx = str(_field(logs[0], "transactionHash"))
        return Paid(tx) if self._paid_us(tx, terms) else Cancelled()

    def reverted(self, tx: str) -> bool:
        """Whether a transaction is in a block and did nothing. Raises ChainUnavailable, also where it is in none."""
        return _number(_field(self._call("eth_getTransactionReceipt", [tx]), "status")) == 0

    def _paid_us(self, tx: str, terms: PaymentTerms) -> bool:
        receipt = self._call("eth_getTransactionReceipt", [tx])
        wanted = [_TRANSFER, "0x" + _word(terms.payer), "0x" + _word(terms.pay_to)]
        return any(
            str(_field(log, "address")).lower() == USDC.lower()
            and _field(log, "topics") == wanted
            and _number(_field(log, "data")) == terms.amount
            for log in _field(receipt, "logs")
        )

    def _call(self, method: str, params: list[Any]) -> Any:
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            reply = post(self.url, question, {}, self.timeout_s, self.timeout_s)
        except (NotReached, NoReply) as fault:
            raise ChainUnavailable(type(fault).__name__) from None
        if reply.document is None or reply.document.get("result") is None:
            raise ChainUnavailable(f"{method}: status {reply.status}")
        return reply.document["result"]


def _field(document: Any, name: str) -> Any:
    if not isinstance(document, dict) or name not in document:
        raise ChainUnavailable(f"no {name} in the answer")
    return document[name]


def _number(text: Any) -> int:
    try:
        return int(text, 16)
    except (TypeError, ValueError):
        raise ChainUnavailable("not a number") from None


def _word(address: str) -> str:
    return address[2:].lower().rjust(64, "0")
