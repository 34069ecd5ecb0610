"""Dagster's freshness of an asset, which goes by runs: whether it was made in time. The check `fresh` goes by rows.

No `from __future__ import annotations`, as in every file that Dagster's annotations may come to.
"""

from datetime import timedelta

import dagster as dg

from warehouse.market.market import Feed


def made_every(minutes: int) -> dg.FreshnessPolicy:
    """A warning after two missed runs, a failure after four, with time for a run to end."""
    late, down = timedelta(minutes=2 * minutes + 30), timedelta(minutes=4 * minutes + 60)
    return dg.FreshnessPolicy.time_window(warn_window=late, fail_window=down)


def of_feed(feed: Feed) -> dg.FreshnessPolicy:
    """By how often its publisher is asked; a feed that stands in for another is asked once a day."""
    return made_every(1440 if feed.stands_in_for else feed.every_minutes)
