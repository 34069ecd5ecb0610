"""The partitions of a feed's asset: market days in the feed's zone, calendar years of a yearly feed; and its freshness.

Dagster's freshness goes by runs: whether an asset was made in time. The check `fresh` goes by rows.

No `from __future__ import annotations`, as in every file that Dagster's annotations may come to.
"""

from collections.abc import Iterable
from datetime import date, timedelta

import dagster as dg

from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Source


def last_day(feed: Feed, today: date) -> date:
    """The newest market day that has a partition; of a yearly feed any day of the running year."""
    return date(today.year, 12, 31) if feed.yearly else today + timedelta(days=feed.newest_offset)


def partitions_of(feed: Feed, first: date) -> dg.TimeWindowPartitionsDefinition:
    """Partitions from `first` to the newest day that may be out."""
    if feed.yearly:
        return dg.TimeWindowPartitionsDefinition(
            start=str(first.year), fmt="%Y", cron_schedule="0 0 1 1 *", timezone=feed.tz, end_offset=1
        )
    return dg.DailyPartitionsDefinition(
        start_date=first.isoformat(), timezone=feed.tz, end_offset=1 + feed.newest_offset
    )


def days_of(feed: Feed, keys: Iterable[str]) -> list[MarketDay]:
    """The market days of partition keys; of a year, its first day."""
    return [MarketDay(date(int(key), 1, 1) if feed.yearly else date.fromisoformat(key), feed.tz) for key in keys]


def key_of(feed: Feed, day: str) -> str:
    """The partition key of a market day."""
    return day[:4] if feed.yearly else day


def asset_key(feed: Feed) -> dg.AssetKey:
    """`aemo/dispatch`: the feed's id."""
    return dg.AssetKey(feed.id.split("."))


def raw_key(source: str) -> dg.AssetKey:
    """`raw/aemo`: a publisher's answers as they came."""
    return dg.AssetKey(["raw", source])


def pool_of(source: Source) -> str:
    """One pool a host: runs of one publisher take turns."""
    return source.hosts[0].replace(".", "_").replace("-", "_")


def made_every(minutes: int) -> dg.FreshnessPolicy:
    """A warning after two missed runs, a failure after four, with time for a run to end."""
    late, down = timedelta(minutes=2 * minutes + 30), timedelta(minutes=4 * minutes + 60)
    return dg.FreshnessPolicy.time_window(warn_window=late, fail_window=down)
