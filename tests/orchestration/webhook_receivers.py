"""Provide accounts with webhooks, an empty warehouse with a change log, and receivers on loopback."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import text

from api.access import sign_up as sign_ups
from api.access import webhooks
from api.access.database import Database
from api.access.keys import Keys
from api.access.webhooks import Webhook
from orchestration.webhooks import delivery
from tests.stand_ins.receiver import Receiver
from warehouse.series import change_log
from warehouse.series.change_log import Change
from warehouse.store.storage import Folder

NOW = 1_800_000_000


@dataclass
class Post:
    """Accounts, an empty warehouse with a change log, and receivers."""

    home: Path
    url: str = ""
    """The URL of the accounts database; by default it is SQLite beside the warehouse."""
    receivers: list[Receiver] = field(default_factory=list)
    opened: list[Database] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.storage = Folder(self.home)
        self.url = self.url or f"sqlite:///{self.home / 'accounts.sqlite'}"
        self.accounts = self.open()
        self.key = sign_ups.sign_up(self.accounts.database, "a@example.org", "127.0.0.1", 1)[0]

    def __enter__(self) -> Post:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self.receivers, *self.opened):
            each.close()

    def open(self) -> Keys:
        accounts = Keys(Database(self.url))
        self.opened.append(accounts.database)
        return accounts

    def receiver(self, **given: Any) -> Receiver:
        made = Receiver(**given)
        self.receivers.append(made)
        return made

    def subscribe(self, url: str, *events: str, key: int = 1, **given: Any) -> Webhook:
        wanted = {"url": url, "events": events or ("changes",), "zones": (), "threshold": None} | given
        return webhooks.create(self.accounts.database, key, wanted, change_log.newest(self.storage), 1)

    def change(self, zone: str = "GB", at: int = 1) -> None:
        change = Change(zone, "demand", "one.fast", at, at, 1, 0, 0)
        change_log.append(self.storage, change, f"{zone}{at}", at)

    def round(self, **given: Any) -> SimpleNamespace:
        send = delivery.sender(private=True)
        return SimpleNamespace(**delivery.run_round(self.storage, self.accounts.database, send, NOW, 0.0, **given))

    def state(self, webhook: Webhook) -> Webhook:
        found = webhooks.get(self.accounts.database, webhook.id)
        assert found is not None
        return found

    def sql(self, statement: str) -> None:
        with self.accounts.database.begin() as connection:
            connection.execute(text(statement))

    def due_now(self) -> None:
        """Make webhooks due, as if the pause and the lease of a killed deliverer were over."""
        self.sql("UPDATE webhooks SET next_at = 0, claimed_until = 0")


def firsts(receiver: Receiver) -> list[int]:
    """Return the `first` of every received entry, in order."""
    return [entry["first"] for message in receiver.taken for entry in message["data"]["entries"]]
