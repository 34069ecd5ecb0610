"""Check webhooks of a warehouse in a bucket: an entry is reported only once every worker serves its rows."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from api.access import webhooks as subscriptions
from api.application import create_app
from api.documents import changes, document_cache
from api.service import WORKER_TTL_S
from api.settings import Settings
from assets.sources import sources
from orchestration.webhooks import delivery, events
from orchestration.webhooks.events import Documents
from tests.stand_ins.clock import Clock
from tests.stand_ins.places import BucketPlace
from tests.warehouse.series_model import BASE
from warehouse import caches
from warehouse.documents import catalogue
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding, month_versions
from warehouse.store import bucket, layout
from warehouse.store.storage import Storage


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (bucket, caches, document_cache, changes, month_versions):
        monkeypatch.setattr(module, "time", made)
    return made


def put(storage: Storage, value: float, known_at: int) -> None:
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [BASE], [value])
    folding.fold(storage, "elexon.demand", rows, {}, {"elexon.demand": 1}, known_at, "simulated")


def settings_of(place: BucketPlace, folder: Path, cache_s: int) -> Settings:
    limits = dict.fromkeys(
        ("free_calls_per_minute", "sample_calls_per_day", "signups_per_hour", "key_calls_per_second"), 0
    )
    url = f"sqlite:///{folder / 'accounts.sqlite'}"
    home = {"home": place.address, "local": str(place.local), "bucket_cache_s": cache_s}
    return Settings(**home, database_url=url, **limits)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("cache_s", [0, 6, 30])
def test_a_row_read_after_its_entry_is_never_older(
    bucket_place: BucketPlace, tmp_path: Path, clock: Clock, cache_s: int
) -> None:
    """Fill the worker's caches at any moment before, and read the entry from the log and from a message."""
    writer, chance = bucket_place.open(), random.Random(cache_s)
    writer.put(layout.MODE, b"simulated")
    catalogue.publish(writer, sources(), "simulated", (), tuple(sources()), BASE)
    settings = settings_of(bucket_place, tmp_path, cache_s)
    app = create_app(settings, ttl_s=WORKER_TTL_S)
    client = app.test_client()
    secret = client.post("/v1/keys/signup", json={"email": "reader@example.org"}).get_json()["api_key"]
    key = {"Authorization": f"Bearer {secret}"}
    put(writer, 0.0, 1)
    database = app.extensions["emds"].gate.database
    wanted = {"url": "https://hook.example/", "events": ("changes",), "zones": (), "threshold": None}
    webhook = subscriptions.create(database, 1, wanted, "0", 1)
    follower = bucket_place.open()

    def read() -> float:
        answer = client.get(f"/v1/demand/GB?start={BASE}&end={BASE + 3600}", headers=key)
        return float(answer.get_json()["data"][0]["value"])

    def count_entries() -> int:
        """Return the number of entries in a message."""
        documents = Documents(follower, delivery.settled_s(settings))
        bodies = events.news_for(documents, webhook, BASE, BASE).bodies
        return len(orjson.loads(bodies[0])["data"]["entries"]) if bodies else 0

    def listed() -> int:
        return int(client.get("/v1/changes").get_json()["count"])

    newest = waited = 0
    while newest < 2 or count_entries() <= newest:
        clock.now += chance.uniform(0.05, 0.5 + cache_s / 10)
        if chance.random() < 0.2:
            read()
        entries = max(count_entries(), listed())
        assert entries == 0 or read() >= entries - 1, f"{clock.now}: told of {entries} entries"
        waited += 1
        assert waited < 200
        if entries == newest + 1 and newest < 2:
            read()  # the cache is filled at the last moment
            newest += 1
            put(writer, float(newest), newest + 1)
    app.extensions["emds"].gate.close()
