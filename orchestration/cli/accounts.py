"""Define `emds keys` and `emds webhooks`, which manage API keys, their quotas and webhook subscriptions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from api.access.database import Database

_KEY = click.argument("key", metavar="ID", type=click.IntRange(0, 2**63 - 1))
_WEBHOOK = click.argument("webhook", metavar="ID")
_COUNT = click.IntRange(1, 36_600)
_HEAD = f"{'id':>6}  {'requests':>8} {'today':>6} {'full days':>9}  {'quota':>6}  {'last used':10}  {'state':11}  email"


@contextmanager
def _accounts() -> Iterator[Database]:
    """Open the accounts database of this environment. Raises SettingsError, AccountsUnavailable."""
    from api.access.database import Database
    from api.settings import Settings

    database = Database(Settings.from_environ(os.environ).database_url)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _webhook(webhook: str) -> Iterator[Database]:
    """Open the database of a subscription. Raises click.ClickException (exit code 1) if it does not exist."""
    from api.access import webhooks

    with _accounts() as database:
        if webhooks.get(database, webhook) is None:
            raise click.ClickException(f"There is no webhook {webhook}. `emds webhooks list` lists them.")
        yield database


def _quota(text: str) -> int | None:
    """Parse requests per day; None means the default quota."""
    if text == "default":
        return None
    if text.isascii() and text.isdigit() and int(text) <= 10_000_000:
        return int(text)
    raise click.BadParameter(f"{text[:40]!r} is not valid. Use a number from 0 to 10000000, or `default`.")


@click.group()
def keys() -> None:
    """List and revoke API keys, and set their quotas."""


@keys.command("list")
@click.option("--days", type=_COUNT, default=30, show_default=True, help="Number of days to sum.")
@click.option("--top", type=_COUNT, default=10, show_default=True, help="Number of keys to list.")
def list_keys(days: int, top: int) -> None:
    """List the active keys, busiest first.

    Keys and quotas use the true time, not EMDS_NOW.
    """
    from api.access.key_life import key_uses
    from api.access.keys import CALLS_PER_DAY
    from warehouse.market.clock import DAY, iso

    with _accounts() as database:
        uses = key_uses(database, days, CALLS_PER_DAY, int(time.time()))
    live = [use for use in uses if use.revoked is None]
    answers = sum(use.answers for use in uses)
    print(f"{len(live)} active keys of {len(uses)}, {answers} requests in {days} days")
    print(_HEAD)
    for use in live[:top]:
        last = "never" if use.last_day is None else iso(use.last_day * DAY)[:10]
        quota = CALLS_PER_DAY if use.quota is None else use.quota
        state = "active" if use.confirmed is not None else "unconfirmed"
        numbers = f"{use.id:>6}  {use.answers:>8} {use.today:>6} {use.days_full:>9}  {quota:>6}"
        print(f"{numbers}  {last:10}  {state:11}  {use.email}")


@keys.command()
@_KEY
def revoke(key: int) -> None:
    """Revoke a key immediately."""
    from api.access.key_life import revoke

    with _accounts() as database:
        if not revoke(database, key, int(time.time())):
            raise click.ClickException(f"There is no key {key}. `emds keys list` lists them.")
    print(f"key {key} is revoked")


@keys.command()
@_KEY
@click.argument("answers", metavar="N", type=_quota)
def quota(key: int, answers: int | None) -> None:
    """Set a key's daily quota (UTC): a number, or `default`."""
    from api.access.key_life import set_quota
    from api.access.keys import CALLS_PER_DAY

    with _accounts() as database:
        if not set_quota(database, key, answers):
            raise click.ClickException(f"There is no key {key}. `emds keys list` lists them.")
    print(
        f"key {key}: {CALLS_PER_DAY if answers is None else answers} requests per day, starting with its next request"
    )


@click.group()
def webhooks() -> None:
    """List, deliver, disable, enable or remove subscriptions."""


@webhooks.command("list")
def list_webhooks() -> None:
    """List every subscription with its key, host and deliveries."""
    from urllib.parse import urlsplit

    from api.access import webhooks

    with _accounts() as database:
        subscribed = webhooks.listed(database)
    print(f"{len(subscribed)} webhooks, {sum(each.waiting for each in subscribed)} messages pending")
    for each in subscribed:
        state = "disabled" if each.disabled else "failing" if each.failing_since else "active"
        events, zones = (",".join(names) for names in (each.events, each.zones or ("all",)))
        print(
            f"{each.id}  key {each.key:>4}  {state:9} delivered {each.delivered:>6}  waiting {each.waiting:>4}  "
            f"{urlsplit(each.url).hostname}  {events}  zones {zones}  {each.disabled or each.last_error}"
        )


@webhooks.command()
def deliver() -> int:
    """Deliver pending messages now.

    Exits with 1 if a delivery fails.
    """
    from orchestration.webhooks import delivery

    counts = delivery.run_now()
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    return 1 if counts["failed"] else 0


@webhooks.command()
@_WEBHOOK
def disable(webhook: str) -> None:
    """Stop deliveries to a subscription."""
    from api.access import webhooks

    with _webhook(webhook) as database:
        webhooks.disable(database, webhook, "by the operator")


@webhooks.command()
@_WEBHOOK
def enable(webhook: str) -> None:
    """Resume deliveries to a subscription."""
    from api.access import webhooks

    with _webhook(webhook) as database:
        webhooks.enable(database, webhook)


@webhooks.command()
@_WEBHOOK
def remove(webhook: str) -> None:
    """Remove a subscription."""
    from api.access import webhooks

    with _webhook(webhook) as database:
        webhooks.remove(database, webhook)
