"""`emds webhooks`: list, deliver, disable, enable or remove webhook subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from orchestration.cli.keys import open_accounts

if TYPE_CHECKING:
    from api.access.database import Database
    from api.access.webhooks import Webhook

_ID = click.argument("webhook", metavar="ID")


@click.group()
def webhooks() -> None:
    """List, deliver, disable, enable or remove subscriptions."""


@webhooks.command("list")
def list_all() -> None:
    """List every subscription: whose, where, and how delivery goes."""
    from urllib.parse import urlsplit

    from api.access import webhooks

    with open_accounts() as database:
        subscribed = webhooks.listed(database)
    print(f"{len(subscribed)} webhooks, {sum(each.waiting for each in subscribed)} messages wait")
    for each in subscribed:
        print(
            f"{each.id}  key {each.key:>4}  {_state(each):9} delivered {each.delivered:>6}  waiting {each.waiting:>4}  "
            f"{urlsplit(each.subscription.url).hostname}  {','.join(each.subscription.events)}"
        )


@webhooks.command()
def deliver() -> int:
    """Deliver what waits, now; exit with 1 where a receiver did not take it."""
    from orchestration.webhooks import rounds

    counts = rounds.counts()
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    return 1 if counts["failed"] else 0


@webhooks.command()
@_ID
def show(webhook: str) -> None:
    """Show one subscription, without its secret."""
    from warehouse.market.clock import iso

    with _found(webhook) as (found, _):
        subscription = found.subscription
        print(f"{found.id} of key {found.key}, since {iso(found.created)}: {_state(found)}")
        print(f"  url        {subscription.url}")
        print(f"  events     {', '.join(subscription.events)}; zones {', '.join(subscription.zones) or 'all'}")
        print(f"  delivered  {found.delivered}, {found.waiting} wait")
        print(f"  last       {iso(found.last_delivery) if found.last_delivery else 'never'}")
        if found.last_error or found.disabled:
            print(f"  trouble    {found.disabled or found.last_error}, {found.attempts} tries")


@webhooks.command()
@_ID
def disable(webhook: str) -> None:
    """Stop deliveries to a subscription."""
    from api.access import webhooks

    with _found(webhook) as (found, database):
        webhooks.disable(database, found.id, "by the owner")


@webhooks.command()
@_ID
def enable(webhook: str) -> None:
    """Resume deliveries to a subscription."""
    from api.access import webhooks

    with _found(webhook) as (found, database):
        webhooks.enable(database, found.id)


@webhooks.command()
@_ID
def remove(webhook: str) -> None:
    """Remove a subscription."""
    from api.access import webhooks

    with _found(webhook) as (found, database):
        webhooks.remove(database, found.id)


@contextmanager
def _found(webhook: str) -> Iterator[tuple[Webhook, Database]]:
    """Open a subscription and the database. Raises click.ClickException (exit code 1) where there is none."""
    from api.access import webhooks

    with open_accounts() as database:
        found = webhooks.get(database, webhook)
        if found is None:
            raise click.ClickException(f"there is no webhook {webhook}")
        yield found, database


def _state(webhook: Webhook) -> str:
    if webhook.disabled:
        return "disabled"
    return "failing" if webhook.failing_since else "good"
