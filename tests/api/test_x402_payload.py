"""Payments that fit no offer, or are none: 402 or 400 with a reason, and nothing is charged."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

from tests.stand_ins import buyer
from tests.stand_ins.chain import BUYER
from tests.stand_ins.trade import PRICE, Trade, reason


def _v2(**other: Any) -> Callable[[Trade], str]:
    return lambda trade: trade.payment(2, **other)


def _v1(**other: Any) -> Callable[[Trade], str]:
    return lambda trade: trade.payment(1, **other)


def _signed_for(**other: Any) -> Callable[[Trade], str]:
    """A payload that fits the offer, signed for another EIP-712 domain."""

    def build(trade: Trade) -> str:
        offer = trade.offer()
        signed = buyer.authorization(offer)
        return buyer.header(buyer.pay_v2(offer, signed, buyer.sign(signed, **other)))

    return build


def _accepting(**other: Any) -> Callable[[Trade], str]:
    """The payload names another offer than ours, and is signed for it."""

    def build(trade: Trade) -> str:
        offer = trade.offer() | other
        return buyer.header(buyer.pay_v2(offer, buyer.authorization(offer)))

    return build


def _edited(change: Callable[[dict[str, Any]], Any], version: int = 2) -> Callable[[Trade], str]:
    def build(trade: Trade) -> str:
        document = json.loads(base64.b64decode(trade.payment(version)))
        return buyer.header(change(document))

    return build


def _forged(document: dict[str, Any]) -> dict[str, Any]:
    document["payload"]["signature"] = "0x" + "00" * 65
    return document


def _moved(document: dict[str, Any]) -> dict[str, Any]:
    document["payload"]["authorization"]["nonce"] = "0x" + "77" * 32
    return document


def _without_money(trade: Trade) -> str:
    trade.book.balances[BUYER.lower()] = 10
    return trade.payment()


_AUTHORIZATION = "invalid_exact_evm_payload_authorization_"
_MISMATCHES: list[Any] = [
    ("pays too little", _v2(value="999"), _AUTHORIZATION + "value_mismatch"),
    ("v1 pays too little", _v1(value="1"), _AUTHORIZATION + "value_mismatch"),
    ("pays another", _v2(to="0x" + "22" * 20), "invalid_exact_evm_payload_recipient_mismatch"),
    ("accepts less", _accepting(amount="1"), "no_matching_payment_requirements"),
    ("accepts another network", _accepting(network="eip155:84532"), "invalid_network"),
    ("another scheme", _accepting(scheme="upto"), "unsupported_scheme"),
    ("v1 with v2's network", _edited(lambda d: d | {"network": "eip155:8453"}, 1), "invalid_network"),
    ("expired", _v2(validBefore="1000"), _AUTHORIZATION + "valid_before"),
    ("expires at once", _v2(validBefore=str(int(time.time()) + 3)), _AUTHORIZATION + "valid_before"),
    ("not yet valid", _v2(validAfter="99999999999", validBefore="999999999999"), _AUTHORIZATION + "valid_after"),
    ("signed on another chain", _signed_for(chainId=84532), "invalid_exact_evm_payload_signature"),
    (
        "signed for another token",
        _signed_for(verifyingContract="0x" + "33" * 20),
        "invalid_exact_evm_payload_signature",
    ),
    ("a forged signature", _edited(_forged), "invalid_exact_evm_payload_signature"),
    ("another nonce than signed", _edited(_moved), "invalid_exact_evm_payload_signature"),
    ("no money", _without_money, "invalid_exact_evm_insufficient_balance"),
]


def test_what_fits_no_offer_is_402_with_its_reason(trade: Trade) -> None:
    for number, (name, build, code) in enumerate(_MISMATCHES):
        answer = trade.get(build(trade))
        assert (answer.status_code, reason(answer)) == (402, code), name
        assert trade.paid == number * PRICE, name
        assert trade.get(trade.payment()).status_code == (200 if build is not _without_money else 402), name
    assert trade.a.calls["settle"] == len(_MISMATCHES) - 1


_MALFORMED: list[Any] = [
    ("not base64", lambda _: "!!!", "invalid_payload"),
    ("not ASCII", lambda _: "Ã¼", "invalid_payload"),
    ("not JSON", lambda _: base64.b64encode(b"{x").decode(), "invalid_payload"),
    ("nothing in it", lambda _: buyer.header({}), "invalid_x402_version"),
    ("version 3", _edited(lambda d: d | {"x402Version": 3}), "invalid_x402_version"),
    ("no accepted", _edited(lambda d: {k: v for k, v in d.items() if k != "accepted"}), "invalid_payload"),
    ("no authorization", _edited(lambda d: d | {"payload": {"signature": "0x00"}}), "invalid_payload"),
    ("v1 without scheme", _edited(lambda d: {k: v for k, v in d.items() if k != "scheme"}, 1), "invalid_payload"),
    ("a short nonce", _edited(lambda d: _set(d, "nonce", "0x77")), "invalid_payload"),
    ("a negative value", _edited(lambda d: _set(d, "value", "-1000")), "invalid_payload"),
    ("a value of another script", _edited(lambda d: _set(d, "value", "١٠٠٠")), "invalid_payload"),
    ("an address with a line break", _edited(lambda d: _set(d, "from", BUYER + "\n")), "invalid_payload"),
    ("nested deep and closed", _edited(lambda d: d | {"extensions": _deep(300)}), "invalid_payload"),
    ("20 kB", _edited(lambda d: d | {"extensions": {"echo": "x" * 15_000}}), "invalid_payload"),
]


def _set(document: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    document["payload"]["authorization"][name] = value
    return document


def _deep(levels: int) -> Any:
    nested: Any = {}
    for _ in range(levels):
        nested = {"in": nested}
    return nested


def test_what_is_no_payment_is_400(trade: Trade) -> None:
    for name, build, code in _MALFORMED:
        answer = trade.get(build(trade))
        assert (answer.status_code, reason(answer)) == (400, code), name
        assert answer.content_type == "application/problem+json"
        assert answer.json["charged"] is False, name
    assert trade.a.calls["verify"] == 0


def test_a_header_of_nine_kilobytes_is_read(trade: Trade) -> None:
    """Clients echo the offer's extensions back."""
    payment = _edited(lambda d: d | {"extensions": {"echo": "x" * 6_000}})(trade)
    assert 8_190 < len(payment) < 16_000
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_a_payment_as_pythons_first_client_writes_it_is_taken(trade: Trade) -> None:
    """Version 1 with a validAfter in the past; its numbers are text."""
    now = int(time.time())
    payment = trade.payment(1, validAfter=str(now - 60), validBefore=str(now + 60))
    assert trade.get(payment, version=1).status_code == 200
    assert trade.paid == PRICE
