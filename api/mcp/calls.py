"""What the MCP tools do: the same reads as the REST paths, through the same gate, at the same prices."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from api.access.values import Answer, Call, Refusal
from api.http import problems
from api.http.problems import Problem
from api.mcp import results, text
from api.mcp.answers import ToolAnswer, ToolQuery
from api.mcp.queries import QUERIES
from api.mcp.results import Outcome
from api.service import Service
from warehouse.errors import CallerError, StorageError


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as far as the gate wants to know."""

    client: str
    """The client's address."""
    authorization: str = ""
    payment: str = ""
    """An x402 payment as its header would carry it."""


def called(service: Service, tool: str, given: Mapping[str, Any], caller: Caller) -> Outcome:
    """What came of a call with checked arguments. Raises BadArguments."""
    try:
        return _passed(service, QUERIES[tool](service, given), tool, given, caller)
    except Problem as problem:
        return _failed(problem)
    except (CallerError, StorageError) as error:
        return _failed(problems.of_error(error))


def _failed(problem: Problem) -> Outcome:
    zones = problem.members.get("zones")
    more = f" Zones that publish it: {', '.join(zones)}." if zones else ""
    return Outcome((f"{problem.kind.title}: {problem.detail}{more}",))


def _passed(service: Service, query: ToolQuery, tool: str, given: Mapping[str, Any], caller: Caller) -> Outcome:
    """The life of a call at the gate (`api.access.values`)."""
    call = _shown(query, tool, given, caller)
    entry = service.gate.admit(call)
    if isinstance(entry, Refusal):
        return _refused(service, entry, call)
    if isinstance(entry, Answer):
        return results.given_again(entry)
    ended = False
    try:
        answer = query.work(entry.method == "sample")
        made = _said(service, query, answer, entry.method == "sample")
        ended = True
    finally:
        if not ended:
            entry.release()
    due = 0 if answer.stale_since is not None else answer.rows  # nobody pays for overdue figures
    settled = entry.settle(results.kept(made, due) if entry.method == "payment" else Answer(200, due))
    if isinstance(settled, Refusal):
        return _refused(service, settled, call)
    if entry.method == "sample" and query.price and service.gate.x402.open:
        made = results.with_offer(made, service.gate.x402.offer(call))
    return results.with_receipt(made, settled.headers)


def _shown(query: ToolQuery, tool: str, given: Mapping[str, Any], caller: Caller) -> Call:
    """What the gate sees of a call: without key and payment it is a sample, unless the caller wants none.

    The key of the connection goes before the argument: a model may repeat an old one.
    """
    key = "" if caller.authorization else given.get("api_key", "")
    if not query.price:
        return Call(query.path, "", caller.client)
    return Call(
        query.path,
        query.price,
        caller.client,
        sample=given.get("sample", True) and not (key or caller.authorization or caller.payment),
        authorization=caller.authorization,
        api_key=key,
        payment=caller.payment,
        fingerprint=_fingerprint(tool, given) if caller.payment else "",
    )


def _fingerprint(tool: str, given: Mapping[str, Any]) -> str:
    """What a payment is for: the tool and its arguments, whoever calls."""
    arguments = {name: value for name, value in given.items() if name != "api_key"}
    return hashlib.sha256(orjson.dumps(["mcp", tool, arguments], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _refused(service: Service, refusal: Refusal, call: Call) -> Outcome:
    """A refusal. What lacks calls can be bought; a wrong key gets no offer, since its owner must learn of it."""
    if refusal.kind == "invalid-key":
        sign_up = f'POST {service.settings.base_url}/v1/keys/signup with {{"email": "..."}}'
        way = f"Leave it out for a sample, or get a free one: {sign_up}."
        return Outcome((f"{refusal.title}: {results.in_words_of_tools(refusal.detail)} {way}",))
    buys = refusal.status == 429 and call.price and service.gate.x402.open
    return results.refused(refusal, service.gate.x402.offer(call) if buys else None)


def _said(service: Service, query: ToolQuery, answer: ToolAnswer, sampled: bool) -> Outcome:
    """The words of an answer; what must not be missed comes first in the text, and as `notes` in the structure."""
    marks = []
    if sampled and query.price:
        marks.append(text.sampled(service.settings.base_url, query.kept))
    if service.catalogue.simulated:
        marks.append(text.SIMULATED)
    if answer.stale_since is not None:
        marks.append(text.stale(answer.stale_since))
    notes = b',"notes":%b}' % orjson.dumps(marks) if marks else b"}"
    return Outcome(("\n".join([*marks, answer.text]),), answer.structured[:-1] + notes)


def encoded(payment: Any) -> str:
    """The payment of `_meta["x402/payment"]` as its HTTP header carries it; empty for none."""
    if payment is None:
        return ""
    try:
        plain = payment.encode() if isinstance(payment, str) else orjson.dumps(payment, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deep to be a payment: the gate says so
        plain = b"null"
    return base64.b64encode(plain).decode()
