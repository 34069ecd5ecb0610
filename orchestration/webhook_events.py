"""What a subscription is told: messages made of the log of changes and of the published documents. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from api.access.accounts.webhooks import Webhook
from api.documents import changes
from api.documents.changes import Wanted
from warehouse import artefact, change_log, layout
from warehouse.change_log import UnknownCursor
from warehouse.clock import iso
from warehouse.storage import Storage
from warehouse.zones import ZONES

ENTRIES = 100
"""Of one message about changes: some 40 kB."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The published documents as they stand, each read once."""

    storage: Storage
    lag_s: float
    """So long a worker of the API may give rows that are older than an entry of the log of changes."""
    _read: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = artefact.load(self.storage, name)
        return self._read[name]


@dataclass(frozen=True, slots=True)
class Told:
    """Messages for a subscription, and what it knows after them."""

    bodies: list[bytes]
    cursor: str
    states: dict[str, Any]


def told(documents: Documents, webhook: Webhook, now: int, market_now: int) -> Told:
    """What is new for a subscription. `now`: true time; `market_now`: by which figures are late (EMDS_NOW).

    Raises StorageError.
    """
    bodies: list[bytes] = []
    cursor, states = webhook.cursor, dict(webhook.states)
    if "changes" in webhook.wish.events:
        cursor, found = _changes(documents, webhook)
        bodies += [message("changes", now, data) for data in found]
    for event in webhook.wish.events:
        look = _LOOKS.get(event)
        if look is None:
            continue
        known = dict(states.get(event, {}))
        for zone in webhook.wish.zones or ZONES:
            state, data = look(documents, zone, webhook.wish.threshold, known.get(zone), market_now)
            if data is not None:
                bodies.append(message(event, now, {"zone": zone, **data}))
            if state is not None:
                known[zone] = state
        states[event] = known
    return Told(bodies, cursor, states)


def message(event: str, now: int, data: Mapping[str, Any]) -> bytes:
    """A message's body, in the form that Standard Webhooks recommend."""
    return orjson.dumps({"type": event, "timestamp": iso(now), "data": data})


def _changes(documents: Documents, webhook: Webhook) -> tuple[str, list[dict[str, Any]]]:
    """The cursor behind what was looked at, and one page of entries; or that the cursor is gone."""
    wanted = Wanted(zones=webhook.wish.zones or None)
    until = changes.settled(documents.lag_s)
    try:
        page = change_log.read(documents.storage, webhook.cursor, ENTRIES, wanted.fits, until)
    except UnknownCursor:
        cursor = change_log.newest(documents.storage, until)
        return cursor, [{"count": 0, "entries": [], "next": cursor, "gone": True, "docs": "/docs/changes"}]
    return page.next, [changes.body(page)] if page.entries else []


_Look = Callable[[Documents, str, float | None, Any, int], tuple[Any, dict[str, Any] | None]]
"""Document, zone, threshold, the state told last, the market's now -> the state now, and what is to be told."""


def _beyond(above: bool) -> _Look:
    def look(documents: Documents, zone: str, threshold: float | None, known: Any, _: int) -> tuple[Any, Any]:
        document = documents.get(layout.latest(zone)) or {}
        price = document.get("metrics", {}).get("price")
        if price is None or threshold is None:
            return None, None
        beyond = price["value"] > threshold if above else price["value"] < threshold
        if not beyond or known is True:
            return beyond, None
        figure = {name: price[name] for name in ("value", "unit", "ts", "resolution", "source")}
        return True, {"metric": "price", **figure, "threshold": threshold, **_terms(document)}

    return look


def _band(documents: Documents, zone: str, _: float | None, known: Any, __: int) -> tuple[Any, Any]:
    document = documents.get(layout.brief(zone)) or {}
    bands = {metric: block["band"] for metric, block in document.get("context", {}).items()}
    if not bands:
        return None, None
    before = known or {}
    moved = {
        metric: {"from": before[metric], "to": band}
        for metric, band in bands.items()
        if metric in before and before[metric] != band
    }
    data = {"as_of": document["as_of"], "bands": moved, "brief": f"/v1/brief/{zone}", **_terms(document)}
    return {**before, **bands}, data if moved else None


def _stale(documents: Documents, zone: str, _: float | None, known: Any, now: int) -> tuple[Any, Any]:
    document = documents.get(layout.latest(zone)) or {}
    metrics = document.get("metrics", {})
    if not metrics:
        return None, None
    late = sorted(metric for metric, figure in metrics.items() if (figure.get("expected_by") or now) < now)
    if late == (known or []):
        return late, None
    return late, {"stale": late, "recovered": sorted(set(known or ()) - set(late)), "latest": f"/v1/latest/{zone}"}


def _terms(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"attribution": document["attribution"], "license": document["license"]}


_LOOKS: Mapping[str, _Look] = {
    "price.above": _beyond(above=True),
    "price.below": _beyond(above=False),
    "band": _band,
    "stale": _stale,
}
