"""A day of simulated markets through the whole line, its processes killed: three followers hold the rows served."""

from __future__ import annotations

import random
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from api.access.accounts.store import Accounts
from tests.stand_ins.line import Api, ReceiverProcess, Verb, load
from warehouse import layout, series
from warehouse.clock import DAY, HOUR, Window, instant, iso
from warehouse.storage import Folder

pytestmark = pytest.mark.slow

BEGIN = instant("2026-11-18T00:00:00Z")
ZONES = ("GB", "US-NYISO", "DE-LU")
FEEDS = (
    *("elexon.demand", "elexon.interconnectors", "neso.generation", "energy_charts.price"),
    *("nyiso.load", "eia.demand"),
)
SPAN = Window(BEGIN - 4 * DAY, BEGIN + 3 * DAY)

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


class Copy(Reader):
    """Rows held by entries alone: each entry's span is read again and put in place of what was held there."""

    def __init__(self, api: Api, name: str) -> None:
        super().__init__(api, name)
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
            page = self.api.ask(f"/v1/changes?zone={','.join(ZONES)}&limit=5{since}")
            for entry in page["entries"]:
                self.take(entry)
                self.cursor = entry["id"]
            self.cursor, more = page["next"], page["more"]


class Told(Copy):
    """By what a receiver stored; what came twice under one id counts once."""

    def __init__(self, api: Api, name: str, receiver: ReceiverProcess) -> None:
        super().__init__(api, name)
        self.receiver = receiver
        self.done: set[str] = set()
        wish = {"url": receiver.url, "events": ["changes"], "zones": ZONES}
        made = api.ask("/v1/webhooks", self.key, wish)
        (receiver.folder / "secret").write_text(made["secret"])

    def follow(self) -> None:
        for _, message in self.receiver.taken():
            for entry in message["data"]["entries"]:
                if entry["id"] not in self.done:
                    self.take(entry)
                    self.done.add(entry["id"])


@dataclass
class Line:
    """A warehouse, its processes, and what became of them."""

    home: Path
    killed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.home.mkdir()
        self.api = Api(self.environ(BEGIN + 2 * DAY), self.home.with_suffix(".api"))
        self.receiver = ReceiverProcess(self.home.with_suffix(".receiver"))

    def begin(self) -> None:
        """The first ingest; what it imports, the next ones have."""
        loaded = self.home.with_suffix(".loaded")
        assert Verb(("ingest", "--feed", FEEDS[0]), self.environ(BEGIN), loaded=loaded).ended() == 0
        load(loaded.read_text().splitlines())

    def environ(self, now: int) -> dict[str, str]:
        limits = "FREE_CALLS_PER_MINUTE", "SIGNUPS_PER_HOUR", "KEY_CALLS_PER_SECOND"
        own = {"EMDS_HOME": str(self.home), "EMDS_NOW": iso(now), "DAGSTER_HOME": "", "EMDS_WEBHOOK_PRIVATE": "1"}
        return own | {f"EMDS_{name}": "0" for name in limits}

    def run(self, now: int, verbs: list[tuple[str, ...]], kill_at: list[int]) -> None:
        """Verbs side by side, killed where told."""
        started = [Verb(argv, self.environ(now), at) for argv, at in zip(verbs, kill_at, strict=True)]
        for each in started:
            code = each.ended()
            self.killed[each.argv[0]] += code is None
            assert code in (None, 0, 1), each.argv  # 1: a receiver that did not answer, a file that is damaged

    def deliver(self, now: int, kill_at: int = 0) -> None:
        """A round, as if the pause after a failure and the lease of a killed deliverer were over."""
        accounts = Accounts.open(f"sqlite:///{self.home / 'accounts.sqlite'}")
        with accounts.database.begin() as connection:
            connection.exec_driver_sql("UPDATE webhooks SET next_at = 0, claimed_until = 0")
        accounts.close()
        self.run(now, [("webhooks", "deliver")], [kill_at])

    def served(self) -> Held:
        """The rows of the zones as they lie in the warehouse."""
        held: Held = {}
        for metric, zone in sorted({(m, z) for m, z, _ in series.held(Folder(self.home)) if z in ZONES}):
            for row in series.read(Folder(self.home), zone, metric, SPAN).to_pylist():
                identity = zone, metric, row["ts"], row["fuel"], row["counterparty"], row["link"]
                held[identity] = row["value"], row["unit"], row["resolution"]
        return held

    def close(self) -> None:
        self.receiver.close()
        self.api.close()


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    for name in ("EMDS_FEEDS", "EMDS_FAULTS", "EMDS_RIGHTS", "EMDS_DATABASE_URL", "EMDS_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    made = Line(tmp_path / "home")
    yield made
    made.close()


def tried(follower: Follower | Told) -> None:
    """As far as it gets: a damaged file ends it until it is set aside."""
    try:
        follower.follow()
    except NotNow:
        return


def test_three_followers_hold_the_rows_served_after_a_day_of_kills(line: Line) -> None:
    chance = random.Random(20)
    line.begin()
    follower, polling = Follower(line.api, "changes"), Reader(line.api, "polling")
    told = Told(line.api, "webhooks", line.receiver)
    told.held = polled(polling, [("demand", "GB")])
    for step in range(1, 7):
        now = BEGIN + step * 4 * HOUR
        line.receiver.start(die_at=1, stored=chance.random() < 0.5)
        feeds = chance.sample(FEEDS, 2)
        if step == 3:
            spoil(line.home)
            feeds[0] = FEEDS[0]
        line.run(now, [("ingest", "--feed", feed) for feed in feeds], [chance.randrange(1, 200) for _ in feeds])
        line.run(now, [("ingest", "--feed", feeds[0])], [0])
        if step % 2:
            line.api.kill_worker()
            line.killed["worker"] += 1
        for each in chance.sample([follower, told], chance.randrange(3)):
            tried(each)
        line.deliver(now, chance.randrange(1, 12))
    line.run(now, [("ingest", "--feed", feed) for feed in FEEDS], [0] * len(FEEDS))
    served = line.served()
    ends = time.monotonic() + 120
    while follower.held != served or told.held != served:
        assert time.monotonic() < ends
        line.receiver.start()
        line.deliver(now)
        follower.follow()
        told.follow()
    assert polled(polling, sorted({(metric, zone) for zone, metric, *_ in served})) == served == line.served()
    assert {zone for zone, *_ in served} == set(ZONES)
    assert any(entry["withdrawn"] is None for entry in follower.entries), "the damaged file"
    assert any(entry["changed"] for entry in follower.entries)
    line.killed["receiver"] = line.receiver.died
    assert all(line.killed[name] >= 2 for name in ("ingest", "webhooks", "worker", "receiver")), line.killed


def polled(reader: Reader, pairs: list[tuple[str, str]]) -> Held:
    held: Held = {}
    for metric, zone in pairs:
        held |= reader.rows(zone, metric, SPAN)
    return held


def spoil(home: Path) -> None:
    """A served month's file is cut short."""
    path = Folder(home).path(layout.series("demand", "GB", "2026-11"))
    path.write_bytes(path.read_bytes()[:-40])
