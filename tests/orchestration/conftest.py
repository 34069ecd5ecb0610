"""Shared by the tests of commands: stand-ins of all publishers, and a live environment that leads to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from assets.fetch.session import Transport
from assets.sources import sources
from orchestration import probe
from orchestration.trial import Trials
from tests.stand_ins.publishers import KEYS, NOW, Clock, Clocks, Publishers
from warehouse.market import Source


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """A clock for each source, by which its trials wait and its stand-in counts."""
    clocks = {code: Clock() for code in sources()}

    def timed(source: Source, transport: Transport, environ: Mapping[str, str] | None, most: int) -> Trials:
        clock = clocks[source.code]
        return Trials(source, transport, environ, most, clock.tick, clock.sleep)

    monkeypatch.setattr(probe, "Trials", timed)
    return clocks


@pytest.fixture
def publishers(clocks: Clocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Publishers]:
    """The stand-ins, and a live environment with their keys whose warehouse does not exist."""
    for name, value in {**KEYS, "EMDS_NOW": NOW, "EMDS_FEEDS": "live", "EMDS_HOME": str(tmp_path / "none")}.items():
        monkeypatch.setenv(name, value)
    running = Publishers(lambda code: clocks[code].tick())
    with running.reach(tmp_path):
        yield running
