"""The life of a tool call at the gate, and its outcome in the words of tools: refusals, samples, receipts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from api.access.values import Answer, Call, Headers
from api.http.problems import Problem
from api.mcp import text
from api.service import Service

_OFFER, _RECEIPT = "x402/payment-required", "x402/payment-response"
_RECEIPT_HEADERS = ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")
_WORDS_OF_TOOLS = (
    ("or add sample=true", "or call the tool without both for a sample"),
    ("sample=true needs none", "a call without a key gives a sample"),
    ("sample=true needs no key", "A call without a key gives a sample"),
    ("sample=true works", "a call without a key gives a sample"),
)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer: its text, its structured content (a JSON object), its rows, and since when it is overdue."""

    text: str
    structured: bytes
    rows: int = 1
    stale_since: int | None = None


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A checked call: what it costs, the REST path that gives the same, and the work."""

    price: str
    """A key of `api.access.prices.PRICES`; empty for what is free."""
    path: str
    answer: Callable[[bool], ToolAnswer]
    """Takes whether a sample is wanted."""
    sample_holds: str = ""


Prepare = Callable[[Service, Mapping[str, Any]], ToolRequest]
"""Turns checked arguments into a request; raises Problem, CallerError or StorageError."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a tool call, before any protocol version. An error has texts alone."""

    texts: tuple[str, ...]
    structured: bytes = b""
    """A JSON object; empty for an error."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    headers: Headers = ()
    """The gate's count, for the HTTP answer."""


def answer(service: Service, request: ToolRequest, call: Call) -> Outcome:
    """Admit a call, answer it, settle it (`api.access.values`). Raises CallerError, StorageError."""
    grant = service.gate.admit(call)
    if isinstance(grant, Problem):
        return _refused(service, grant, call)
    if isinstance(grant, Answer):  # what this payment bought before
        stored = orjson.loads(grant.body)
        return Outcome(tuple(stored["texts"]), orjson.dumps(stored["structured"]), _receipt(grant.headers))
    sample, outcome = grant.method == "sample", None
    try:
        answer = request.answer(sample)
        outcome = _worded(service, request, answer, sample)
    finally:
        if outcome is None:
            grant.release()
    rows = 0 if answer.stale_since is not None else answer.rows  # nobody pays for overdue figures
    body = {"texts": outcome.texts, "structured": orjson.Fragment(outcome.structured)}
    settled = grant.settle(Answer(200, rows, orjson.dumps(body) if grant.method == "payment" else b""))
    if isinstance(settled, Problem):
        return _refused(service, settled, call)
    meta = _receipt(settled)
    if sample and request.price and service.gate.x402.open and (offer := _offer(service.gate.x402.offer(call))):
        meta[_OFFER] = orjson.Fragment(offer)
    return replace(outcome, meta=meta, headers=settled)


def gate_call(request: ToolRequest, tool: str, arguments: Mapping[str, Any], caller: Call) -> Call:
    """Build the gate's call: without key and payment it is a sample, unless the caller wants none.

    The key of the connection goes before the argument: a model may repeat an old one. A payment is for the tool and its
    arguments, whoever calls.
    """
    key = "" if caller.authorization else arguments.get("api_key", "")
    sample = arguments.get("sample", True) and not (key or caller.authorization or caller.payment)
    fingerprint = ""
    if caller.payment:
        bought = {name: value for name, value in arguments.items() if name != "api_key"}
        fingerprint = hashlib.sha256(orjson.dumps(["mcp", tool, bought], str, orjson.OPT_SORT_KEYS)).hexdigest()
    return replace(
        caller,
        path=request.path,
        price=request.price,
        sample=bool(request.price) and sample,
        api_key=key,
        fingerprint=fingerprint,
    )


def _worded(service: Service, request: ToolRequest, answer: ToolAnswer, sample: bool) -> Outcome:
    """Put what must not be missed first in the text, and as `notes` into the structure."""
    notes = []
    if sample and request.price:
        notes.append(text.sample_note(service.settings.base_url, request.sample_holds))
    if service.catalogue.simulated:
        notes.append(text.SIMULATED)
    if answer.stale_since is not None:
        notes.append(text.stale_note(answer.stale_since))
    member = b',"notes":%b}' % orjson.dumps(notes) if notes else b"}"
    return Outcome(("\n".join([*notes, answer.text]),), answer.structured[:-1] + member)


def _refused(service: Service, refusal: Problem, call: Call) -> Outcome:
    """Word a refusal. A call too many can be bought; a wrong key gets no offer, since its owner must learn of it.

    The offer comes before the words, since x402 clients read `content[0].text`.
    """
    words = f"{refusal.kind.title}: {_in_words_of_tools(refusal.detail)}"
    if refusal.kind.name == "invalid-key":
        sign_up = f'POST {service.settings.base_url}/v1/keys/signup with {{"email": "..."}}'
        return Outcome((f"{words} Leave it out for a sample, or get a free one: {sign_up}.",))
    buys = refusal.kind.status == 429 and call.price and service.gate.x402.open
    offer = _offer(service.gate.x402.offer(call) if buys else refusal)
    return Outcome((offer, words) if offer else (words,), b"", _receipt(refusal.headers), refusal.headers)


def _offer(refusal: Problem) -> str:
    """The x402 offer of a refusal as JSON, empty for none."""
    header = dict(refusal.headers).get("PAYMENT-REQUIRED", "")
    return _in_words_of_tools(base64.b64decode(header).decode())


def _in_words_of_tools(words: str) -> str:
    """A sample comes without credentials here, not by a query parameter."""
    for rest, tools in _WORDS_OF_TOOLS:
        words = words.replace(rest, tools)
    return words


def _receipt(headers: Headers) -> dict[str, Any]:
    """The receipt of a payment, out of the header of either x402 version."""
    header = next((value for name, value in headers if name in _RECEIPT_HEADERS), None)
    return {_RECEIPT: orjson.Fragment(base64.b64decode(header))} if header else {}


def encoded_payment(payment: Any) -> str:
    """The payment of `_meta["x402/payment"]` as its HTTP header carries it; empty for none."""
    if payment is None:
        return ""
    try:
        plain = payment.encode() if isinstance(payment, str) else orjson.dumps(payment, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deep to be a payment: the gate says so
        plain = b"null"
    return base64.b64encode(plain).decode()
