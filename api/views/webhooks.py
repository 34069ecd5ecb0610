"""The endpoints of webhooks: subscribe, look, test, end. Nothing is delivered here: the pipeline does that."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import orjson
from flask import Blueprint, Request, request

from api.access import api_key
from api.access.accounts import webhooks
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.webhooks import EVENTS, MOST_OF_A_KEY, Subscription, TooManyWebhooks, Webhook
from api.access.public_addresses import is_public
from api.documents import changes
from api.endpoints.query_parameters import SAMPLE
from api.http import parameters, problem_responses, request_body
from api.http.flask_views import request_at_hand
from api.http.guard import guard
from api.http.messages import Response
from api.http.problems import ParameterFault, Problem
from api.service import Service
from api.views.keys import own_key
from warehouse import change_log
from warehouse.clock import iso
from warehouse.zones import ZONES

_MOST_BYTES = 8192
_LONGEST_URL = 500
_NO_STORE = ("Cache-Control", "no-store")
_MEMBERS = ("url", "events", "zones", "threshold")
_URL = re.compile(r"[\x21-\x7e]+")


def blueprint(service: Service) -> Blueprint:
    """`/v1/webhooks`, `/v1/webhooks/{webhook}` and its `/test`."""
    routes = Blueprint("webhooks", __name__)
    gate = service.gate
    refuse = partial(problem_responses.refused, gate.settings.base_url)

    def free(made: Callable[[], Response]) -> Response:
        return guard(gate, request_at_hand(), "", lambda _entry: (made(), 1), refuse)

    @routes.before_request
    def known() -> None:
        parameters.values({"sample": SAMPLE}, request.args)

    @routes.post("/v1/webhooks")
    def subscribe() -> Response:
        return free(lambda: _subscribed(service, request))

    @routes.get("/v1/webhooks")
    def listed() -> Response:
        return free(lambda: _listed(service, request))

    @routes.get("/v1/webhooks/<webhook>")
    def shown(webhook: str) -> Response:
        return free(lambda: _json(_body(_own(service, request, webhook))))

    @routes.delete("/v1/webhooks/<webhook>")
    def ended(webhook: str) -> Response:
        return free(lambda: _ended(service, request, webhook))

    @routes.post("/v1/webhooks/<webhook>/test")
    def tested(webhook: str) -> Response:
        return free(lambda: _tested(service, request, webhook))

    @routes.errorhandler(AccountsUnavailable)
    def unavailable(_fault: AccountsUnavailable) -> Response:
        return refuse(api_key.unavailable(), request_at_hand())

    return routes


def _subscribed(service: Service, call: Request) -> Response:
    key = own_key(service.gate, call)
    wish = _wish(call, service.settings.webhook_private)
    cursor = change_log.newest(service.storage, changes.settled(service.lag_s))
    try:
        made = webhooks.create(service.gate.accounts.database, key, wish, cursor, service.gate.now)
    except TooManyWebhooks:
        raise Problem(
            "too-many-webhooks", f"This key has {MOST_OF_A_KEY} webhooks; DELETE /v1/webhooks/{{id}} ends one."
        ) from None
    return _json({**_body(made), "secret": made.secret}, 201)


def _listed(service: Service, call: Request) -> Response:
    found = webhooks.listed(service.gate.accounts.database, own_key(service.gate, call))
    return _json({"count": len(found), "webhooks": [_body(each) for each in found]})


def _ended(service: Service, call: Request, webhook: str) -> Response:
    webhooks.remove(service.gate.accounts.database, _own(service, call, webhook).id)
    return Response(204, [_NO_STORE])


def _tested(service: Service, call: Request, webhook: str) -> Response:
    found = _own(service, call, webhook)
    if found.disabled:
        raise Problem("webhook-disabled", f"Nothing is delivered to this webhook: {found.disabled}.")
    if found.waiting >= webhooks.MOST_WAITING:
        raise Problem("too-many-webhooks", f"{found.waiting} messages wait for this webhook already.")
    now = int(time.time())
    body = orjson.dumps({"type": "test", "timestamp": iso(now), "data": {"webhook": found.id}})
    return _json({"id": found.id, "message": webhooks.add(service.gate.accounts.database, found.id, body, now)}, 202)


def _own(service: Service, call: Request, webhook: str) -> Webhook:
    """The subscription, if it is the caller's. Raises Problem 401 and 404."""
    key = own_key(service.gate, call)
    found = webhooks.get(service.gate.accounts.database, webhook[:60], key)
    if found is None:
        raise Problem("unknown-webhook", "This key has no such webhook; GET /v1/webhooks lists those that it has.")
    return found


def _body(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": webhook.subscription.url,
        "events": list(webhook.subscription.events),
        "zones": list(webhook.subscription.zones),
        "threshold": webhook.subscription.threshold,
        "created": webhook.created,
        "state": "disabled" if webhook.disabled else "failing" if webhook.failing_since else "good",
        "reason": webhook.disabled or webhook.last_error or None,
        "failing_since": webhook.failing_since,
        "next_attempt_at": webhook.next_at if webhook.failing_since and not webhook.disabled else None,
        "delivered": webhook.delivered,
        "last_delivery": webhook.last_delivery,
        "waiting": webhook.waiting,
        "docs": "/docs/webhooks",
    }


def _wish(call: Request, private: bool) -> Subscription:
    """What the body asks for. Raises Problem 400, 413 or 415 that names every fault."""
    if call.mimetype != "application/json":
        raise Problem("unsupported-media-type", "The body is JSON, with Content-Type: application/json.")
    try:
        document = orjson.loads(request_body.read(call.environ, _MOST_BYTES))
    except ValueError:
        raise Problem("invalid-request", "The body is not JSON.") from None
    if not isinstance(document, dict):
        raise Problem("invalid-request", 'The body is an object: {"url": "https://...", "events": ["changes"]}.')
    faults = [
        ParameterFault(str(name)[:60], "unknown", f"takes {', '.join(_MEMBERS)}")
        for name in document
        if name not in _MEMBERS
    ]
    events, zones = document.get("events"), document.get("zones", [])
    threshold = document.get("threshold")
    if reason := _url_fault(document.get("url"), private):
        faults.append(ParameterFault("url", "invalid", reason))
    if not _listed_in(events, EVENTS) or not events:
        faults.append(ParameterFault("events", "invalid", f"a list of {', '.join(EVENTS)}"))
    if not _listed_in(zones, ZONES):
        faults.append(ParameterFault("zones", "invalid", "a list of zone ids; left out: all"))
    needs = isinstance(events, list) and any(event in ("price.above", "price.below") for event in events)
    if not _is_number(threshold) and (needs or threshold is not None):
        faults.append(ParameterFault("threshold", "invalid", "a number, in the zones' own currency per MWh"))
    if faults:
        words = "; ".join(f"{fault.parameter}: {fault.detail}" for fault in faults[:3])
        raise Problem("invalid-request", f"{words}.", faults[:20])
    return Subscription(
        document["url"],
        tuple(dict.fromkeys(document["events"])),
        tuple(dict.fromkeys(zones)),
        None if threshold is None else float(threshold),
    )


def _listed_in(value: Any, allowed: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each in allowed for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e9


def _url_fault(url: Any, private: bool) -> str:
    """What is wrong with an address; where its name leads is looked at with each delivery."""
    if not isinstance(url, str) or len(url) > _LONGEST_URL or not _URL.fullmatch(url):
        return f"an https address of at most {_LONGEST_URL} ASCII characters"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "an https address"
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        return "an https address"
    if not parts.hostname or parts.username is not None or parts.password is not None or parts.fragment:
        return "an https address with a host, without user, password and fragment"
    if private or _is_public_name(parts.hostname):
        return ""
    return "a public host: no address or name of a private network"


def _is_public_name(host: str) -> bool:
    try:
        return is_public(ip_address(host))
    except ValueError:
        local = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")
        return "." in host and not host.rstrip(".").endswith(local)


def _json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(status, [_NO_STORE, ("Content-Type", "application/json")], orjson.dumps(document))
