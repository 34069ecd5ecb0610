"""Turn the change log and the published documents into webhook messages, without writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar

import orjson

from api.access.webhooks import Webhook
from api.documents import changes
from api.documents.changes import ChangeFilter
from api.documents.document_cache import DocumentCache
from assets.documents.map_history import rounded
from orchestration.webhooks import auctions
from warehouse.bookkeeping import logged
from warehouse.documents.present import Brief, Latest
from warehouse.market.clock import MarketDay, iso
from warehouse.market.metrics import AWAITED
from warehouse.market.zones import ZONES
from warehouse.series import change_log
from warehouse.series.change_log import ChangePage, UnknownCursor
from warehouse.series.reader import Reader
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

ENTRIES = 100
"""Maximum number of entries in a message about changes: some 40 kB."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Documents:
    """The published documents and pages of the change log, each read once per round."""

    storage: Storage
    lag_s: float
    """Seconds for which a worker of the API may return older rows after an entry of the change log."""
    _read: dict[str, Any] = field(default_factory=dict)
    _pages: dict[tuple[str, tuple[str, ...]], ChangePage] = field(default_factory=dict)

    def get(self, name: str, kind: type[T]) -> T | None:
        """Return a published document; None if there is none. Raises StorageError."""
        if name not in self._read:
            self._read[name] = artefact.load_as(self.storage, name, kind)
        document: T | None = self._read[name]
        return document

    def auctions(self, zone: str, now: int) -> dict[str, dict[str, Any]]:
        """Return by date a zone's complete auctions of today and tomorrow; none if its files cannot be read."""
        key = f"auctions of {zone}"
        if key not in self._read:
            self._read[key] = {}
            with logged(key):
                catalogue = DocumentCache(self.storage).catalogue
                self._read[key] = auctions.complete_auctions(Reader(self.storage, 0), catalogue, zone, now)
        found: dict[str, dict[str, Any]] = self._read[key]
        return found

    def changes(self, cursor: str, zones: tuple[str, ...]) -> ChangePage:
        """Return a page of the change log for `zones` (empty: all). Raises UnknownCursor, StorageError."""
        if (cursor, zones) not in self._pages:
            until, wanted = changes.settled(self.lag_s), ChangeFilter(zones=zones or None)
            self._pages[cursor, zones] = change_log.read(self.storage, cursor, ENTRIES, wanted.fits, until)
        return self._pages[cursor, zones]


@dataclass(frozen=True, slots=True)
class News:
    """Messages for a subscription, and its position after them."""

    bodies: list[bytes]
    cursor: str
    states: dict[str, Any]
    more: bool
    """Whether the change log continues after `cursor`."""


def news_for(documents: Documents, webhook: Webhook, now: int, market_now: int) -> News:
    """Return a subscription's news. `now` is the real time; `market_now` decides which values are late (EMDS_NOW).

    Raises StorageError.
    """
    bodies: list[bytes] = []
    cursor, states, more = webhook.cursor, dict(webhook.states), False
    if "changes" in webhook.events:
        cursor, found, more = _changes(documents, webhook)
        bodies += [message("changes", now, data) for data in found]
    for event in webhook.events:
        look = _LOOKS.get(event)
        if look is None:
            continue
        known = dict(states.get(event, {}))
        for zone in webhook.zones or ZONES:
            state, data = look(documents, zone, webhook.threshold, known.get(zone), market_now)
            if data is not None:
                bodies.append(message(event, now, {"zone": zone, **data}))
            if state is not None:
                known[zone] = state
        states[event] = known
    return News(bodies, cursor, states, more)


def is_far(cursor: str, later: str) -> bool:
    """Return whether two cursors are a segment of the change log apart, so that reading from the first is slow."""
    first, last = (int(each.rpartition("-")[2]) for each in (cursor, later))
    return abs(last - first) >= change_log.SEGMENT


def message(event: str, now: int, data: Mapping[str, Any]) -> bytes:
    """Return a message's body in the form that Standard Webhooks recommends."""
    return orjson.dumps({"type": event, "timestamp": iso(now), "data": data})


def _changes(documents: Documents, webhook: Webhook) -> tuple[str, list[dict[str, Any]], bool]:
    """Return the cursor after a page, its bodies, and whether more follow; or report that the cursor is gone."""
    try:
        page = documents.changes(webhook.cursor, webhook.zones)
    except UnknownCursor:
        cursor = change_log.newest(documents.storage, changes.settled(documents.lag_s))
        return cursor, [{"count": 0, "entries": [], "next": cursor, "gone": True, "docs": "/docs/changes"}], False
    return page.next, [changes.body(page)] if page.entries else [], page.more


_Look = Callable[[Documents, str, float | None, Any, int], tuple[Any, dict[str, Any] | None]]
"""Documents, zone, threshold, last reported state, market's now -> current state, and the message's data or None."""


def _beyond(above: bool) -> _Look:
    def look(documents: Documents, zone: str, threshold: float | None, known: Any, _: int) -> tuple[Any, Any]:
        latest = documents.get(layout.latest(zone), Latest)
        if latest is None or threshold is None or (price := latest.metrics.get("price")) is None:
            return None, None
        beyond = price.value > threshold if above else price.value < threshold
        if not beyond or known is True:
            return beyond, None
        figure = {"unit": price.unit, "ts": price.ts, "resolution": price.resolution, "source": price.source}
        # Exact prices are sold, and a threshold that is always exceeded would reveal them.
        value = {"value": rounded(price.value, price.unit), "rounded": True}
        return True, {"metric": "price", **value, **figure, "threshold": threshold, **_terms(latest)}

    return look


def _band(documents: Documents, zone: str, _: float | None, known: Any, __: int) -> tuple[Any, Any]:
    brief = documents.get(layout.brief(zone), Brief)
    if brief is None or not brief.context:
        return None, None
    bands = {metric: block.band for metric, block in brief.context.items()}
    before = known or {}
    moved = {
        metric: {"from": before[metric], "to": band}
        for metric, band in bands.items()
        if metric in before and before[metric] != band
    }
    data = {"as_of": brief.as_of, "bands": moved, "brief": f"/v1/brief/{zone}", **_terms(brief)}
    return {**before, **bands}, data if moved else None


def _stale(documents: Documents, zone: str, _: float | None, known: Any, now: int) -> tuple[Any, Any]:
    latest = documents.get(layout.latest(zone), Latest)
    if latest is None or not latest.metrics:
        return None, None
    late = sorted(metric for metric, of in latest.metrics.items() if metric in AWAITED and of.expected_by < now)
    if late == (known or []):
        return late, None
    return late, {"stale": late, "recovered": sorted(set(known or ()) - set(late)), "latest": f"/v1/latest/{zone}"}


def _day_ahead(documents: Documents, zone: str, _: float | None, known: Any, now: int) -> tuple[Any, Any]:
    """Report a day that is new or changed since its report. Today's auction is not news for a new subscription."""
    found = documents.auctions(zone, now)
    digests = {date: sha256(orjson.dumps(auction)).hexdigest()[:16] for date, auction in found.items()}
    today = str(MarketDay.at(now, ZONES[zone].market_tz))
    before = {today: digests.get(today, "")} if known is None else known
    state = {date: digest for date, digest in before.items() if date >= today}
    for date, auction in found.items():
        if digests[date] != state.get(date):
            revised = bool(state.get(date))
            return {**state, date: digests[date]}, {**auction, "revised": revised}
    return state, None


def _terms(document: Latest | Brief) -> dict[str, str]:
    return {"attribution": document.attribution, "license": document.license}


_LOOKS: Mapping[str, _Look] = {
    "price.above": _beyond(above=True),
    "price.below": _beyond(above=False),
    "band": _band,
    "stale": _stale,
    "day_ahead": _day_ahead,
}
