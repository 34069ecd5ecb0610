"""`emds webhooks`, and the round of deliveries that Dagster's asset `accounts/webhooks` runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from api.access.accounts import webhooks
from api.access.accounts.store import Accounts
from api.access.accounts.webhooks import Webhook
from api.documents import changes
from api.service import lag_s
from api.settings import Settings
from orchestration import webhook_delivery
from orchestration.resources import opened
from warehouse import change_log, clock, layout
from warehouse.clock import iso
from warehouse.storage import Storage

SPARE_S = 1.0
"""The clocks of machines differ."""
MOST_WAIT_S = 30.0
"""So long a command waits for its own changes to be told; those of a bucket that is looked at seldom are told by the
next round."""


def counts() -> dict[str, int]:
    """One round of deliveries; what it did, by name. Raises AccountsUnavailable."""
    settings = Settings.from_environ(os.environ)
    with _open(settings) as accounts:
        send = webhook_delivery.sender(settings.webhook_private)
        return webhook_delivery.run_round(_storage(), accounts.database, send, clock.now(), _lag_s(settings)).by_name()


def after_command() -> None:
    """A round after a command that ingested, where anybody subscribed: without a daemon nobody else delivers."""
    settings = Settings.from_environ(os.environ)
    path = settings.database_url.removeprefix("sqlite:///")
    if path == settings.database_url or os.path.exists(path):
        with _open(settings) as accounts:
            subscribed = bool(webhooks.deliverable(accounts.database))
        if subscribed:
            wait_s = _lag_s(settings) + 2  # what this command changed is told a moment later
            time.sleep(wait_s if wait_s <= MOST_WAIT_S else 0)
            counts()


def place() -> str:
    """Where log and documents stand, for whoever wants to know whether there is something to make messages of."""
    storage, until = _storage(), changes.settled(_lag_s(Settings.from_environ(os.environ)))
    standing = storage.stat(layout.published(layout.SNAPSHOT))
    return f"{change_log.newest(storage, until)} {standing.version if standing else 0}"


def due() -> tuple[bool, bool]:
    """Whether anybody subscribed, and whether a message waits whose time has come. Raises AccountsUnavailable."""
    with _open(Settings.from_environ(os.environ)) as accounts:
        return bool(webhooks.deliverable(accounts.database)), webhooks.any_due(accounts.database, int(time.time()))


def listed() -> int:
    """Prints every subscription: whose, where, and how delivery goes."""
    with _open(Settings.from_environ(os.environ)) as accounts:
        subscribed = webhooks.listed(accounts.database)
    print(f"{len(subscribed)} webhooks, {sum(each.waiting for each in subscribed)} messages wait")
    for each in subscribed:
        print(
            f"{each.id}  key {each.key:>4}  {_state(each):9} delivered {each.delivered:>6}  waiting {each.waiting:>4}  "
            f"{urlsplit(each.subscription.url).hostname}  {','.join(each.subscription.events)}"
        )
    return 0


def shown(webhook: str) -> int:
    """Prints one subscription, without its secret; 1 where there is none."""

    def print_one(found: Webhook, _: Accounts) -> None:
        print(f"{found.id} of key {found.key}, since {iso(found.created)}: {_state(found)}")
        print(f"  url        {found.subscription.url}")
        print(
            f"  events     {', '.join(found.subscription.events)}; zones {', '.join(found.subscription.zones) or 'all'}"
        )
        print(f"  delivered  {found.delivered}, {found.waiting} wait")
        print(f"  last       {iso(found.last_delivery) if found.last_delivery else 'never'}")
        if found.last_error or found.disabled:
            print(f"  trouble    {found.disabled or found.last_error}, {found.attempts} tries")

    return _on(webhook, print_one)


def disabled(webhook: str) -> int:
    """Ends deliveries to a subscription; 1 where there is none."""
    return _on(webhook, lambda found, accounts: webhooks.disable(accounts.database, found.id, "by the owner"))


def enabled(webhook: str) -> int:
    """Takes deliveries up again; 1 where there is none."""
    return _on(webhook, lambda found, accounts: webhooks.enable(accounts.database, found.id))


def removed(webhook: str) -> int:
    """Removes a subscription; 1 where there is none."""
    return _on(webhook, lambda found, accounts: webhooks.remove(accounts.database, found.id))


def delivered() -> int:
    """Delivers what waits, now; 1 where a receiver did not take it."""
    done = counts()
    print(", ".join(f"{name} {count}" for name, count in done.items()))
    return 1 if done["failed"] else 0


def _on(webhook: str, act: Callable[[Webhook, Accounts], None]) -> int:
    with _open(Settings.from_environ(os.environ)) as accounts:
        found = webhooks.get(accounts.database, webhook)
        if found is None:
            print(f"there is no webhook {webhook}")
            return 1
        act(found, accounts)
    return 0


def _state(webhook: Webhook) -> str:
    if webhook.disabled:
        return "disabled"
    return "failing" if webhook.failing_since else "good"


def _lag_s(settings: Settings) -> float:
    """So long a change waits: as long as a worker of the API, by the same settings, may give the rows of before."""
    return lag_s(settings) + SPARE_S


def _storage() -> Storage:
    return opened(os.environ)


@contextmanager
def _open(settings: Settings) -> Iterator[Accounts]:
    accounts = Accounts.open(settings.database_url)
    try:
        yield accounts
    finally:
        accounts.close()
