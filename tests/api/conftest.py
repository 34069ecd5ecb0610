"""Build small warehouses from the test sources, with a catalogue and an app, for the tests of the API."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest
from flask.testing import FlaskClient

from api.application import create_app
from api.settings import Settings
from assets.documents import geo_layers, picture, publishers
from assets.documents.publish import publish
from assets.sql.mart_queries import MARTS, refresh, refresh_records
from tests.api.declared_sources import SOURCES, feed, source
from tests.api.gunicorn_server import Served, serving
from tests.api.key_service import Service, opened
from tests.stand_ins.chain import BUYER, Chain
from tests.stand_ins.postgres import NEEDS_POSTGRES, Postgres
from tests.stand_ins.shared import made_once
from tests.stand_ins.trade import Trade, open_trade
from warehouse.documents import catalogue
from warehouse.market.clock import HOUR, instant
from warehouse.market.feeds import Source
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

NOW = instant("2026-03-30T12:10:00Z")
"""The current time in these tests, on the day after Europe's clocks went forward."""


@dataclass
class Rig:
    """A warehouse in a folder, with the applications that serve it."""

    home: Path
    sources: dict[str, Source] = field(default_factory=lambda: dict(SOURCES))
    mode: str = "live"
    now: int = NOW
    apps: list[Any] = field(default_factory=list)

    @property
    def storage(self) -> Folder:
        return Folder(self.home)

    def put(
        self,
        feed_id: str,
        zone: str,
        metric: str,
        rows: Any,
        unit: str = "MW",
        resolution: str = "5m",
        known_at: int = 1,
        **labels: Any,
    ) -> None:
        """Fold the (ts, value) pairs of `rows` into one series."""
        pairs = list(rows)
        batch = Rows()
        batch.extend(
            SeriesKey(zone, metric, unit, resolution, **labels), [ts for ts, _ in pairs], [value for _, value in pairs]
        )
        ranks, terms = catalogue.ranks(self.sources, (), self.mode), catalogue.terms(self.sources, self.mode)
        fold(self.storage, feed_id, batch, {}, ranks, known_at, self.mode, terms)

    def publish(self, rights: tuple[str, ...] = ()) -> dict[str, Any]:
        """Publish and return the catalogue."""
        self.storage.put(layout.MODE, self.mode.encode())
        return catalogue.publish(self.storage, self.sources, self.mode, rights, tuple(self.sources), self.now)

    def put_document(self, name: str, document: Any) -> bytes:
        """Publish a document and return its bytes."""
        body = orjson.dumps(document)
        artefact.put(self.storage, name, body, artefact.new_version())
        return body

    def settings(self, **changes: Any) -> Settings:
        values = {
            "home": str(self.home),
            "database_url": f"sqlite:///{self.home / 'accounts.sqlite'}",
            "base_url": "http://emds.example",
            "free_calls_per_minute": 0,
            "sample_calls_per_day": 0,
            "signups_per_hour": 0,
            "key_calls_per_second": 0,
            **changes,
        }
        return Settings(**values)

    def client(self, **changes: Any) -> FlaskClient:
        app = create_app(self.settings(**changes))
        self.apps.append(app)
        return app.test_client()

    def key(self, client: FlaskClient) -> dict[str, str]:
        """Return the headers for a new key."""
        answer = client.post("/v1/keys/signup", json={"email": f"reader{len(self.apps)}@example.org"})
        return {"Authorization": f"Bearer {answer.get_json()['api_key']}"}

    @staticmethod
    def every(start: int, step: int, count: int, value: Callable[[int], float] = float) -> list[tuple[int, float]]:
        """Return `count` rows that are `step` seconds apart."""
        return [(start + i * step, value(i)) for i in range(count)]

    def close(self) -> None:
        for app in self.apps:
            app.extensions["emds"].gate.close()


@contextmanager
def _rig_at(home: Path) -> Iterator[Rig]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_NOW", "2026-03-30T12:10:00Z")
        rig = Rig(home)
        try:
            yield rig
        finally:
            rig.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Yield an empty warehouse without a catalogue, at NOW."""
    with _rig_at(tmp_path / "home") as rig:
        yield rig


def fill(rig: Rig) -> None:
    """Store two days of everything that the test sources publish."""
    start, every = NOW - NOW % HOUR - 48 * HOUR, rig.every
    rig.put("north.price", "GB", "price", every(start, 1800, 97, lambda i: 50 + i / 8), "GBP/MWh", "30m")
    rig.put("north.grid", "GB", "demand", every(start, 300, 578, lambda i: 30000 + i), "MW", "5m")
    rig.put("north.grid", "GB", "interchange", every(start, 300, 578, lambda i: 100.5 - i), "MW", "5m")
    for link, name in (("ifa", "FR"), ("britned", "NL")):
        rig.put(
            "north.grid",
            "GB",
            "interchange",
            every(start, 300, 578, lambda i: 7.25 + i),
            "MW",
            "5m",
            counterparty=name,
            link=link,
        )
    for fuel in ("gas", "wind", "nuclear"):
        rig.put("north.mix", "GB", "generation", every(start, 1800, 97, lambda i: 33.25), "%", "30m", fuel=fuel)
    rig.put(
        "north.intensity", "GB", "carbon_intensity", every(start, 1800, 97, lambda i: 120 + i % 7), "gCO2/kWh", "30m"
    )
    rig.put("south.hourly", "US-NYISO", "demand", every(start, HOUR, 30, lambda i: 15000 + i), "MW", "1h")
    rig.put("north.grid", "US-NYISO", "demand", every(start + 30 * HOUR, 300, 200, lambda i: 16000 + i), "MW", "5m")
    rig.put("north.price", "DE-LU", "price", every(start, 900, 288, lambda i: 80 - i / 4), "EUR/MWh", "15m")
    rig.put("north.auction", "US-NYISO", "price_day_ahead", every(start, HOUR, 72, lambda i: 40 + i), "USD/MWh", "1h")
    for year in ("2024-12-31T23:00:00Z", "2025-12-31T23:00:00Z"):
        for fuel, value in (("solar", 99000.0), ("gas", 31000.5)):
            rig.put("north.plants", "DE-LU", "capacity", [(instant(year), value)], "MW", "1y", fuel=fuel)
    rig.publish()


def put_mix(rig: Rig) -> None:
    """Store two days of GB's mix from a separate source."""
    rig.sources["mixed"] = source("mixed", (feed("mixed.mix", ("GB",), (Metric.MIX,), "30m"),))
    half_hours = rig.every(NOW - NOW % HOUR - 48 * HOUR, 1800, 97, lambda i: 9_000 + i)
    rig.put("mixed.mix", "GB", "mix", half_hours, "MW", "30m", fuel="gas")
    rig.publish()


def fill_everywhere(rig: Rig) -> None:
    """Publish every document and layer, with values for every zone."""
    fill(rig)
    for zone in ZONES:
        rig.put("north.grid", zone, "demand", rig.every(NOW - 30 * HOUR, HOUR, 29, lambda i: 1000.0 + i), "MW", "1h")
    rig.publish()
    publish(rig.storage, NOW)
    publishers.publish(rig.storage, rig.sources, (), rig.mode, NOW)
    geo_layers.publish(rig.storage)
    picture.publish(rig.storage)
    with duckdb.connect() as connection:
        refresh(rig.storage, connection, MARTS[0], None, (), rig.mode)
        refresh_records(rig.storage, connection, rig.mode)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Yield a function that starts gunicorn over a rig's warehouse on a free port. The server stops after the test."""
    with serving(tmp_path) as start:
        yield start


@pytest.fixture(scope="session")
def _filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "market", _at_present(fill))


@pytest.fixture
def market(rig: Rig, _filled: Path) -> Rig:
    """Return a copy of the shared warehouse with two days of everything that the test sources publish."""
    shutil.copytree(_filled, rig.home)
    return rig


@pytest.fixture
def ask(market: Any) -> Any:
    """Return a function that sends GET requests with a key and decodes the body. `ask.last` is the last response."""
    return asking(market)


def asking(rig: Rig) -> Any:
    """Return the function of the fixture `ask` for a warehouse that the test fills."""
    client = rig.client()
    headers = rig.key(client)

    def get(path: str, status: int = 200) -> Any:
        get.last = client.get(path, headers=headers)  # type: ignore[attr-defined]
        assert get.last.status_code == status, get.last.data  # type: ignore[attr-defined]
        return get.last.get_json()  # type: ignore[attr-defined]

    return get


@pytest.fixture(scope="module")
def shared_market(tmp_path_factory: pytest.TempPathFactory, _filled: Path) -> Iterator[Rig]:
    """Yield the same warehouse as `market`, shared by the tests of a file that fold and publish nothing."""
    with _rig_at(tmp_path_factory.mktemp("shared") / "home") as rig:
        shutil.copytree(_filled, rig.home)
        yield rig


def copy_everywhere(factory: pytest.TempPathFactory, home: Path) -> None:
    """Copy the result of `fill_everywhere` to `home`."""
    shutil.copytree(made_once(factory, "everywhere", _at_present(fill_everywhere)), home)


def _at_present(make: Callable[[Rig], None]) -> Callable[[Path], None]:
    def fill(home: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EMDS_NOW", "2026-03-30T12:10:00Z")
            make(Rig(home))

    return fill


@pytest.fixture
def everywhere(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """Return a copy of the shared warehouse with every document and layer and with values for every zone."""
    copy_everywhere(tmp_path_factory, rig.home)
    return rig


@pytest.fixture(scope="module")
def shared_everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Yield the same warehouse as `everywhere`, shared by the tests of a file that fold and publish nothing."""
    with _rig_at(tmp_path_factory.mktemp("shared") / "home") as rig:
        copy_everywhere(tmp_path_factory, rig.home)
        yield rig


@pytest.fixture
def trade(tmp_path: Path) -> Iterator[Trade]:
    """Yield a service that sells, with facilitators, a node and a buyer."""
    with open_trade(tmp_path) as built:
        yield built


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    """Yield a chain that the tests of a file share. The buyer has ten dollars on it."""
    running = Chain()
    running.mint(BUYER, 10_000_000)
    yield running
    running.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Yield a gate over keys, with a client of the shop behind it. Its clock shows noon until the test moves it."""
    built = opened(tmp_path)
    yield built
    built.gate.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """Yield a server that all tests of a process share. Each test leaves it running and finds what others stored."""
    running = Postgres()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, NEEDS_POSTGRES])])
def accounts_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty accounts database, once for SQLite and once for PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'accounts.sqlite'}"
    server: Postgres = request.getfixturevalue("postgres_server")
    server.empty()
    return server.url
