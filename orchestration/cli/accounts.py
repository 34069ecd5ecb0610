"""`emds keys` and `emds webhooks`: who holds keys and how much they use them; whose subscriptions there are."""

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
_HEAD = f"{'id':>6}  {'answers':>8} {'today':>6} {'full days':>9}  {'quota':>6}  {'last used':10}  {'state':11}  email"


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
    """Open the database of a subscription. Raises click.ClickException (exit code 1) where there is none."""
    from api.access import webhooks

    with _accounts() as database:
        if webhooks.get(database, webhook) is None:
            raise click.ClickException(f"there is no webhook {webhook}")
        yield database


def _quota(text: str) -> int | None:
    """Parse answers a day; None for the default quota."""
    if text == "default":
        return None
    if text.isascii() and text.isdigit() and int(text) <= 10_000_000:
        return int(text)
    raise click.BadParameter(f"{text[:40]!r} is neither a number from 0 to 10000000 nor `default`")


@click.group()
def keys() -> None:
    """List keys and their use; revoke one, or set its quota."""


@keys.command("list")
@click.option("--days", type=_COUNT, default=30, show_default=True, help="Over how many days.")
@click.option("--top", type=_COUNT, default=10, show_default=True, help="How many.")
def list_keys(days: int, top: int) -> None:
    """List the live keys, the busiest first, by the true time: keys and quotas never go by EMDS_NOW."""
    from api.access.key_life import key_uses
    from api.access.keys import CALLS_PER_DAY
    from warehouse.market.clock import DAY, iso

    with _accounts() as database:
        uses = key_uses(database, days, CALLS_PER_DAY, int(time.time()))
    live = [use for use in uses if use.revoked is None]
    answers = sum(use.answers for use in uses)
    print(f"{len(live)} active keys of {len(uses)}, {answers} answers in {days} days")
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
    """Revoke a key at once."""
    from api.access.key_life import revoke

    with _accounts() as database:
        if not revoke(database, key, int(time.time())):
            raise click.ClickException(f"there is no key {key}")
    print(f"key {key} is revoked")


@keys.command()
@_KEY
@click.argument("answers", metavar="N", type=_quota)
def quota(key: int, answers: int | None) -> None:
    """Set a key's answers a UTC day: a number, or `default`."""
    from api.access.key_life import set_quota
    from api.access.keys import CALLS_PER_DAY

    with _accounts() as database:
        if not set_quota(database, key, answers):
            raise click.ClickException(f"there is no key {key}")
    print(f"key {key}: {CALLS_PER_DAY if answers is None else answers} answers a day, from its next call on")


@click.group()
def webhooks() -> None:
    """List, deliver, disable, enable or remove subscriptions."""


@webhooks.command("list")
def list_webhooks() -> None:
    """List every subscription: whose, where, and how delivery goes."""
    from urllib.parse import urlsplit

    from api.access import webhooks

    with _accounts() as database:
        subscribed = webhooks.listed(database)
    print(f"{len(subscribed)} webhooks, {sum(each.waiting for each in subscribed)} messages wait")
    for each in subscribed:
        state = "disabled" if each.disabled else "failing" if each.failing_since else "active"
        events, zones = (",".join(names) for names in (each.events, each.zones or ("all",)))
        print(
            f"{each.id}  key {each.key:>4}  {state:9} delivered {each.delivered:>6}  waiting {each.waiting:>4}  "
            f"{urlsplit(each.url).hostname}  {events}  zones {zones}  {each.disabled or each.last_error}"
        )


@webhooks.command()
def deliver() -> int:
    """Deliver what waits, now; exit with 1 where a receiver did not take it."""
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
        webhooks.disable(database, webhook, "by the owner")


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
