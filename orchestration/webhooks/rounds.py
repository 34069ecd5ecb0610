"""Run a round of webhook deliveries: for Dagster's asset `accounts/webhooks` and for `emds webhooks deliver`."""

from __future__ import annotations

import os
import time
from dataclasses import asdict

from api.access import webhooks
from api.documents import changes
from api.service import lag_s
from api.settings import Settings
from orchestration.cli.keys import open_accounts
from orchestration.webhooks import delivery
from orchestration.work.resources import opened
from warehouse.market import clock
from warehouse.series import change_log
from warehouse.store import layout

SPARE_S = 1.0
"""The clocks of machines differ."""


def counts() -> dict[str, int]:
    """Run one round of deliveries; return what it did, by name. Raises AccountsUnavailable."""
    settings = Settings.from_environ(os.environ)
    with open_accounts() as database:
        send = delivery.sender(settings.webhook_private)
        return asdict(delivery.run_round(opened(os.environ), database, send, clock.now(), _lag_s(settings)))


def place() -> str:
    """Return the position of the change log and the version of the documents: when it changes, there may be news."""
    storage, until = opened(os.environ), changes.settled(_lag_s(Settings.from_environ(os.environ)))
    standing = storage.stat(layout.published(layout.SNAPSHOT))
    return f"{change_log.newest(storage, until)} {standing.version if standing else 0}"


def due() -> tuple[bool, bool]:
    """Return whether anybody subscribed, and whether a waiting message is due. Raises AccountsUnavailable."""
    with open_accounts() as database:
        return bool(webhooks.deliverable(database)), webhooks.any_due(database, int(time.time()))


def _lag_s(settings: Settings) -> float:
    """Seconds that a change waits: as long as a worker of the API, by the same settings, may still give older rows."""
    return lag_s(settings) + SPARE_S
