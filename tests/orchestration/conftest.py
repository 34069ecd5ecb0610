"""Provide the fixtures of commands: simulated warehouses, stand-ins of all publishers, accounts with webhooks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assets.fetch.https import Live
from assets.fetch.session import Session
from assets.ingest.context import PipelineContext
from assets.sources import sources
from orchestration.cli import main
from orchestration.work import probe
from orchestration.work.environment import PipelineSettings, open_scratch
from tests.orchestration.webhook_receivers import Post
from tests.stand_ins import postgres
from tests.stand_ins.postgres import NEEDS_POSTGRES
from tests.stand_ins.publishers import KEYS, NOW, Clock, Clocks, Publishers
from warehouse.store.storage import Folder

SIMULATED_AT = "2026-11-20T12:00:00Z"


def in_simulated(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Set the environment of a simulated warehouse at `home`."""
    for name, value in {"EMDS_HOME": str(home), "EMDS_NOW": SIMULATED_AT, "DAGSTER_HOME": ""}.items():
        patch.setenv(name, value)
    for name in ("EMDS_FEEDS", "EMDS_START_DATE"):
        patch.setenv(name, "")  # so that `patch` also undoes what a command sets: `emds replay` sets EMDS_FEEDS
        patch.delenv(name)


@pytest.fixture(scope="session")
def _backfilled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    made: dict[tuple[str, ...], Path] = {}

    def make(feeds: tuple[str, ...]) -> Path:
        if feeds not in made:
            made[feeds] = tmp_path_factory.mktemp("backfilled") / "home"
            with pytest.MonkeyPatch.context() as patch:
                in_simulated(patch, made[feeds])
                for feed in feeds:
                    assert main(["backfill", "--days", "2", "--feed", feed]) == 0
        return made[feeds]

    return make


@pytest.fixture
def backfilled(
    _backfilled: Callable[[tuple[str, ...]], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Folder]:
    """Return `backfilled(home, *feeds)`, which copies a simulated warehouse with three days of the feeds."""

    def copy(home: Path, *feeds: str) -> Folder:
        shutil.copytree(_backfilled(feeds), home, dirs_exist_ok=True)
        in_simulated(monkeypatch, home)
        return Folder(home)

    return copy


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """Return a clock for each source, by which its probe waits and its stand-in counts."""
    clocks = {code: Clock() for code in sources()}

    def timed(settings: PipelineSettings, folder: Path, mode: str) -> PipelineContext:
        clock, pipeline = clocks[folder.name], open_scratch(settings, folder, mode)
        session = Session(Live(), os.environ, tick=clock.tick, sleep=clock.sleep)
        return replace(pipeline, session=session) if mode == "live" else pipeline

    monkeypatch.setattr(probe, "open_scratch", timed)
    return clocks


@pytest.fixture
def publishers(clocks: Clocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Publishers]:
    """Yield the stand-ins, in a live environment with their keys and without a warehouse."""
    for name, value in {**KEYS, "EMDS_NOW": NOW, "EMDS_FEEDS": "live", "EMDS_HOME": str(tmp_path / "none")}.items():
        monkeypatch.setenv(name, value)
    running = Publishers(lambda code: clocks[code].tick())
    with running.reach(tmp_path):
        yield running


@pytest.fixture(scope="module")
def accounts_server() -> Iterator[postgres.Postgres]:
    """Yield a PostgreSQL server for the accounts of one test file."""
    running = postgres.Postgres()
    yield running
    running.close()


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    """Yield webhooks with accounts in SQLite."""
    with Post(tmp_path) as made:
        yield made


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, NEEDS_POSTGRES])])
def post_anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Post]:
    """Yield webhooks with accounts in SQLite, then in PostgreSQL."""
    url = ""
    if request.param == "postgres":
        running: postgres.Postgres = request.getfixturevalue("accounts_server")
        running.empty()
        url = running.url
    with Post(tmp_path, url) as made:
        yield made
