"""Change a digit of a year or month in small bodies of every feed: no row far from the requested days is kept."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from assets.fetch.session import Fetched
from assets.ingest import runs
from assets.ingest.context import PipelineContext
from tests.sources.conftest import Sample, own_samples
from warehouse.market.clock import DAY, MarketDay
from warehouse.market.feeds import Feed, Request
from warehouse.rows.schema import Rows
from warehouse.store.storage import Folder

pytestmark = pytest.mark.slow

STAMPED = date(2026, 3, 3)
"""The day of the bodies in `bodies`."""
YEAR = re.compile(rb"(?:19|20)\d\d")
MONTH = re.compile(rb"(?<=[-/.])\d\d(?=[-/.])|(?<=20\d\d)\d\d(?=\d\d)|(?<![\d.])\d\d(?=/\d\d/20)")


def mutations(body: bytes, digits: bytes, most: int) -> Iterator[bytes]:
    """Yield the body with one digit of its first or last years or months changed, and with all years changed."""
    for pattern, width in ((YEAR, 4), (MONTH, 2)):
        spots = [match.start() for match in pattern.finditer(body)]
        for spot in (*spots[:most], *spots[most:][-most:]):
            for place in range(width):
                for digit in digits:
                    if body[spot + place] != digit:
                        yield body[: spot + place] + bytes([digit]) + body[spot + place + 1 :]
    for year in (b"2062", b"1926", b"2027", b"2025"):
        yield body.replace(b"2026", year)


def mutated(sample: Sample, digits: bytes, most: int) -> Iterator[bytes]:
    """Yield the mutations of a body, or of each member if it is a zip."""
    if not sample.body.startswith(b"PK"):
        yield from mutations(sample.body, digits, most)
        return
    with zipfile.ZipFile(io.BytesIO(sample.body)) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    for name, body in entries.items():
        for text in mutations(body, digits, most):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as changed:
                for each, content in {**entries, name: text}.items():
                    changed.writestr(each, content)
            yield out.getvalue()


@dataclass
class Answers:
    """A session that returns the same body for every request."""

    body: bytes
    at: int

    def ask(self, request: Request) -> Fetched:
        return Fetched(request, self.body, self.at)


@dataclass
class Store:
    """A substitute for the store that collects the rows that a run folds."""

    rows: Rows = field(default_factory=Rows)

    def fold(self, storage: Any, feed: str, rows: Rows, *_: Any) -> list[Any]:
        self.rows.merge(rows)
        return []


def test_no_row_with_a_mutated_stamp_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    digits, most = (b"0123456789", 4) if thorough else (b"16", 1)
    monkeypatch.setattr(runs.raw.KeptAnswers, "keep", lambda *_: None)
    monkeypatch.setattr(runs.feed_health, "note", lambda *_: None)
    monkeypatch.setattr(runs.attempts, "note", lambda *_: None)
    bodies = wrong = stray = 0
    for sample in own_samples():
        day = min(sample.request.days, default=STAMPED)
        feed: Feed = sample.feed
        request = Request(
            feed.id, "https://example.org", days=sample.request.days or (day,), zone=sample.request.zone, ext="txt"
        )
        now = MarketDay(day, feed.tz).end + (180 * DAY if feed.yearly else 0)
        monkeypatch.setenv("EMDS_NOW", str(now))
        # The limits are one day after the publication time, and 35 days (400 for a yearly feed) around the day.
        margin = (400 if feed.yearly else 35) * DAY
        earliest = MarketDay(min(request.days), feed.tz).start - margin
        latest = min(
            now + (366 if feed.yearly else feed.ahead_days + 1) * DAY,
            MarketDay(max(request.days), feed.tz).end + margin,
        )
        for body in mutated(sample, digits, most):
            store = Store()
            monkeypatch.setattr(runs.folding, "fold", store.fold)
            context = PipelineContext(Folder(tmp_path), "simulated", {}, (), {}, {feed.source}, Answers(body, now))
            asked = replace(feed, requests=lambda *_, r=request: [r])
            report = runs.ingest_days(context, asked, [MarketDay(request.days[0], feed.tz)])
            bodies += 1
            stray += any(finding.check == "time" for finding in report.findings)
            wrong += any(not earliest <= row.ts < latest for row in store.rows)
    assert bodies > 900, bodies
    assert stray > bodies / 10, "the mutations do reach the rows' stamps"
    assert wrong == 0
    print(f"{bodies} bodies, {stray} with stray rows, {wrong} kept")
