"""Build the small warehouse that every case starts from, and return its true rows and the rows that a copy serves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days, reparse_days
from assets.sources import feed
from orchestration.work.environment import open_context
from tests.stand_ins import stored_rows
from warehouse.documents import catalogue
from warehouse.errors import MarketError
from warehouse.market.clock import HOUR, MarketDay, instant, local_date
from warehouse.market.feeds import Feed
from warehouse.market.zones import ZONES
from warehouse.store import artefact, layout

NOW = instant("2026-11-18T12:00:00Z")
LATER = NOW + HOUR
FEEDS = ("elexon.demand", "neso.generation", "nyiso.load", "energy_charts.price", "eia.demand")
BASE_DAYS = 6
Served = dict[stored_rows.Row, float]


def days_of(of: Feed, back: int, now: int) -> list[MarketDay]:
    """Return the market days from `back` days ago to today."""
    today = local_date(now, of.tz)
    return [MarketDay(today - timedelta(days=i), of.tz) for i in range(back, -1, -1)]


def opened(home: Path | str, now: int, local: Path | None = None) -> PipelineContext:
    """Return the simulated warehouse of a folder, or of a bucket with a local folder, at the time `now`."""
    for name in ("EMDS_FEEDS", "EMDS_SIMULATED_FAULTS", "EMDS_REDISTRIBUTABLE_SOURCES", "EMDS_LOCAL_DIR"):
        os.environ.pop(name, None)
    os.environ.update(
        {"EMDS_HOME": str(home), "EMDS_NOW": str(now)} | ({"EMDS_LOCAL_DIR": str(local)} if local else {})
    )
    return open_context()


def ingest(pipeline: PipelineContext, now: int, back: int = 1) -> tuple[list[RunReport], list[str]]:
    """Run every feed as its schedule does, and publish; return the reports and what could not be published."""
    done = [ingest_days(pipeline, feed(name), days_of(feed(name), back, now)) for name in FEEDS]
    return done, refresh_all(pipeline)


def reparse(pipeline: PipelineContext, now: int) -> None:
    """Rebuild all days, as `emds rebuild` does."""
    for name in FEEDS:
        reparse_days(pipeline, feed(name), days_of(feed(name), BASE_DAYS, now))
    refresh_all(pipeline)


@dataclass(frozen=True)
class Truth:
    """The warehouse before any fault, and the rows that it may serve: those of before and of an hour later."""

    home: Path
    before: Served
    after: Served

    def lost(self, rows: Served) -> int:
        """Return the number of rows that were served before and are no longer served."""
        return len(self.before.keys() - rows.keys())

    def wrong(self, rows: Served) -> int:
        """Return the number of rows that are in neither truth, or have another value."""
        return sum(value not in (self.before.get(key), self.after.get(key)) for key, value in rows.items())


def built(folder: Path) -> Truth:
    """Build the small warehouse, and run the next hour on a copy."""
    home = folder / "base"
    ingest(opened(home, NOW), NOW, BASE_DAYS)
    before, unreadable = served(opened(home, NOW))
    assert before
    assert not unreadable
    clean = folder / "clean"
    shutil.copytree(home, clean)
    ingest(opened(clean, LATER), LATER)
    truth = Truth(home, before, served(opened(clean, LATER))[0])
    assert truth.before.keys() <= truth.after.keys()
    assert set(renewed(opened(clean, LATER), LATER)) == with_documents(truth)
    return truth


def served(pipeline: PipelineContext) -> tuple[Served, list[str]]:
    """Return every served row, and the zones and metrics that cannot be read."""
    rows, unreadable = stored_rows.served(pipeline.storage)
    return dict(rows), unreadable


def with_documents(truth: Truth) -> set[str]:
    """Return the zones that have values."""
    return {zone for zone, *_ in truth.before}


def renewed(pipeline: PipelineContext, now: int) -> Sequence[str]:
    """Return the zones whose latest and brief were generated at `now`."""
    described = catalogue.load(pipeline.storage)
    assert described is not None
    return [
        zone
        for zone in ZONES
        if (_stamp(pipeline, layout.latest(zone), "updated"), _stamp(pipeline, layout.brief(zone), "as_of"))
        == (now, now)
    ]


def _stamp(pipeline: PipelineContext, name: str, member: str) -> int | None:
    try:
        body = artefact.load(pipeline.storage, name)
    except MarketError:
        return None
    return None if body is None else int(body[member])
