"""Webhooks of a warehouse in a bucket: delivered through kills, and never told before every worker gives the rows."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import orjson
import pytest

from api.access import sign_up as sign_ups
from api.access import webhooks as subscriptions
from api.access.database import Database
from api.access.sign_up import SignUp
from api.access.usage import UsageCounter
from api.access.webhooks import Subscription
from api.application import create_app
from api.documents import cache, changes
from api.service import WORKER_TTL_S
from api.settings import Settings
from assets.sources import sources
from orchestration import cli
from orchestration.webhooks import events, rounds
from orchestration.webhooks.events import Documents
from tests.stand_ins.clock import Clock
from tests.stand_ins.places import BucketPlace
from tests.stand_ins.receiver import Receiver
from tests.warehouse.series_model import BASE
from warehouse import caches
from warehouse.documents import catalogue
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series, vintages
from warehouse.store import bucket, layout
from warehouse.store.storage import Storage


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (bucket, caches, cache, changes, vintages):
        monkeypatch.setattr(module, "time", made)
    return made


def put(storage: Storage, value: float, known_at: int) -> None:
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [BASE], [value])
    series.fold(storage, "elexon.demand", rows, {}, {"elexon.demand": 1}, known_at, "simulated")


def settings_of(place: BucketPlace, folder: Path, fresh_s: int) -> Settings:
    limits = dict.fromkeys(
        ("free_calls_per_minute", "sample_calls_per_day", "signups_per_hour", "key_calls_per_second"), 0
    )
    url = f"sqlite:///{folder / 'accounts.sqlite'}"
    home = {"home": place.address, "local": str(place.local), "bucket_fresh_s": fresh_s}
    return Settings(**home, database_url=url, **limits)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("fresh_s", [0, 6, 30])
def test_a_row_read_after_its_entry_is_never_older(
    bucket_place: BucketPlace, tmp_path: Path, clock: Clock, fresh_s: int
) -> None:
    """By a worker whose caches were filled at any moment before; told by the log and by a message."""
    writer, chance = bucket_place.open(), random.Random(fresh_s)
    writer.put(layout.MODE, b"simulated")
    catalogue.publish(writer, sources(), "simulated", (), tuple(sources()), BASE)
    settings = settings_of(bucket_place, tmp_path, fresh_s)
    app = create_app(settings, ttl_s=WORKER_TTL_S)
    client = app.test_client()
    secret = client.post("/v1/keys/signup", json={"email": "reader@example.org"}).get_json()["api_key"]
    key = {"Authorization": f"Bearer {secret}"}
    put(writer, 0.0, 1)
    database = app.extensions["emds"].gate.database
    webhook = subscriptions.create(database, 1, Subscription("https://hook.example/", ("changes",)), "0", 1)
    follower = bucket_place.open()

    def read() -> float:
        answer = client.get(f"/v1/demand/GB?start={BASE}&end={BASE + 3600}", headers=key)
        return float(answer.get_json()["data"][0]["value"])

    def count_entries() -> int:
        """How many entries a message would hold."""
        documents = Documents(follower, rounds._lag_s(settings))
        bodies = events.news_for(documents, webhook, BASE, BASE).bodies
        return len(orjson.loads(bodies[0])["data"]["entries"]) if bodies else 0

    def listed() -> int:
        return int(client.get("/v1/changes").get_json()["count"])

    newest = waited = 0
    while newest < 2 or count_entries() <= newest:
        clock.now += chance.uniform(0.05, 0.5 + fresh_s / 10)
        if chance.random() < 0.2:
            read()
        entries = max(count_entries(), listed())
        assert entries == 0 or read() >= entries - 1, f"{clock.now}: told of {entries} entries"
        waited += 1
        assert waited < 200
        if entries == newest + 1 and newest < 2:
            read()  # filled in the last moment
            newest += 1
            put(writer, float(newest), newest + 1)
    app.extensions["emds"].gate.close()


def deliver(address: str, local: str, database_url: str, _: Storage) -> None:
    """`emds webhooks deliver`, in whatever process."""
    os.environ.update(EMDS_HOME=address, EMDS_LOCAL=local, EMDS_DATABASE_URL=database_url, EMDS_WEBHOOK_PRIVATE="1")
    os.environ["EMDS_BUCKET_FRESH_SECONDS"] = "0"
    cli.main(["webhooks", "deliver"])


@pytest.mark.slow
def test_a_deliverer_over_a_bucket_killed_at_its_requests_loses_and_disorders_nothing(
    bucket_place: BucketPlace, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EMDS_HOME", "EMDS_LOCAL", "EMDS_DATABASE_URL", "EMDS_WEBHOOK_PRIVATE", "EMDS_BUCKET_FRESH_SECONDS"):
        monkeypatch.setenv(name, "")
    url, receiver = f"sqlite:///{tmp_path / 'accounts.sqlite'}", Receiver()
    accounts = UsageCounter(Database.opened(url))
    sign_ups.sign_up(accounts.database, SignUp("a@example.org", "127.0.0.1", ""), 0, 1)
    webhook = subscriptions.create(accounts.database, 1, Subscription(receiver.url, ("changes",)), "0", 1)
    receiver.secret = webhook.secret
    clock.now = 1_000_000.0
    killed = 0
    for turn, step in enumerate((2, 4, 6, 0), 1):
        put(bucket_place.open(), float(turn), turn)
        work = partial(deliver, bucket_place.address, str(bucket_place.local), url)
        if step:
            killed += bucket_place.killed_at(work, step)
        else:
            clock.now += 100
            work(bucket_place.open())
        with closing(sqlite3.connect(tmp_path / "accounts.sqlite", timeout=20)) as connection:
            connection.execute("UPDATE webhooks SET next_at = 0, claimed_until = 0")  # as if its lease were over
            connection.commit()
    entries = [entry for message in receiver.taken for entry in message["data"]["entries"]]
    assert [(e["added"], e["changed"]) for e in entries] == [(1, 0), (0, 1), (0, 1), (0, 1)]
    assert len({e["id"] for e in entries}) == 4
    assert killed == 3
    receiver.close()
    accounts.close()
