"""Record when each feed last responded and failed. Derive its state from its schedule: `ok`, `late`, `down`, `unknown`.

This file has the only freshness rule: when a zone's metric is due (`due`), and its state (`standing`). Only absolute
times are stored. States are computed on request, so that an outage of the daemon is visible.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from warehouse.documents.catalogue_entries import CatalogueFeed
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Publication
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

_LOG = logging.getLogger("emds.warehouse")

State = Literal["ok", "late", "down", "unknown"]
_WORST: tuple[State, ...] = ("ok", "late", "unknown", "down")


class Health(Struct, frozen=True):
    """The health of a feed in a zone. Times are Unix seconds; 0 means never."""

    feed: str
    zone: str
    last_ok: int = 0
    """When a response last contained rows, or showed that there are none yet."""
    last_error: str = ""
    """The reason why the newest attempt failed. Empty after a success, and never a secret."""
    last_error_at: int = 0
    data_until: int = 0
    """The end of the newest interval of the feed, for any metric."""
    quarantined: int = 0
    """The number of rows quarantined in the last run."""
    reached: Mapping[str, int] = msgspec.field(default_factory=dict)
    """`data_until` by metric of the feed. Empty in older documents, where `data_until` applies to all metrics."""
    error_kind: str = ""
    """The type of `last_error`: a FeedError's, `storage`, `unknown_member` or `nothing_published`; else empty."""

    def until(self, metric: str) -> int:
        """Return the end of the newest interval of a metric in Unix seconds, 0 if there has never been one."""
        return self.reached.get(metric, 0) if self.reached else self.data_until

    @property
    def whole_until(self) -> int:
        """Return the end of the interval that all metrics have reached: tomorrow's prices do not replace today's."""
        return min(self.reached.values(), default=self.data_until)

    @property
    def unconfigured(self) -> bool:
        """Return whether the feed was not fetched because credentials are missing."""
        return self.error_kind == "not_configured"

    @property
    def unknown_member(self) -> bool:
        """Return whether the newest responses have a member of a list that this service does not know."""
        return self.error_kind == "unknown_member"


class HealthDocument(Struct, frozen=True):
    """The health of a source's feeds, by feed and zone."""

    source: str
    feeds: tuple[Health, ...]


def note(storage: Storage, source: str, changes: Iterable[Health], latest: int = clock.LAST_INSTANT) -> None:
    """Merge the results of a run into the source's health document. The later of two times stays.

    An interval cannot end after `latest` (Unix seconds): later times come from a wrong timestamp and are dropped.
    """
    learnt = list(changes)

    def merge(known: HealthDocument | None) -> HealthDocument:
        feeds = {(health.feed, health.zone): health for health in (known.feeds if known else ())}
        for health in learnt:
            feeds[health.feed, health.zone] = _merged(feeds.get((health.feed, health.zone)), health, latest)
        return HealthDocument(source, tuple(feeds[place] for place in sorted(feeds)))

    artefact.update(storage, layout.health(source), HealthDocument, merge)


def _merged(old: Health | None, new: Health, latest: int) -> Health:
    if old is None:
        return new

    def later(before: int, after: int) -> int:
        return max(before if before <= latest else 0, after)

    return replace(
        new,
        last_ok=max(old.last_ok, new.last_ok),
        last_error_at=max(old.last_error_at, new.last_error_at),
        data_until=later(old.data_until, new.data_until),
        reached={metric: later(old.until(metric), new.until(metric)) for metric in new.reached or old.reached},
    )


def load(storage: Storage, source: str) -> list[Health]:
    """Return the health of a source's feeds, empty if it never ran.

    It is also empty if the document is damaged: a new document begins, to which each run adds its zones.
    """
    try:
        known = artefact.load_as(storage, layout.health(source), HealthDocument)
    except DamagedFile as error:
        _LOG.error("health starts anew: %s", error)
        return []
    return [*known.feeds] if known else []


def expected_by(publication: Publication, tz: str, resolution: str, data_until: int) -> int:
    """Return the time by which the interval after `data_until` should be published, grace included. Unix seconds."""
    grace = publication.grace_minutes * 60
    if publication.daily_at is None:
        step = min(clock.RESOLUTIONS[resolution], clock.DAY)
        return data_until + step + publication.lag_minutes * 60 + grace
    return publication.out_at(MarketDay.at(data_until, tz)) + grace


def state(health: Health | None, feed: Feed, now: int) -> State:
    """Return the state of a feed in a zone, by the metric that is furthest behind."""
    if health is None or not health.whole_until:
        return rowless(health)
    due = expected_by(feed.publication, feed.tz, feed.resolution, health.whole_until)
    return by_deadline(due, feed.publication, now)


class FeedState(NamedTuple):
    """The state of a feed in all its zones together."""

    state: State
    """The worst state of its zones."""
    zones: list[str]
    """The zones in that state."""
    known: list[Health]
    """The health of its zones. Those with an unknown member and with the worst state come first."""

    @property
    def error(self) -> str:
        return next((health.last_error for health in self.known if health.last_error), "")

    @property
    def unknown_member(self) -> bool:
        return any(health.unknown_member for health in self.known)


def feed_state(feed: Feed, known: Iterable[Health], now: int) -> FeedState:
    """Return the state of a feed from the health of its source's feeds."""
    own = {health.zone: health for health in known if health.feed == feed.id and health.zone in feed.zones}
    states = {zone: state(own.get(zone), feed, now) for zone in feed.zones}
    furthest = worst(states.values())
    order = sorted(own.values(), key=lambda health: (not health.unknown_member, states[health.zone] != furthest))
    return FeedState(furthest, [zone for zone, one in states.items() if one == furthest], order)


def rowless(health: Health | None) -> State:
    """Return the state of a feed that has never returned a row: `down` if requests fail, otherwise `unknown`."""
    return "down" if health is not None and health.last_error and not health.unconfigured else "unknown"


def by_deadline(due: int, publication: Publication, now: int) -> State:
    """Return `ok` until a row is due, then `late`, then `down` after three more grace periods (at least an hour)."""
    if now <= due:
        return "ok"
    patience = max(3 * publication.grace_minutes * 60, int(timedelta(hours=1).total_seconds()))
    return "late" if now <= due + patience else "down"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A feed of a zone's metric with the properties that the freshness rule needs."""

    feed: str
    publication: Publication
    tz: str
    """The time zone of its market day."""
    resolution: str
    configured: bool
    """False without credentials. Such a feed is not expected to publish if other feeds have theirs."""


class Due(NamedTuple):
    """When a row is due, in Unix seconds, and by which schedule."""

    at: int
    publication: Publication


class Standing(NamedTuple):
    """The state of a metric in a zone. `expected_by` is None if the metric has never had a row."""

    state: State
    expected_by: int | None


def carrier(feed: CatalogueFeed, configured: bool) -> Carrier:
    """Return a feed of the catalogue as a Carrier."""
    return Carrier(feed.id, feed.publication, feed.tz, feed.resolution, configured)


def due(carriers: Collection[Carrier], until: int) -> Due | None:
    """Return when the row after `until` (the end of the newest interval) is due, None without carriers.

    The feed that is due first decides, whichever provided the newest row. The schedule of a slow feed would hide that a
    fast feed has an outage.
    """
    promising = [c for c in carriers if c.configured] or carriers
    deadlines = (Due(expected_by(c.publication, c.tz, c.resolution, until), c.publication) for c in promising)
    return min(deadlines, key=itemgetter(0), default=None)


def standing(metric: str, carriers: Sequence[tuple[Carrier, Health | None]], now: int) -> Standing:
    """Return the state of a zone's metric at `now`: its newest row, from any feed, against the earliest schedule."""
    healths = [health for _, health in carriers]
    until = max((health.until(metric) for health in healths if health is not None), default=0)
    deadline = due([carrier for carrier, _ in carriers], until) if until else None
    if deadline is None:
        return Standing("down" if "down" in map(rowless, healths) else "unknown", None)
    return Standing(by_deadline(deadline.at, deadline.publication, now), deadline.at)


def worst(states: Iterable[State]) -> State:
    """Return the worst of several states, unknown for none."""
    return max(states, key=_WORST.index, default="unknown")
