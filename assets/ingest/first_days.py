"""The first market day of each feed's partitions, so that a missing partition is a finding.

A feed's partitions begin with the oldest market day within its reach that was ever requested, or with EMDS_START_DATE
if that is earlier. A feed that was never fetched begins 35 days back, or where its publisher's reach begins.
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
"""How far back a first fill asks where EMDS_START_DATE says nothing."""


def load(storage: Storage) -> dict[str, date]:
    """The oldest market day asked for, by feed. Empty for an empty warehouse; logged, where what is kept is damaged."""
    with logged(layout.FIRST_DAYS):
        return decode(storage.get(layout.FIRST_DAYS))
    return {}


def decode(stored: bytes | None) -> dict[str, date]:
    """The days that the file's bytes hold; None where there is no file. Raises DamagedFile."""
    try:
        document: Mapping[str, str] = orjson.loads(b"{}" if stored is None else stored)
        return {feed: date.fromisoformat(day) for feed, day in document.items()}
    except (AttributeError, TypeError, ValueError):
        raise DamagedFile(layout.FIRST_DAYS, "is not a map of feeds to dates") from None


def note(storage: Storage, feed: Feed, days: Iterable[date]) -> None:
    """Notes that these market days were asked for; writes only where a day is older than all before.

    Raises DamagedFile: what is damaged stays for `emds repair` to set aside.
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
    """Where a feed's partitions begin, whatever its siblings hold; of a yearly feed a year's first day.

    `known`: the days asked for; `since`: EMDS_START_DATE; `today` in the feed's zone.
    """
    reached = feed.since if feed.reach_days is None else max(feed.since, today - timedelta(days=feed.reach_days))
    wanted = max(reached, since or today - timedelta(days=FIRST_FILL_DAYS))
    oldest = known.get(feed.id, wanted)
    first = min(oldest, wanted) if since else oldest
    return first.replace(month=1, day=1) if feed.yearly else first
