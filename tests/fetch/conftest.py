"""Provide the fixtures of fetching: recorded responses, sessions over scripts, and hosts on loopback."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from assets.fetch import https
from assets.fetch import session as session_module
from assets.fetch.session import Session
from tests.fetch import stand_in_host
from tests.fetch.scripted_publisher import ENVIRON, Clock, Live, Script, example
from warehouse.market.feeds import Source


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Return the folder of recorded responses beside the project; skip the test if the folder is missing."""
    shared = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared")
    folder = shared / "recordings"
    if not (folder / "MANIFEST.json").exists():
        pytest.skip("no recordings beside the project")
    return folder


@pytest.fixture
def clock() -> Clock:
    """Return the clock of `live`."""
    return Clock()


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Live:
    """Return a function that creates a live session over a script, on the clock of the test."""

    def make(script: Script, environ: Mapping[str, str] = ENVIRON, terms: Source | None = None) -> Session:
        monkeypatch.setattr(session_module, "source", lambda code: terms or example())
        return Session(
            script, environ, now=lambda: 1_790_000_000, tick=clock.tick, sleep=clock.sleep, chance=lambda: 0.5
        )

    return make


@pytest.fixture
def example_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the source of `stand_in_host` the only one, and unset proxies."""
    for module in (https, session_module):
        monkeypatch.setattr(module, "source", lambda code: stand_in_host.SOURCE)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def publisher() -> Iterator[Callable[..., stand_in_host.Publisher]]:
    """Yield a function that starts stand-in hosts; close them after the test."""
    running: list[stand_in_host.Publisher] = []

    def start(script: stand_in_host.Script, context: ssl.SSLContext | None = None) -> stand_in_host.Publisher:
        running.append(stand_in_host.Publisher(script, context))
        return running[-1]

    yield start
    for one in running:
        one.close()
