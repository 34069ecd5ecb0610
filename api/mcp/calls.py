"""A tool call from its arguments through the gate to its outcome: answer, refusal, sample, receipt."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from api.access.values import NO_ANSWER, Answer, Call, Headers
from api.http.problems import Problem, of_error
from api.mcp import arguments, text
from api.service import Service
from warehouse.errors import CallerError, StorageError
from warehouse.market import clock
from warehouse.market.clock import LAST_INSTANT

if TYPE_CHECKING:
    from api.mcp.tools import Tool

_OFFER, _RECEIPT = "x402/payment-required", "x402/payment-response"
_RECEIPT_HEADERS = ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")


class ToolAnswer(NamedTuple):
    """A tool's answer: its text, its structured content, its rows, and until when it is not overdue."""

    text: str
    body: dict[str, Any]
    rows: int = 1
    valid_until: int = LAST_INSTANT


class ToolRequest(NamedTuple):
    """A checked call: what it costs, the REST path that gives the same, and the work."""

    price: str
    """A key of `api.access.prices.PRICES`; empty for what is free."""
    path: str
    answer: Callable[[bool], ToolAnswer]
    """Takes whether a sample is wanted."""


Prepare = Callable[[Service, Mapping[str, Any]], ToolRequest]
"""Turns checked arguments into a request; raises Problem, CallerError or StorageError."""


class Outcome(NamedTuple):
    """What came of a tool call, before any protocol version. An error has texts alone."""

    texts: Sequence[str]
    body: Mapping[str, Any] | None = None
    """The structured content; None for an error."""
    meta: Mapping[str, Any] | None = None
    headers: Headers = ()
    """The gate's count, for the HTTP answer."""
    misfit: bool = False
    """Whether arguments did not fit."""


def call(service: Service, tool: Tool, sent: Mapping[str, Any], payment: Any, caller: Call) -> Outcome:
    """Read a call's arguments, admit it, answer it, settle it (`api.access.values`)."""
    try:
        values = arguments.read(tool.arguments, sent)
        request = tool.prepare(service, values)
        call = _gate_call(request, tool.name, values, replace(caller, payment=_encoded(payment)))
        grant = service.gate.admit(call)
        if isinstance(grant, Problem):
            return _refused(service, grant, call)
        if isinstance(grant, Answer):  # what this payment bought before
            stored = orjson.loads(grant.body)
            return Outcome(stored["texts"], stored["structured"], _receipt(grant.headers))
        sample = grant.method == "sample"
        try:
            answer = request.answer(sample)
            stale = clock.now() > answer.valid_until
            notes = [text.sample_note(service.settings.base_url)] if sample and request.price else []
            notes += [text.SIMULATED] if service.documents.catalogue.simulated else []
            notes += [text.stale_note(answer.valid_until)] if stale else []
        except BaseException:
            grant.settle(NO_ANSWER)
            raise
    except (Problem, CallerError, StorageError) as error:
        return _failed(error if isinstance(error, Problem) else of_error(error))
    # What must not be missed comes first. Nobody pays for overdue figures.
    texts, body = ["\n".join([*notes, answer.text])], {**answer.body, **({"notes": notes} if notes else {})}
    bought = orjson.dumps({"texts": texts, "structured": body}) if grant.method == "payment" else b""
    settled = grant.settle(Answer(200, 0 if stale else answer.rows, bought))
    if isinstance(settled, Problem):
        return _refused(service, settled, call)
    meta = _receipt(settled)
    if sample and request.price and service.gate.x402.open and (offer := _offer(service.gate.x402.offer(call))):
        meta[_OFFER] = orjson.Fragment(offer)
    return Outcome(texts, body, meta, settled)


def _gate_call(request: ToolRequest, tool: str, arguments: Mapping[str, Any], caller: Call) -> Call:
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


def _failed(problem: Problem) -> Outcome:
    """Say what cannot be answered, and what can."""
    if problem.faults:
        faults = "; ".join(f"{fault.parameter}: {fault.detail}" for fault in problem.faults[:5])
        return Outcome((f"Invalid arguments: {faults}",), misfit=True)
    zones = problem.members.get("zones")
    more = f" Zones that publish it: {', '.join(zones)}." if zones else ""
    return Outcome((f"{problem.kind.title}: {problem.detail}{more}",))


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
    return Outcome((offer, words) if offer else (words,), None, _receipt(refusal.headers), refusal.headers)


def _offer(refusal: Problem) -> str:
    """The x402 offer of a refusal as JSON, empty for none."""
    header = dict(refusal.headers).get("PAYMENT-REQUIRED", "")
    return _in_words_of_tools(base64.b64decode(header).decode())


def _in_words_of_tools(words: str) -> str:
    """A sample comes without credentials here, not by a query parameter."""
    words = words.replace("`sample=true`", "sample=true").replace(
        "or add sample=true", "or call the tool without both for a sample"
    )
    return words.replace("sample=true needs no key", "a call without a key gives a sample")


def _receipt(headers: Headers) -> dict[str, Any]:
    """The receipt of a payment, out of the header of either x402 version."""
    header = next((value for name, value in headers if name in _RECEIPT_HEADERS), None)
    return {_RECEIPT: orjson.Fragment(base64.b64decode(header))} if header else {}


def _encoded(payment: Any) -> str:
    """The payment of `_meta["x402/payment"]` as its HTTP header carries it; empty for none."""
    if payment is None:
        return ""
    try:
        plain = payment.encode() if isinstance(payment, str) else orjson.dumps(payment, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deep to be a payment: the gate says so
        plain = b"null"
    return base64.b64encode(plain).decode()
