"""Read the state of authorizations and transfers to the operator by JSON-RPC from the operator's Base node.

By EIP-3009, `authorizationState(address,bytes32)` shows whether an authorization is used. The event AuthorizationUsed
names the transaction, and the log right after it is the authorization's Transfer. A batch may contain many of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from api.access.x402.json_post import post
from api.access.x402.ledger import NONCE_USED, PaymentTerms, Transfer
from api.access.x402.offers import USDC

_STATE = "0xe94a0102"
_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
_CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
REVERTED = "transaction_failed"
SPAN_BLOCKS = 9000
"""The number of blocks (five hours of Base) that public nodes still search in one request."""
_BLOCK_S = 2
_SLACK_BLOCKS = 150
_MOST_SPANS = 12
"""The number of such ranges, two and a half days of Base. An older authorization stays undecided."""


class ChainUnavailable(Exception):
    """The node did not respond, or its response is invalid."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Transaction `tx` has paid; the other fields are known if the chain confirmed it."""

    tx: str
    log_index: int | None = None
    """The index of the authorization's own Transfer to the receiver."""
    block_time: int | None = None
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The payment is refused; on the chain, `code` is NONCE_USED (cancelled, or used elsewhere) or REVERTED."""

    code: str


@dataclass(frozen=True, slots=True)
class Unspent:
    """The authorization is unused in the newest block, whose time is `block_time` (Unix seconds)."""

    block_time: int


@dataclass(frozen=True, slots=True)
class Undecided:
    """The authorization is used, but in no block that was searched."""


AuthorizationState = Settled | Unspent | Refused | Undecided


@dataclass(frozen=True, slots=True)
class Chain:
    """A node of Base. Every method raises ChainUnavailable."""

    url: str
    timeout_s: float = 3.0

    def authorization_state(self, terms: PaymentTerms, since: int, tx: str = "") -> AuthorizationState:
        """Return the state of an authorization that this service first saw at `since` (Unix seconds).

        `tx` is the transaction that was to use it, if known.
        """
        number, block_time = self.newest()
        data = _STATE + _word(terms.payer) + terms.nonce[2:]
        if not _number(self._call("eth_call", [{"to": USDC, "data": data}, hex(number)])):
            return Refused(REVERTED) if tx and self._reverted(tx) else Unspent(block_time)
        topics = [[_USED, _CANCELED], "0x" + _word(terms.payer), terms.nonce]
        first = max(0, number - max(0, block_time - since) // _BLOCK_S - _SLACK_BLOCKS)
        for start, end in _spans(first, number):
            logs = [log for log in self._logs(topics, start, end) if not log.get("removed")]
            if logs:
                return self._own_transfer(logs[0], terms)
        return Undecided()

    def newest(self) -> tuple[int, int]:
        """Return the number and time (Unix seconds) of the newest block."""
        block = self._call("eth_getBlockByNumber", ["latest", False])
        return _number(_field(block, "number")), _number(_field(block, "timestamp"))

    def block_time(self, number: int) -> int:
        """Return the time of a block (Unix seconds)."""
        return _number(_field(self._call("eth_getBlockByNumber", [hex(number), False]), "timestamp"))

    def transfers(self, pay_to: str, first: int, last: int) -> Iterator[Transfer]:
        """Yield every transfer of USDC to an address in the blocks `first` to `last`, both inclusive."""
        for start, end in _spans(first, last, most=1 << 30):
            for log in self._logs([_TRANSFER, None, "0x" + _word(pay_to)], start, end):
                yield Transfer(
                    str(_field(log, "transactionHash")).lower(),
                    _number(_field(log, "logIndex")),
                    _address(_field(log, "topics")[1]),
                    _number(_field(log, "data")),
                    _number(_field(log, "blockNumber")),
                )

    def authorization(self, tx: str, log_index: int) -> tuple[str, str] | None:
        """Return payer and nonce of the authorization behind a Transfer; None for another type of transfer."""
        log = self._log_at(tx, log_index - 1)
        if log is None or not _is_usdc(log) or _field(log, "topics")[0] != _USED:
            return None
        _, payer, nonce = _field(log, "topics")
        return _address(payer), str(nonce).lower()

    def _reverted(self, tx: str) -> bool:
        """Return whether a transaction is in a block and was reverted."""
        with suppress(ChainUnavailable):  # not yet in a block
            return _number(_field(self._call("eth_getTransactionReceipt", [tx]), "status")) == 0
        return False

    def _own_transfer(self, log: dict[str, Any], terms: PaymentTerms) -> Settled | Refused:
        """Return the transfer if the log after AuthorizationUsed is the Transfer of these terms."""
        if _field(log, "topics")[0] != _USED:
            return Refused(NONCE_USED)
        tx, index = str(_field(log, "transactionHash")).lower(), _number(_field(log, "logIndex")) + 1
        moved = self._log_at(tx, index)
        wanted = [_TRANSFER, "0x" + _word(terms.payer), "0x" + _word(terms.pay_to)]
        if moved is None or not _is_usdc(moved) or [str(t).lower() for t in _field(moved, "topics")] != wanted:
            return Refused(NONCE_USED)
        if _number(_field(moved, "data")) != terms.amount:
            return Refused(NONCE_USED)
        return Settled(tx, index, self.block_time(_number(_field(log, "blockNumber"))))

    def _log_at(self, tx: str, index: int) -> dict[str, Any] | None:
        """Return the log of a transaction by its index, which counts through the whole block."""
        logs = _field(self._call("eth_getTransactionReceipt", [tx]), "logs")
        return next((log for log in logs if _number(_field(log, "logIndex")) == index), None)

    def _logs(self, topics: list[Any], start: int, end: int) -> list[dict[str, Any]]:
        span = {"fromBlock": hex(start), "toBlock": hex(end)}
        logs = self._call("eth_getLogs", [{"address": USDC, "topics": topics, **span}])
        if not isinstance(logs, list):
            raise ChainUnavailable("eth_getLogs: no list")
        return logs

    def _call(self, method: str, params: list[Any]) -> Any:
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = post(self.url, question, {}, self.timeout_s, self.timeout_s)
        if reply is None or reply.document is None or reply.document.get("result") is None:
            raise ChainUnavailable(f"{method}: {f'status {reply.status}' if reply else 'no connection'}")
        return reply.document["result"]


def _spans(first: int, last: int, most: int = _MOST_SPANS) -> Iterator[tuple[int, int]]:
    """Yield ranges of blocks that a node can search in one request, newest first."""
    for _ in range(most):
        if last < first:
            return
        yield max(first, last - SPAN_BLOCKS + 1), last
        last -= SPAN_BLOCKS


def _is_usdc(log: dict[str, Any]) -> bool:
    return str(_field(log, "address")).lower() == USDC.lower()


def _field(document: Any, name: str) -> Any:
    if not isinstance(document, dict) or name not in document:
        raise ChainUnavailable(f"no {name} in the response")
    return document[name]


def _number(text: Any) -> int:
    try:
        return int(text, 16)
    except (TypeError, ValueError):
        raise ChainUnavailable("not a number") from None


def _word(address: str) -> str:
    return address[2:].lower().rjust(64, "0")


def _address(word: Any) -> str:
    return "0x" + str(word)[-40:].lower()
