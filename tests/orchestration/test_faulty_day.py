"""A simulated day with faults on three sources: shown with reasons while they last, then all catch up."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api.application import create_app
from api.settings import Settings
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh
from assets.ingest.runs import ingest_days
from assets.sources import feed
from orchestration.work import backfill, gaps, verify
from orchestration.work.resources import open_context
from warehouse.documents import health
from warehouse.market import clock
from warehouse.market.clock import HOUR, iso

pytestmark = pytest.mark.slow

BEGIN = clock.instant("2026-11-18T00:00:00Z")
FEEDS = [
    feed(name)
    for name in ("neso.generation", "elexon.demand", "nyiso.load", "caiso.demand", "caiso.fuelsource", "eia.demand")
]
FAULTS = {
    "neso": ("503", "api.carbonintensity.org.uk answers 503", 6, 14),
    "nyiso": ("timeout", "timed out (simulated)", 8, 12),
    "caiso": ("changed", "no column", 4, 18),
}
"""Source -> kind, what its reason says, from and until which hour of the day."""
EVERY = 2
"""Hours between two runs of every feed; those in `FAULTS` are among them, so that each beginning and end is seen."""


def settings_of(begin: int) -> str:
    return ",".join(
        f"{s}:{kind}@{iso(begin + a * HOUR)}/{iso(begin + b * HOUR)}" for s, (kind, _, a, b) in FAULTS.items()
    )


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", iso(BEGIN))
    monkeypatch.setenv("EMDS_FAULTS", settings_of(BEGIN))
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    return open_context()


def ask_all(pipeline: PipelineContext) -> None:
    """One scheduled run of every feed: the days it may still revise, and today."""
    for task in backfill.plan(FEEDS, None, None):
        refresh(pipeline, ingest_days(pipeline, feed(task.feed), backfill.days_of(task)).zones)


def states_of(client: FlaskClient) -> dict[str, tuple[str, str]]:
    """State and last error of each source's own zone, as anybody sees them."""
    zones = {"neso": "GB", "elexon": "GB", "nyiso": "US-NYISO", "caiso": "US-CAISO", "eia": "US-PJM"}
    body = client.get("/v1/status").get_json()
    states = {(s["source"], s["zone"]): (s["state"], s["last_error"]) for s in body["sources"]}
    return {source: states[source, zone] for source, zone in zones.items()}


def test_faults_are_told_and_healed(pipeline: PipelineContext, monkeypatch: pytest.MonkeyPatch) -> None:
    client = create_app(
        Settings.from_environ({"EMDS_HOME": str(pipeline.storage.root), "EMDS_FREE_CALLS_PER_MINUTE": "0"})
    ).test_client()
    seen: dict[str, set[str]] = {code: set() for code in FAULTS}
    for hour in range(0, 25, EVERY):
        monkeypatch.setenv("EMDS_NOW", iso(BEGIN + hour * HOUR))
        ask_all(pipeline)
        monkeypatch.setenv("EMDS_NOW", iso(BEGIN + hour * HOUR + 60))
        states = states_of(client)
        for code, (state, error) in states.items():
            _, reason, first, until = FAULTS.get(code, ("", "", 99, 99))
            if first <= hour < until:
                assert reason in error, (hour, code, error)
                seen[code].add(state)
            else:
                assert error == "", (hour, code, state, error)
                assert code in FAULTS or _fine(pipeline, code), (hour, code, state)
    assert all(_fine(pipeline, feed.source) for feed in FEEDS)
    assert all("late" in states or "down" in states for states in seen.values()), seen
    assert gaps.find(pipeline, FEEDS, 1) == ([], [])
    assert verify.broken(pipeline.storage) == []


def _fine(pipeline: PipelineContext, code: str) -> bool:
    """Whether no feed of a source that is asked here is overdue."""
    now = clock.now()
    mine = [f for f in FEEDS if f.source == code]
    known = {(h.feed, h.zone): h for h in health.load(pipeline.storage, code)}
    return all(
        health.state(known[f.id, z], f.publication, f.tz, f.resolution, now) == "ok" for f in mine for z in f.zones
    )
