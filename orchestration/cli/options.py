"""Define the options that several commands of `emds` share: feeds, market days and the address of the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from warehouse.market.feeds import Feed

PORT, COUNT = click.IntRange(0, 65_535), click.IntRange(1, 36_600)
Verb = Callable[..., int | None]


def day(text: str) -> date:
    """Parse a market day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text[:40]!r} is not a date. Use the form 2026-01-31.") from None


def _choose(context: click.Context, _: click.Parameter, feeds: Sequence[str]) -> list[Feed]:
    from orchestration.work import backfill

    try:
        return backfill.chosen(context.params.pop("source"), feeds)
    except KeyError as error:
        raise click.UsageError(f"There is no source or feed {error.args[0]}. docs/feeds.md lists them.") from None


def add_feed_options(verb: Verb) -> Verb:
    """Add the repeatable options that select feeds; the command gets them as `feeds`."""
    by_feed = click.option(
        "--feed",
        "feeds",
        multiple=True,
        callback=_choose,
        help="Only this feed, for example aemo.dispatch (repeatable).",
    )
    return click.option("--source", multiple=True, is_eager=True, help="Only this source (repeatable).")(by_feed(verb))


def _in_order(context: click.Context, _: click.Parameter, end: date | None) -> date | None:
    start = context.params["start"]
    if start and end and end < start:
        raise click.UsageError("--end is before --start.")
    return end


def add_day_options(verb: Verb) -> Verb:
    """Add the options that select a range of market days."""
    by_end = click.option("--end", type=day, metavar="D", callback=_in_order, help="Last market day.")
    return click.option("--start", type=day, metavar="D", is_eager=True, help="First market day.")(by_end(verb))


def add_trial_options(verb: Verb) -> Verb:
    """Add the options of `probe` and `record`."""
    by_day = click.option(
        "--day", type=day, metavar="D", help="Past market day to fetch (default: the newest complete one)."
    )
    return add_feed_options(by_day(verb))


def add_address_options(verb: Verb) -> Verb:
    """Add the options for the address of the API."""
    by_host = click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="Address of the API. Put a proxy in front of a public one.",
    )
    return click.option("--port", type=PORT, default=8000, show_default=True, help="Port of the API.")(by_host(verb))
