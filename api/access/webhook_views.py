"""Serve `/v1/webhooks`: subscribe, list, test and delete. The pipeline delivers the messages."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import orjson

from api.access import webhooks
from api.access.public_addresses import is_public
from api.access.sign_up import private_json
from api.access.values import NO_STORE
from api.access.webhooks import EVENTS, Webhook
from api.documents import changes
from api.documents.catalogue_reader import Catalogue, stored_metric
from api.http.messages import HttpRequest, QueryValues, Response, View, read_json
from api.http.parameters import read_zone
from api.http.problems import ParameterFault, Problem
from api.service import Service
from warehouse.errors import CallerError
from warehouse.market.clock import iso
from warehouse.market.vocabulary import Metric
from warehouse.series import change_log

_MOST_BYTES = 8192
_LONGEST_URL = 500
_MEMBERS = ("url", "events", "zones", "threshold")
_ADDRESS = (
    f"must be an https URL of a public host, with at most {_LONGEST_URL} ASCII characters and without a user name or "
    "fragment"
)
_URL = re.compile(r"[\x21-\x7e]+")


def _subscribe(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    key = service.gate.admit_holder(request)[1].key
    wanted = _wanted(request, service.settings.allow_private_webhooks)
    if "day_ahead" in wanted["events"]:
        _check_auctions(service.documents.catalogue, wanted["zones"])
    cursor = change_log.newest(service.storage, changes.settled(service.lag_s))
    webhook = webhooks.create(service.gate.database, key, wanted, cursor, service.gate.now)
    return private_json({**_body(webhook), "secret": webhook.secret}, 201)


def _list(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    found = webhooks.listed(service.gate.database, service.gate.admit_holder(request)[1].key)
    return private_json({"count": len(found), "webhooks": [_body(webhook) for webhook in found]})


def _show(service: Service, request: HttpRequest, _query: QueryValues, webhook: str) -> Response:
    return private_json(_body(_own(service, request, webhook)))


def _delete(service: Service, request: HttpRequest, _query: QueryValues, webhook: str) -> Response:
    webhooks.remove(service.gate.database, _own(service, request, webhook).id)
    return Response(204, [NO_STORE])


def _test(service: Service, request: HttpRequest, _query: QueryValues, webhook: str) -> Response:
    found = _own(service, request, webhook)
    if found.disabled:
        raise Problem(
            "webhook-disabled", f"This webhook is disabled ({found.disabled}). Delete it and create a new one."
        )
    if found.waiting >= webhooks.MOST_WAITING:
        raise Problem(
            "too-many-webhooks",
            f"{found.waiting} messages are already queued for this webhook. Wait until some of them are delivered.",
        )
    now = int(time.time())
    body = orjson.dumps({"type": "test", "timestamp": iso(now), "data": {"webhook": found.id}})
    return private_json({"id": found.id, "message": webhooks.add(service.gate.database, found.id, body, now)}, 202)


def _own(service: Service, request: HttpRequest, webhook: str) -> Webhook:
    """Return the subscription if it belongs to the client's key. Raises Responded, Problem 401 and 404."""
    found = webhooks.get(service.gate.database, webhook[:60], service.gate.admit_holder(request)[1].key)
    if found is None:
        raise Problem(
            "unknown-webhook", "This key has no webhook with that ID. List its webhooks with GET /v1/webhooks."
        )
    return found


def _body(webhook: Webhook) -> dict[str, Any]:
    return {
        **{name: getattr(webhook, name) for name in ("id", "url", "events", "zones", "threshold", "created")},
        "state": "disabled" if webhook.disabled else "failing" if webhook.failing_since else "active",
        "reason": webhook.disabled or webhook.last_error or None,
        "failing_since": webhook.failing_since,
        "next_attempt_at": webhook.next_at if webhook.failing_since and not webhook.disabled else None,
        **{name: getattr(webhook, name) for name in ("delivered", "last_delivery", "waiting")},
        "docs": "/docs/webhooks",
    }


def _wanted(request: HttpRequest, private: bool) -> dict[str, Any]:
    """Return the fields of the body. Raises Problem 400, 413 or 415, which names every fault."""
    document = read_json(request, _MOST_BYTES)
    if not isinstance(document, dict):
        raise Problem(
            "invalid-request",
            'The request body must be a JSON object such as {"url": "https://...", "events": ["changes"]}.',
        )
    faults = [
        ParameterFault(str(name)[:60], "unknown", f"is not a known field; use {', '.join(_MEMBERS)}")
        for name in document
        if name not in _MEMBERS
    ]
    events, threshold, zones = document.get("events"), document.get("threshold"), document.get("zones", [])
    events = events if isinstance(events, list) else []
    needed = "price.above" in events or "price.below" in events
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool) and abs(threshold) < 1e9
    checks = {
        "url": (_is_fit(document.get("url"), private), _ADDRESS),
        "events": (
            events and all(each in EVENTS for each in events),
            f"must be a list of one or more of {', '.join(EVENTS)}",
        ),
        "threshold": (
            is_number or (threshold is None and not needed),
            "must be a number, in the zone's currency per MWh",
        ),
    }
    faults += [ParameterFault(name, "invalid", detail) for name, (fits, detail) in checks.items() if not fits]
    try:
        if not isinstance(zones, list) or not all(isinstance(zone, str) for zone in zones):
            raise ValueError("must be a list of zone IDs; omit it for all zones")
        zones = dict.fromkeys(map(read_zone, zones))
    except ValueError as fault:
        faults.append(ParameterFault("zones", "invalid", str(fault)))
    if faults:
        words = "; ".join(f"{fault.parameter}: {fault.detail}" for fault in faults[:3])
        raise Problem("invalid-request", f"{words}.", faults[:20])
    wanted = {"url": document["url"], "events": [*dict.fromkeys(events)], "zones": [*zones]}
    return wanted | {"threshold": None if threshold is None else float(threshold or 0)}


def _check_auctions(catalogue: Catalogue, zones: Sequence[str]) -> None:
    """Raise Problem 400 that names each zone whose day-ahead auction cannot be reported."""
    faults = []
    for zone in zones:
        try:
            catalogue.require_carried(zone, stored_metric(catalogue, zone, Metric.PRICE, day_ahead=True), "day_ahead")
        except CallerError as fault:
            faults.append(ParameterFault("zones", "invalid", f"day_ahead: {fault}"))
    if faults:
        raise Problem("invalid-request", f"{faults[0].detail}.", faults[:20])


def _is_fit(url: Any, private: bool) -> bool:
    """Return whether messages may go to a URL; each delivery checks the addresses of its host."""
    if not isinstance(url, str) or len(url) > _LONGEST_URL or not _URL.fullmatch(url):
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    schemes = ("https", "http") if private else ("https",)
    if not host or parts.scheme not in schemes or "@" in parts.netloc or parts.fragment:
        return False
    try:
        return private or is_public(ip_address(host))
    except ValueError:
        return "." in host


VIEWS: dict[str, View] = {
    "subscribe": _subscribe,
    "webhooks": _list,
    "webhook": _show,
    "unsubscribe": _delete,
    "test-webhook": _test,
}
