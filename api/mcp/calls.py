"""What the MCP tools do: the same reads as the REST paths, through the same gate, at the same prices."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from api.access.values import Answer, Call, Refusal
from api.documents import published
from api.documents.cache import Document
from api.documents.catalogue import SERIES, stored_metric, zone_list
from api.documents.status import status
from api.http import problems
from api.http.problems import Problem
from api.mcp import results, text
from api.mcp.arguments import BadArguments
from api.mcp.results import Outcome
from api.mcp.tools import COLUMNAR_ABOVE
from api.series import formats
from api.series import query as reads
from api.series.query import Page, Query
from api.series.rows import json_rows
from api.service import Service
from warehouse import clock, layout
from warehouse.errors import BadWindow, CallerError, StorageError
from warehouse.market import Metric


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as far as the gate wants to know."""

    client: str
    """The client's address."""
    authorization: str = ""
    payment: str = ""
    """An x402 payment as its header would carry it."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer: its text, its structured content, its rows, and since when it is overdue."""

    said: str
    structured: bytes
    rows: int = 1
    stale_since: int | None = None


@dataclass(frozen=True, slots=True)
class ToolQuery:
    """A call that can be answered: what it costs, and the work."""

    price: str
    """A key of `api.access.prices.PRICES`; empty for what is free."""
    path: str
    """The REST path that gives the same."""
    work: Callable[[bool], ToolAnswer]
    """Takes whether a sample is wanted."""
    kept: str = ""
    """What a sample holds."""


def called(service: Service, tool: str, given: Mapping[str, Any], caller: Caller) -> Outcome:
    """What came of a call with checked arguments. Raises BadArguments."""
    try:
        return _passed(service, _QUESTIONS[tool](service, given), tool, given, caller)
    except Problem as problem:
        return _failed(problem)
    except (CallerError, StorageError) as error:
        return _failed(problems.of_error(error))


def _failed(problem: Problem) -> Outcome:
    zones = problem.members.get("zones")
    more = f" Zones that publish it: {', '.join(zones)}." if zones else ""
    return Outcome((f"{problem.kind.title}: {problem.detail}{more}",))


def _passed(service: Service, question: ToolQuery, tool: str, given: Mapping[str, Any], caller: Caller) -> Outcome:
    """The life of a call at the gate (`api.access.values`)."""
    call = _shown(question, tool, given, caller)
    entry = service.gate.admit(call)
    if isinstance(entry, Refusal):
        return _refused(service, entry, call)
    if isinstance(entry, Answer):
        return results.given_again(entry)
    ended = False
    try:
        answer = question.work(entry.method == "sample")
        made = _said(service, question, answer, entry.method == "sample")
        ended = True
    finally:
        if not ended:
            entry.release()
    due = 0 if answer.stale_since is not None else answer.rows  # nobody pays for overdue figures
    settled = entry.settle(results.kept(made, due) if entry.method == "payment" else Answer(200, due))
    if isinstance(settled, Refusal):
        return _refused(service, settled, call)
    if entry.method == "sample" and question.price and service.gate.x402.open:
        made = results.with_offer(made, service.gate.x402.offer(call))
    return results.with_receipt(made, settled.headers)


def _shown(question: ToolQuery, tool: str, given: Mapping[str, Any], caller: Caller) -> Call:
    """What the gate sees of a call: without key and payment it is a sample, and a free tool needs neither."""
    key = given.get("api_key", "")
    if not question.price:
        return Call(question.path, "", caller.client)
    arguments = {name: value for name, value in given.items() if name != "api_key"}
    return Call(
        question.path,
        question.price,
        caller.client,
        sample=not (key or caller.authorization or caller.payment),
        authorization=caller.authorization,
        api_key=key,
        payment=caller.payment,
        fingerprint=hashlib.sha256(orjson.dumps(["mcp", tool, arguments], option=orjson.OPT_SORT_KEYS)).hexdigest(),
    )


def _refused(service: Service, refusal: Refusal, call: Call) -> Outcome:
    """A refusal. What lacks calls can be bought; a wrong key gets no offer, since its owner must learn of it."""
    if refusal.kind == "invalid-key":
        sign_up = f'POST {service.settings.base_url}/v1/keys/signup with {{"email": "..."}}'
        way = f"Leave it out for a sample, or get a free one: {sign_up}."
        return Outcome((f"Invalid API key: this key is unknown or revoked. {way}",))
    buys = refusal.status == 429 and call.price and service.gate.x402.open
    return results.refused(refusal, service.gate.x402.offer(call) if buys else None)


def _said(service: Service, question: ToolQuery, answer: ToolAnswer, sampled: bool) -> Outcome:
    """The words of an answer: what must not be missed comes first."""
    marks = []
    if sampled and question.price:
        marks.append(text.sampled(service.settings.base_url, question.kept))
    if service.catalogue.simulated:
        marks.append(text.SIMULATED)
    if answer.stale_since is not None:
        marks.append(text.stale(answer.stale_since))
    return Outcome(("\n".join([*marks, answer.said]),), answer.structured)


def encoded(payment: Any) -> str:
    """The payment of `_meta["x402/payment"]` as its HTTP header carries it; empty for none."""
    if payment is None:
        return ""
    try:
        plain = payment.encode() if isinstance(payment, str) else orjson.dumps(payment, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deep to be a payment: the gate says so
        plain = b"null"
    return base64.b64encode(plain).decode()


# The tools


def _list_zones(service: Service, _given: Mapping[str, Any]) -> ToolQuery:
    stated = zone_list(service.catalogue)
    return ToolQuery("", "/v1/zones", lambda _sampled: ToolAnswer(text.zones(stated), orjson.dumps(stated)))


def _get_status(service: Service, _given: Mapping[str, Any]) -> ToolQuery:
    def work(_sampled: bool) -> ToolAnswer:
        stated = status(service.documents, service.catalogue, clock.now())
        return ToolAnswer(text.status(stated), orjson.dumps(stated))

    return ToolQuery("", "/v1/status", work)


def _get_latest(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    zone = given["zone"]
    document = published.document(service.documents, layout.latest(zone))
    work = partial(_published, document, "sample", published.sample_latest, text.latest)
    return ToolQuery("latest", f"/v1/latest/{zone}", work, "the price")


def _get_zone_brief(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    zone = given["zone"]
    document = published.document(service.documents, layout.brief(zone))
    work = partial(_published, document, "sample", published.sample_brief, text.brief)
    return ToolQuery("brief", f"/v1/brief/{zone}", work, "context and trend of one metric")


def _get_map_snapshot(service: Service, _given: Mapping[str, Any]) -> ToolQuery:
    document = published.document(service.documents, layout.SNAPSHOT)
    work = partial(_published, document, "sample", published.sample_snapshot, text.snapshot)
    return ToolQuery("snapshot", "/v1/map/snapshot", work, "the price of each zone")


def _published(
    document: Document,
    key: str,
    sample: Callable[[dict[str, Any]], dict[str, Any]],
    words: Callable[[Mapping[str, Any]], str],
    sampled: bool,
) -> ToolAnswer:
    """A published document or its sample form; its words are made once a publication."""
    due = document.derive("stale_after", published.stale_after)
    form = published.sampled(document, key, sample) if sampled else document
    return ToolAnswer(
        form.derive("words", lambda held: words(held.json)), form.body, 1, due if clock.now() > due else None
    )


def _get_history(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    zone, name, interval = given["zone"], given["metric"], given["interval"]
    if interval is not None and SERIES[name] is Metric.CAPACITY:
        raise BadArguments("interval: not for capacity, whose rows are yearly")
    try:
        start, end = reads.window_of(given["start"], given["end"], clock.now())
    except BadWindow as fault:
        raise BadArguments(f"start: {fault}") from None
    stored_metric(service.catalogue, zone, SERIES[name], False)
    query = Query(zone, SERIES[name], start, end, given["limit"], given["order"], interval=interval)
    return ToolQuery(
        name, f"/v1/{name}/{zone}", partial(_rows, service, query), f"the newest {reads.SAMPLE_ROWS} rows of the window"
    )


def _rows(service: Service, query: Query, sampled: bool) -> ToolAnswer:
    page = reads.answer(service.reader, service.catalogue, replace(query, sample=sampled))
    stated = formats.envelope(page)
    said = text.history(page)
    if page.following is not None:
        on = _going_on(page)
        stated |= {"next": on} if on else {}
        said = f"{text.going_on(on, query.limit)}\n{said}"
    if page.count > COLUMNAR_ABOVE:
        stated |= _columns(page)
    else:
        stated["data"] = orjson.Fragment(b"[%b]" % json_rows(page))
    return ToolAnswer(said, orjson.dumps(stated), page.count)


def _columns(page: Page) -> dict[str, Any]:
    """The rows as columns; what is the same in every row stands once."""
    named = formats.columns(page)
    constant = {
        name: column[0] for name, column in named.items() if name not in ("ts", "value") and len(set(column)) == 1
    }
    return {"columns": {name: column for name, column in named.items() if name not in constant}, "constant": constant}


def _going_on(page: Page) -> dict[str, int]:
    """The arguments that go on at the first row left out; none where they would give the same rows again."""
    left_out = page.following.ts if page.following else page.end
    if page.query.order == "asc":
        return {"start": left_out} if left_out > int(page.rows.ts[0]) else {}
    return {"end": left_out + 1} if left_out < int(page.rows.ts[0]) else {}


_QUESTIONS: Mapping[str, Callable[[Service, Mapping[str, Any]], ToolQuery]] = {
    "list_zones": _list_zones,
    "get_status": _get_status,
    "get_latest": _get_latest,
    "get_zone_brief": _get_zone_brief,
    "get_history": _get_history,
    "get_map_snapshot": _get_map_snapshot,
}
