"""Determine the first market day of each feed's partitions, so that a missing partition is a finding.

A feed's partitions begin with the oldest market day within its reach that was ever requested, or with EMDS_START_DATE
if that is earlier. A feed that was never fetched begins 35 days back, or at the limit of its publisher's reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

import orjson

from warehouse.bookkeeping import logged
from warehouse.errors import DamagedFile
from warehouse.market.feeds import Feed
from warehouse.store import layout
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Stored

FIRST_FILL_DAYS = 35
"""The number of past days that a first fill fetches without EMDS_START_DATE."""


def load(storage: Storage) -> dict[str, date]:
    """Return the oldest requested market day by feed; empty for an empty warehouse. A damaged file is logged."""
    with logged(layout.FIRST_DAYS):
        return decode(storage.get(layout.FIRST_DAYS))
    return {}


def decode(stored: bytes | None) -> dict[str, date]:
    """Return the days in the file's bytes; empty if `stored` is None. Raises DamagedFile."""
    try:
        document: Mapping[str, str] = orjson.loads(b"{}" if stored is None else stored)
        return {feed: date.fromisoformat(day) for feed, day in document.items()}
    except (AttributeError, TypeError, ValueError):
        raise DamagedFile(layout.FIRST_DAYS, "is not a map of feeds to dates") from None


def note(storage: Storage, feed: Feed, days: Iterable[date]) -> None:
    """Record these requested market days. Writes only if a day is older than all before.

    Raises DamagedFile. A damaged file stays until `emds repair` quarantines it.
    """
    first = min(days, default=None)
    if first is None or first >= decode(storage.get(layout.FIRST_DAYS)).get(feed.id, date.max):
        return

    def add(stored: Stored | None) -> bytes:
        known = decode(stored.body if stored else None)
        known[feed.id] = min(first, known.get(feed.id, date.max))
        return orjson.dumps({name: str(day) for name, day in sorted(known.items())})

    storage.update(layout.FIRST_DAYS, add)


def first_day(feed: Feed, known: Mapping[str, date], since: date | None, today: date) -> date:
    """Return the first day of a feed's partitions, whatever the other feeds have; for a yearly feed, the first of
    January.

    `known` are the requested days, `since` is EMDS_START_DATE, and `today` is in the feed's zone.
    """
    reached = feed.since if feed.reach_days is None else max(feed.since, today - timedelta(days=feed.reach_days))
    wanted = max(reached, since or today - timedelta(days=FIRST_FILL_DAYS))
    oldest = known.get(feed.id, wanted)
    first = min(oldest, wanted) if since else oldest
    return first.replace(month=1, day=1) if feed.yearly else first
