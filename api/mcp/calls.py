"""Perform a tool call, from its arguments through the gate to its outcome.

An outcome is a result, a refusal or a sample, and may have a receipt. An error of a tool is also a result, with a text
that names the next step. It has no structured content, because clients would check it against the output schema and
show their own error.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from api.access.values import NO_ANSWER, Call, Headers, WholeAnswer
from api.access.x402 import offers
from api.http.parameters import Parameter
from api.http.problems import KINDS, Problem, of_error
from api.mcp import arguments, text
from api.mcp.protocol import BEFORE_2025_11, INVALID_PARAMS, RpcError
from api.service import Service
from warehouse.errors import CallerError, StorageError
from warehouse.market import clock
from warehouse.market.clock import LAST_INSTANT, iso


class ToolAnswer(NamedTuple):
    """A tool's response: its text, its structured content, its rows, and when it becomes overdue."""

    text: str
    body: dict[str, Any]
    rows: int = 1
    valid_until: int = LAST_INSTANT


class ToolRequest(NamedTuple):
    """A validated call: its price, the equivalent REST path, and the work."""

    price: str
    """A key of `api.access.prices.PRICES`, empty if the call is free."""
    path: str
    answer: Callable[[bool], ToolAnswer]
    """The function that returns the response. Its argument is whether to return a sample."""


Prepare = Callable[[Service, Mapping[str, Any]], ToolRequest]
"""A function that turns validated arguments into a request. It raises Problem, CallerError or StorageError."""


class Tool(NamedTuple):
    """A tool: its entry in tools/list, its arguments, and the function that prepares a call. Tools are read-only."""

    listed: dict[str, Any]
    arguments: tuple[Parameter, ...]
    prepare: Prepare


class Outcome(NamedTuple):
    """The outcome of a tool call, before the form of a protocol version. An error has only texts."""

    texts: Sequence[str]
    structured: bytes = b""
    """A JSON object, empty for an error."""
    meta: Mapping[str, Any] | None = None
    headers: Headers = ()
    """The gate's quota headers, for the HTTP response."""


def call_tool(service: Service, tool: Tool, params: Mapping[str, Any], version: str, caller: Call) -> Outcome:
    """Read a call's arguments, admit it, perform it and charge it (`api.access.values`). Raises RpcError."""
    sent, meta = params.get("arguments"), params.get("_meta")
    sent = {} if sent is None else sent
    if not isinstance(sent, dict):
        raise RpcError(INVALID_PARAMS, "params.arguments must be an object")
    payment = meta.get("x402/payment") if isinstance(meta, dict) else None
    early = _early_call(caller, sent.get("api_key"), payment)
    if too_many := service.gate.check_early(early):
        return _refused(service, too_many, caller)
    grant = None
    try:
        values = arguments.read_arguments(tool.arguments, sent)
        request = tool.prepare(service, values)
        call = replace(caller, path=request.path, price=request.price)
        if not caller.authorization:  # the connection's key takes precedence, because a model may repeat an old key
            call = replace(call, api_key=values["api_key"])
        if payment not in (None, ""):
            call = replace(call, payment=_encoded(payment), fingerprint=_fingerprint(tool, values))
        elif request.price and not (call.authorization or call.api_key or call.other_header):
            call = replace(call, sample=values["sample"])
        grant = service.gate.admit(call)
        if isinstance(grant, Problem):
            return _refused(service, grant, call)
        if isinstance(grant, WholeAnswer):  # the response that this payment bought earlier
            stored = orjson.loads(grant.body)
            return Outcome(stored["texts"], orjson.dumps(stored["structured"]), _receipt(grant.headers))
        sample = grant.method == "sample"
        try:
            answer = request.answer(sample)
            stale = clock.now() > answer.valid_until
            notes = [text.sample_note(service.settings.base_url)] if sample and request.price else []
            notes += [text.SIMULATED] if service.documents.catalogue.simulated else []
            since = iso(answer.valid_until)
            notes += [f"STALE: newer data was due at {since}. Call get_status for details."] if stale else []
            # Notes come first, so that readers do not miss them.
            texts = ["\n".join([*notes, answer.text])]
            structured = orjson.dumps({**answer.body, **({"notes": notes} if notes else {})})
        except BaseException:
            grant.settle(NO_ANSWER)
            raise
    except (Problem, CallerError, StorageError) as error:
        problem = error if isinstance(error, Problem) else of_error(error)
        is_refusal = grant is None and problem.kind.status < 500
        if is_refusal and (too_many := service.gate.count_refusal(early)):
            return _refused(service, too_many, caller)
        return _failed(problem, version)
    bought = {"texts": texts, "structured": orjson.Fragment(structured)} if grant.method == "payment" else None
    rows = 0 if stale else answer.rows  # overdue values are not charged
    settled = grant.settle(WholeAnswer(200, rows, orjson.dumps(bought) if bought else b""))
    if isinstance(settled, Problem):
        return _refused(service, settled, call)
    receipt = _receipt(settled)
    if sample and request.price and service.gate.x402.open and (offer := _offer(service.gate.x402.offer(call))):
        receipt["x402/payment-required"] = orjson.Fragment(offer)
    return Outcome(texts, structured, receipt, settled)


def _early_call(caller: Call, api_key: Any, payment: Any) -> Call:
    """Return a call before its arguments are read. It has a paid path if it has credentials, otherwise a free path."""
    key = api_key.strip() if isinstance(api_key, str) and not caller.authorization else ""
    paid = bool(caller.authorization or caller.other_header or key or payment)
    return replace(caller, api_key=key, payment="mcp" if payment else "", price="mcp" if paid else "")


def _failed(problem: Problem, version: str) -> Outcome:
    """Return an outcome that states the fault and the alternatives. Raises RpcError in versions that require it."""
    if problem.faults:
        faults = "; ".join(f"{fault.parameter}: {fault.detail}" for fault in problem.faults[:5])
        if version in BEFORE_2025_11:
            raise RpcError(INVALID_PARAMS, f"Invalid arguments: {faults}")
        return Outcome([f"Invalid arguments: {faults}"])
    zones = problem.members.get("zones")
    more = f" Zones that have this metric: {', '.join(zones)}." if zones else ""
    return Outcome([f"{problem.kind.title}: {problem.detail}{more}"])


def _refused(service: Service, refusal: Problem, call: Call) -> Outcome:
    """Return the outcome of a refusal.

    A call over the quota can be paid for. An invalid key gets no offer, because its owner must learn of it. The offer
    precedes the text, because x402 clients read `content[0].text`.
    """
    name, words = refusal.kind.name, f"{refusal.kind.title}: {_DETAILS.get(refusal.detail, refusal.detail)}"
    if name == "invalid-key":
        sign_up = f'POST {service.settings.base_url}/v1/keys/signup with {{"email": "..."}}'
        words = f"{refusal.kind.title}: {refusal.reason}"
        return Outcome([f"{words} Omit the key to get a sample, or get a free key: {sign_up}."])
    buys = refusal.kind.status == 429 and call.price and service.gate.x402.open
    offer = _offer(service.gate.x402.offer(call) if buys else refusal)
    return Outcome([offer, words] if offer else [words], b"", _receipt(refusal.headers), refusal.headers)


def _offer(refusal: Problem) -> str:
    """Return the x402 offer of a refusal as JSON, empty if it has none."""
    offer = _decoded(refusal.headers, "PAYMENT-REQUIRED")
    if not offer:
        return ""
    document = orjson.loads(offer)
    return orjson.dumps({**document, "error": _DETAILS.get(document["error"], document["error"])}).decode()


_GET_A_KEY = "send a free API key (get one with POST /v1/keys/signup), or call without both to get a sample"
_DETAILS = {
    offers.UNPAID: f"payment_required: pay with x402, {_GET_A_KEY}",
    offers.CLOSED: f"this service does not accept payments: {_GET_A_KEY}",
    KINDS["accounts-unavailable"].meaning: "Keys and payments cannot be checked right now. This request was not "
    "charged. Try again later, or call without a key to get a sample.",
}
"""Texts of tools that replace details of REST. A call without a key returns a sample, without a parameter."""


def _receipt(headers: Headers) -> dict[str, Any]:
    """Return the receipt of a payment from the header of either x402 version."""
    receipt = _decoded(headers, "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")
    return {"x402/payment-response": orjson.Fragment(receipt)} if receipt else {}


def _decoded(headers: Headers, *names: str) -> bytes:
    return base64.b64decode(next((value for name, value in headers if name in names), ""))


def _encoded(payment: Any) -> str:
    """Return the payment in `_meta["x402/payment"]` as the value of its HTTP header."""
    try:
        plain = payment.encode() if isinstance(payment, str) else orjson.dumps(payment, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # too deeply nested; the gate rejects it
        plain = b"null"
    return base64.b64encode(plain).decode()


def _fingerprint(tool: Tool, values: Mapping[str, Any]) -> str:
    """Return a hash of what a payment buys: a tool's response to its arguments, for any client."""
    bought = {name: value for name, value in values.items() if name != "api_key"}
    return hashlib.sha256(orjson.dumps(["mcp", tool.listed["name"], bought], str, orjson.OPT_SORT_KEYS)).hexdigest()
