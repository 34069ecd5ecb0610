"""Whoever holds copies of rows by HTTP alone: by polling, by the cursor of changes, by what a receiver was told."""

from __future__ import annotations

import urllib.error
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.stand_ins import stored_rows
from tests.stand_ins.line import Api, ReceiverProcess
from warehouse.market.clock import Window
from warehouse.series import series
from warehouse.store.storage import Folder

Row = tuple[Any, ...]
Held = dict[Row, Row]
"""Zone, metric, ts, fuel, border and tie -> value, unit and resolution."""


class NotNow(Exception):
    """The rows cannot be had at the moment: their file is damaged."""


@dataclass
class Reader:
    """Somebody with a key of their own."""

    api: Api
    name: str
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.api.ask("/v1/keys/signup", body={"email": f"{self.name}@example.org"})["api_key"]

    def rows(self, zone: str, metric: str, window: Window) -> Held:
        """The rows of a series as the API gives them now. Raises NotNow."""
        held: Held = {}
        for by in ("", "&by=border") if metric == "interchange" else ("",):
            path = f"/v1/{metric.replace('_', '-')}/{zone}?start={window.start}&end={window.end}&limit=5000{by}"
            try:
                answer = self.api.ask(path, self.key)
            except urllib.error.HTTPError as refused:
                if refused.code != 503:
                    raise
                raise NotNow from None
            assert not answer["truncated"]
            for row in answer["data"]:
                identity = zone, metric, row["ts"], row.get("fuel"), row.get("counterparty"), row.get("link")
                held[identity] = row["value"], row["unit"], row["resolution"]
        return held

    def polled(self, pairs: Iterable[tuple[str, str]], window: Window) -> Held:
        """The rows of these metrics and zones."""
        held: Held = {}
        for metric, zone in sorted(pairs):
            held |= self.rows(zone, metric, window)
        return held


class Copy(Reader):
    """Rows held by entries alone: each entry's span is read again and put in place of what was held there."""

    def __init__(self, api: Api, name: str, zones: Sequence[str]) -> None:
        super().__init__(api, name)
        self.zones = zones
        self.held: Held = {}
        self.entries: list[dict[str, Any]] = []

    def take(self, entry: dict[str, Any]) -> None:
        zone, metric, first, last = (entry[name] for name in ("zone", "metric", "first", "last"))
        fresh = self.rows(zone, metric, Window(first, last + 1))
        inside = {at for at in self.held if at[:2] == (zone, metric) and first <= at[2] <= last}
        self.held = {at: row for at, row in self.held.items() if at not in inside} | fresh
        self.entries.append(entry)


class Follower(Copy):
    """By the cursor of `/v1/changes`."""

    cursor = ""

    def follow(self) -> None:
        more = True
        while more:
            since = f"&since={self.cursor}" if self.cursor else ""
            page = self.api.ask(f"/v1/changes?zone={','.join(self.zones)}&limit=5{since}")
            for entry in page["entries"]:
                self.take(entry)
                self.cursor = entry["id"]
            self.cursor, more = page["next"], page["more"]


class Told(Copy):
    """By what a receiver stored; what came twice under one id counts once."""

    def __init__(self, api: Api, name: str, zones: Sequence[str], receiver: ReceiverProcess) -> None:
        super().__init__(api, name, zones)
        self.receiver = receiver
        self.done: set[str] = set()
        wish = {"url": receiver.url, "events": ["changes"], "zones": zones}
        made = api.ask("/v1/webhooks", self.key, wish)
        (receiver.folder / "secret").write_text(made["secret"])

    def follow(self) -> None:
        for _, message in self.receiver.taken():
            for entry in message["data"]["entries"]:
                if entry["id"] not in self.done:
                    self.take(entry)
                    self.done.add(entry["id"])


def served(home: Path, zones: Collection[str], window: Window) -> Held:
    """The rows of zones as they lie in a warehouse."""
    held: Held = {}
    for metric, zone in sorted({(m, z) for m, z, _ in series.places(Folder(home)) if z in zones}):
        for row in stored_rows.read(Folder(home), zone, metric, window).to_pylist():
            identity = zone, metric, row["ts"], row["fuel"], row["counterparty"], row["link"]
            held[identity] = row["value"], row["unit"], row["resolution"]
    return held
