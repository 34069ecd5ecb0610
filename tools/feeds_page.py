"""Generate the page of feeds, `docs/feeds.md`, from the SOURCE values.

After changes to these values, run `python -m tools.feeds_page > docs/feeds.md`. A test compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from urllib.parse import unquote

from assets.fetch.credentials import names_of
from assets.fetch.session import with_query
from assets.sources import sources
from warehouse.market.clock import RESOLUTIONS, MarketDay
from warehouse.market.feeds import Feed, Request, Source

EXAMPLE = date(2026, 11, 18)
"""The market day of the example URLs, as they are fetched at noon UTC."""
EXAMPLE_NOW = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp())

HEAD = f"""# Feeds

This page lists every feed by source. To add one, see [Add a source, a zone or a metric](adding-a-source.md).

For each interval, emds serves the row of the feed with the best rank: 1 before 2. A row that overlaps a served row of
a better rank is not served: an hour with any five-minute row has no hourly row. URLs are those for the market day
{EXAMPLE}, fetched at noon UTC, without keys. *Published* is the usual time at which rows are available. *Late* is when
the feed is late; `/v1/status` has one entry per source and zone. *Reach* is how far back the publisher still provides
data, and *since* the first day of the feed.
"""
COLUMNS = (
    "Feed",
    "Zones",
    "Metrics",
    "Rank",
    "Resolution",
    "Market day",
    "Published, late",
    "Reach, since",
    "URL",
)


def feeds_table(sources: Iterable[Source]) -> str:
    """Return the whole page in Markdown."""
    return "\n".join([HEAD, *(_section(source) for source in sources)])


def _section(source: Source) -> str:
    terms = f"[{source.licence}]({source.licence_url})" if source.licence_url else source.licence
    pace = f"{source.requests_per_minute:g} requests per minute" + (
        f", at least {source.min_interval_s:g} s apart" if source.min_interval_s else ""
    )
    facts = [
        f"- Licence: {terms}",
        f"- Attribution: {source.attribution}",
        f"- Redistributable: {source.redistributable}"
        + ("; withheld until `EMDS_REDISTRIBUTABLE_SOURCES` names it" if source.withheld else ""),
        f"- Credentials: {_names(source.required_env)}",
        f"- Rate limit: {pace}; hosts {', '.join(source.hosts)}",
        *(f"- {note}" for note in source.notes),
    ]
    rows = [_row(COLUMNS), "|---" * len(COLUMNS) + "|", *(_row(_cells(source, feed)) for feed in source.feeds)]
    return "\n".join([f"## {source.name} (`{source.code}`)", "", *facts, "", *rows, ""])


def _cells(source: Source, feed: Feed) -> list[str]:
    needed = names_of(feed.secrets)
    return [
        f"`{feed.id}`: {feed.title}"
        + (f" (origin: {feed.origin})" if feed.origin != source.code else "")
        + ("; withheld until `EMDS_REDISTRIBUTABLE_SOURCES` names its source" if feed.withheld else "")
        + ("" if {*needed} == {*source.required_env} else f"; needs {_names(needed) if needed else 'no credentials'}"),
        ", ".join(feed.zones),
        _metrics(feed),
        str(feed.rank),
        f"{feed.resolution}, stamps: {feed.stamps}",
        feed.tz,
        f"{_published(feed)}, {_span(feed.publication.grace_minutes)} later",
        f"{_reach(feed)}, {feed.since}",
        "<br>".join(dict.fromkeys(_address(r) for r in _requests(feed))),
    ]


def _metrics(feed: Feed) -> str:
    extra = f"; in some files {', '.join(feed.optional_metrics)}" if feed.optional_metrics else ""
    return ", ".join(feed.metrics) + (f" at {feed.hub}" if feed.hub else "") + extra


def _requests(feed: Feed) -> list[Request]:
    """Return the first two requests of a day, because those of other borders look alike. Some files are days late."""
    day = MarketDay(EXAMPLE, feed.tz)
    by_day = (feed.requests([day.next(-days)], EXAMPLE_NOW) for days in range(8))
    return next(filter(None, by_day))[:2]


def _address(request: Request) -> str:
    params = [pair for pair in request.params if pair[0] not in request.nonce]
    address = unquote(with_query(request.url, params))
    method = f"{request.method} " if request.method != "GET" else ""
    return f"{method}`{address}`" + (" (a listing)" if request.kind == "listing" else "")


def _published(feed: Feed) -> str:
    publication = feed.publication
    if publication.daily_at is None and feed.is_forecast:
        return f"every {_span(RESOLUTIONS[feed.resolution] // 60 + publication.lag_minutes)}"
    if publication.daily_at is None:
        return f"{_span(publication.lag_minutes)} after the interval"
    day = {-1: "the day before", 0: "the same day", 1: "the day after"}.get(
        publication.day_offset, f"{publication.day_offset} days after"
    )
    return f"{publication.daily_at:%H:%M} {day}"


def _span(minutes: int) -> str:
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:g} h"


def _reach(feed: Feed) -> str:
    if feed.reach_days is None:
        return "unlimited"
    return f"{feed.reach_days} {'day' if feed.reach_days == 1 else 'days'}" if feed.reach_days else "the current day"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(feeds_table(sources().values()))
