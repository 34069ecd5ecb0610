"""When each feed last answered, what went wrong, and its state by its own schedule: `ok`, `late`, `down`, `unknown`.

The one freshness rule is here: when a zone's metric is due (`due`) and what state it is in (`standing`). Only absolute
times are kept; states are computed when somebody asks, so that a dead daemon shows by itself.
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
    """One feed in one zone. Instants are Unix seconds; 0 = never."""

    feed: str
    zone: str
    last_ok: int = 0
    """When an answer last gave rows, or showed that there are none yet."""
    last_error: str = ""
    """Why the newest attempt failed; empty after a success. Never a secret."""
    last_error_at: int = 0
    data_until: int = 0
    """The end of the newest interval that it has given, of whatever metric."""
    quarantined: int = 0
    """Rows set aside at the last run."""
    reached: Mapping[str, int] = msgspec.field(default_factory=dict)
    """`data_until` of each metric that the feed carries; empty in older documents, where `data_until` holds for all."""
    error_kind: str = ""
    """Kind of `last_error`: a FeedError's, `storage`, `unknown_member` or `nothing_published`; empty without one."""

    def until(self, metric: str) -> int:
        """The end of the newest interval of a metric, Unix seconds; 0 = none ever."""
        return self.reached.get(metric, 0) if self.reached else self.data_until

    @property
    def whole_until(self) -> int:
        """End of the interval that all metrics have reached: prices of tomorrow make up for none of today."""
        return min(self.reached.values(), default=self.data_until)

    @property
    def unconfigured(self) -> bool:
        """Whether the feed was not asked because credentials are missing."""
        return self.error_kind == "not_configured"

    @property
    def unknown_member(self) -> bool:
        """Whether its newest answers hold a member of a list that this service does not know."""
        return self.error_kind == "unknown_member"


class HealthDocument(Struct, frozen=True):
    """What is known of a source's feeds, by feed and zone."""

    source: str
    feeds: tuple[Health, ...]


def note(storage: Storage, source: str, changes: Iterable[Health], latest: int = clock.LAST_INSTANT) -> None:
    """Merges what a run learnt into the source's health document; of each instant the later stays.

    No interval can end after `latest` (Unix seconds): what is known beyond it came from a wrong stamp and is forgotten.
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
    """Return what is known of a source's feeds; nothing if it never ran.

    Nothing is known either if the document is damaged: it is begun anew, and each run notes its zones again.
    """
    try:
        known = artefact.load_as(storage, layout.health(source), HealthDocument)
    except DamagedFile as error:
        _LOG.error("health starts anew: %s", error)
        return []
    return [*known.feeds] if known else []


def expected_by(publication: Publication, tz: str, resolution: str, data_until: int) -> int:
    """The instant by which the interval that follows `data_until` should be out, grace included."""
    grace = publication.grace_minutes * 60
    if publication.daily_at is None:
        step = min(clock.RESOLUTIONS[resolution], clock.DAY)
        return data_until + step + publication.lag_minutes * 60 + grace
    return publication.out_at(MarketDay.at(data_until, tz)) + grace


def state(health: Health | None, feed: Feed, now: int) -> State:
    """How a feed stands in a zone, by the metric that it is furthest behind with."""
    if health is None or not health.whole_until:
        return rowless(health)
    due = expected_by(feed.publication, feed.tz, feed.resolution, health.whole_until)
    return by_deadline(due, feed.publication, now)


class FeedState(NamedTuple):
    """How a feed stands in all its zones together."""

    state: State
    """The worst of its zones."""
    zones: list[str]
    """Those in that state."""
    known: list[Health]
    """What is known of its zones, those with an unknown member and the worst first."""

    @property
    def error(self) -> str:
        return next((health.last_error for health in self.known if health.last_error), "")

    @property
    def unknown_member(self) -> bool:
        return any(health.unknown_member for health in self.known)


def feed_state(feed: Feed, known: Iterable[Health], now: int) -> FeedState:
    """How a feed stands by what is known of its source's feeds."""
    own = {health.zone: health for health in known if health.feed == feed.id and health.zone in feed.zones}
    states = {zone: state(own.get(zone), feed, now) for zone in feed.zones}
    furthest = worst(states.values())
    order = sorted(own.values(), key=lambda health: (not health.unknown_member, states[health.zone] != furthest))
    return FeedState(furthest, [zone for zone, one in states.items() if one == furthest], order)


def rowless(health: Health | None) -> State:
    """State of a feed that has never returned a row: `down` where asking fails, `unknown` otherwise."""
    return "down" if health is not None and health.last_error and not health.unconfigured else "unknown"


def by_deadline(due: int, publication: Publication, now: int) -> State:
    """`ok`: the next row is not overdue; `late`: overdue; `down`: overdue for four graces (an hour at least)."""
    if now <= due:
        return "ok"
    patience = max(3 * publication.grace_minutes * 60, int(timedelta(hours=1).total_seconds()))
    return "late" if now <= due + patience else "down"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A feed that carries a zone's metric, as the rule of freshness needs it."""

    feed: str
    publication: Publication
    tz: str
    """Where its market day lies."""
    resolution: str
    configured: bool
    """False where it lacks credentials: it then promises nothing beside feeds that do not."""


class Due(NamedTuple):
    """When a row is due, Unix seconds, and by which schedule."""

    at: int
    publication: Publication


class Standing(NamedTuple):
    """The state of one metric in one zone; `expected_by` is None where it has never had a row."""

    state: State
    expected_by: int | None


def carrier(feed: CatalogueFeed, configured: bool) -> Carrier:
    """Return a feed of the catalogue as a Carrier."""
    return Carrier(feed.id, feed.publication, feed.tz, feed.resolution, configured)


def due(carriers: Collection[Carrier], until: int) -> Due | None:
    """When the row after `until` (the end of the newest interval) is due; None without carriers.

    The feed that promises it soonest decides, whichever brought the newest row: the schedule of a slow feed would hide
    that a fast one is silent.
    """
    promising = [c for c in carriers if c.configured] or carriers
    deadlines = (Due(expected_by(c.publication, c.tz, c.resolution, until), c.publication) for c in promising)
    return min(deadlines, key=itemgetter(0), default=None)


def standing(metric: str, carriers: Sequence[tuple[Carrier, Health | None]], now: int) -> Standing:
    """How a zone's metric stands at an instant: its newest row, from whichever feed, against the soonest schedule."""
    healths = [health for _, health in carriers]
    until = max((health.until(metric) for health in healths if health is not None), default=0)
    deadline = due([carrier for carrier, _ in carriers], until) if until else None
    if deadline is None:
        return Standing("down" if "down" in map(rowless, healths) else "unknown", None)
    return Standing(by_deadline(deadline.at, deadline.publication, now), deadline.at)


def worst(states: Iterable[State]) -> State:
    """The worst of several states; unknown for none."""
    return max(states, key=_WORST.index, default="unknown")
