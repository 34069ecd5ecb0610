"""`emds keys`: list who holds keys and how much they use them; revoke a key, or set its quota."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from api.access.database import Database

KEY = click.IntRange(0, 2**63 - 1)
_HEAD = f"{'id':>6}  {'answers':>8} {'today':>6} {'full days':>9}  {'quota':>6}  {'last used':10}  {'state':11}  email"


def quota_of(text: str) -> int | None:
    """Parse answers a day; None for the usual quota."""
    if text == "usual":
        return None
    if text.isascii() and text.isdigit() and int(text) <= 10_000_000:
        return int(text)
    raise click.BadParameter(f"{text[:40]!r} is neither a number from 0 to 10000000 nor `usual`")


@click.group()
def keys() -> None:
    """List keys and their use; revoke one, or set its quota."""


@keys.command("list")
@click.option("--days", type=click.IntRange(1, 36_600), default=30, show_default=True, help="Over how many days.")
@click.option("--top", type=click.IntRange(1, 36_600), default=10, show_default=True, help="How many.")
def list_keys(days: int, top: int) -> None:
    """List the live keys, the busiest first, by the true time: keys and quotas never go by EMDS_NOW."""
    from api.access.key_listing import key_uses
    from api.access.usage import CALLS_PER_DAY
    from warehouse.market.clock import DAY, iso

    with open_accounts() as database:
        uses = key_uses(database, days, CALLS_PER_DAY, int(time.time()))
    live = [use for use in uses if use.revoked is None]
    answers = sum(use.answers for use in uses)
    print(f"{len(live)} live keys of {len(uses)}, {answers} answers in {days} days")
    print(_HEAD)
    for use in live[:top]:
        last = "never" if use.last_day is None else iso(use.last_day * DAY)[:10]
        quota = CALLS_PER_DAY if use.quota is None else use.quota
        state = "live" if use.confirmed is not None else "unconfirmed"
        numbers = f"{use.id:>6}  {use.answers:>8} {use.today:>6} {use.days_full:>9}  {quota:>6}"
        print(f"{numbers}  {last:10}  {state:11}  {use.email}")


@keys.command()
@click.argument("key", metavar="ID", type=KEY)
def revoke(key: int) -> int:
    """Revoke a key at once."""
    from api.access.key_listing import revoke_by_number

    with open_accounts() as database:
        known = revoke_by_number(database, key, int(time.time()))
    if not known:
        return _no_key(key)
    print(f"key {key} is revoked")
    return 0


@keys.command()
@click.argument("key", metavar="ID", type=KEY)
@click.argument("answers", metavar="N", type=quota_of)
def quota(key: int, answers: int | None) -> int:
    """Set a key's answers a UTC day: a number, or `usual`."""
    from api.access.key_listing import set_quota
    from api.access.usage import CALLS_PER_DAY

    with open_accounts() as database:
        known = set_quota(database, key, answers)
    if not known:
        return _no_key(key)
    print(f"key {key}: {CALLS_PER_DAY if answers is None else answers} answers a day, from its next call on")
    return 0


@contextmanager
def open_accounts() -> Iterator[Database]:
    """Open the accounts database of this environment. Raises SettingsError, AccountsUnavailable."""
    from api.access.database import Database
    from api.settings import Settings

    database = Database.opened(Settings.from_environ(os.environ).database_url)
    try:
        yield database
    finally:
        database.close()


def _no_key(key: int) -> int:
    print(f"there is no key {key}")
    return 1
