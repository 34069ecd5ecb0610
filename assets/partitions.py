"""Define the partitions and freshness of a feed's asset: market days in the feed's zone, or years of a yearly feed.

Dagster's freshness checks that an asset was materialised in time. The check `fresh` examines rows.

No `from __future__ import annotations`, as in all files whose annotations Dagster may read.
"""

from collections.abc import Iterable
from datetime import date, timedelta

import dagster as dg

from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Source


def last_day(feed: Feed, today: date) -> date:
    """Return the newest market day with a partition; for a yearly feed, the last day of the current year."""
    return date(today.year, 12, 31) if feed.yearly else today + timedelta(days=feed.newest_offset)


def partitions_of(feed: Feed, first: date) -> dg.TimeWindowPartitionsDefinition:
    """Return the partitions from `first` to the newest day that may be published."""
    if feed.yearly:
        return dg.TimeWindowPartitionsDefinition(
            start=str(first.year), fmt="%Y", cron_schedule="0 0 1 1 *", timezone=feed.tz, end_offset=1
        )
    return dg.DailyPartitionsDefinition(
        start_date=first.isoformat(), timezone=feed.tz, end_offset=1 + feed.newest_offset
    )


def days_of(feed: Feed, keys: Iterable[str]) -> list[MarketDay]:
    """Return the market days of partition keys; for a year, its first day."""
    return [MarketDay(date(int(key), 1, 1) if feed.yearly else date.fromisoformat(key), feed.tz) for key in keys]


def key_of(feed: Feed, day: str) -> str:
    """Return the partition key of a market day."""
    return day[:4] if feed.yearly else day


def asset_key(feed: Feed) -> dg.AssetKey:
    """Return the feed's ID as an asset key, such as `aemo/dispatch`."""
    return dg.AssetKey(feed.id.split("."))


def raw_key(source: str) -> dg.AssetKey:
    """Return the key of a publisher's raw responses, such as `raw/aemo`."""
    return dg.AssetKey(["raw", source])


def pool_of(source: Source) -> str:
    """Return the pool of a host. The runs of a publisher take turns."""
    return source.hosts[0].replace(".", "_").replace("-", "_")


def made_every(minutes: int) -> dg.FreshnessPolicy:
    """Return a policy that warns after two missed runs and fails after four, with time for a run to end."""
    late, down = timedelta(minutes=2 * minutes + 30), timedelta(minutes=4 * minutes + 60)
    return dg.FreshnessPolicy.time_window(warn_window=late, fail_window=down)
