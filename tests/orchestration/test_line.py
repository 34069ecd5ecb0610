"""A day of simulated markets through the whole line, its processes killed: three followers hold the rows served."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from api.access.database import Database
from api.access.usage import UsageCounter
from tests.stand_ins.followers import Follower, Held, NotNow, Reader, Told, served
from tests.stand_ins.line import Api, ReceiverProcess, Verb, load
from warehouse.market.clock import DAY, HOUR, Window, instant, iso
from warehouse.store import layout
from warehouse.store.storage import Folder

pytestmark = pytest.mark.campaign

BEGIN = instant("2026-11-18T00:00:00Z")
ZONES = ("GB", "US-NYISO", "DE-LU")
FEEDS = (
    *("elexon.demand", "elexon.interconnectors", "neso.generation", "energy_charts.price"),
    *("nyiso.load", "eia.demand"),
)
SPAN = Window(BEGIN - 4 * DAY, BEGIN + 3 * DAY)


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

    def run(self, now: int, verbs: list[tuple[str, ...]], kill_at: list[int], torn: int | None = None) -> None:
        """Verbs side by side, killed where told; that of number `torn` once it has put a month file."""
        started = [
            Verb(argv, self.environ(now), at, number == torn)
            for number, (argv, at) in enumerate(zip(verbs, kill_at, strict=True))
        ]
        for each in started:
            code = each.ended()
            self.killed[each.argv[0]] += code is None
            assert code in (None, 0, 1), each.argv  # 1: a receiver that did not answer, a file that is damaged

    def deliver(self, now: int, kill_at: int = 0) -> None:
        """A round, as if the pause after a failure and the lease of a killed deliverer were over."""
        accounts = UsageCounter(Database.opened(f"sqlite:///{self.home / 'accounts.sqlite'}"))
        with accounts.database.begin() as connection:
            connection.exec_driver_sql("UPDATE webhooks SET next_at = 0, claimed_until = 0")
        accounts.close()
        self.run(now, [("webhooks", "deliver")], [kill_at])

    def served(self) -> Held:
        return served(self.home, ZONES, SPAN)

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


@pytest.mark.timeout(600)
def test_three_followers_hold_the_rows_served_after_a_day_of_kills(line: Line) -> None:
    chance = random.Random(20)
    line.begin()
    follower, polling = Follower(line.api, "changes", ZONES), Reader(line.api, "polling")
    told = Told(line.api, "webhooks", ZONES, line.receiver)
    told.held = polling.polled([("demand", "GB")], SPAN)
    for step in range(1, 7):
        now = BEGIN + step * 4 * HOUR
        line.receiver.start(die_at=1, stored=chance.random() < 0.5)
        feeds = chance.sample(FEEDS, 2)
        if step == 3:
            spoil(line.home)
            feeds[0] = FEEDS[0]
        places = [chance.randrange(1, 200), chance.randrange(1, 4)]
        line.run(now, [("ingest", "--feed", feed) for feed in feeds], places, torn=1)
        line.run(now, [("ingest", "--feed", feeds[0])], [0])
        if step % 2:
            line.api.kill_worker()
            line.killed["worker"] += 1
        for each in chance.sample([follower, told], chance.randrange(3)):
            tried(each)
        line.deliver(now, chance.randrange(1, 12))
    line.run(now, [("ingest", "--feed", feed) for feed in FEEDS], [0] * len(FEEDS))
    rows = line.served()
    ends = time.monotonic() + 240
    while follower.held != rows or told.held != rows:
        assert time.monotonic() < ends
        time.sleep(0.3)
        # A fast machine has come so far before the first messages were due: it kills now what it has not killed yet.
        line.receiver.start(die_at=int(line.receiver.died < 2))
        line.deliver(now, int(line.killed["webhooks"] < 2))
        follower.follow()
        told.follow()
    assert polling.polled({(metric, zone) for zone, metric, *_ in rows}, SPAN) == rows == line.served()
    assert {zone for zone, *_ in rows} == set(ZONES)
    assert any(entry["withdrawn"] is None for entry in follower.entries), "the damaged file"
    assert any(entry["changed"] for entry in follower.entries)
    line.killed["receiver"] = line.receiver.died
    assert all(line.killed[name] >= 2 for name in ("ingest", "webhooks", "worker", "receiver")), line.killed


def spoil(home: Path) -> None:
    """A served month's file is cut short."""
    path = Folder(home).path(layout.series("demand", "GB", "2026-11"))
    path.write_bytes(path.read_bytes()[:-40])
