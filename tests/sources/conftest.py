"""Provide the fixtures of all sources: small bodies in `bodies`, recorded responses, and their expected rows."""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assets.sources import codes, feed, feeds
from warehouse.market.clock import days_of
from warehouse.market.feeds import Feed, Request
from warehouse.rows.schema import Rows

RECORDINGS = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared") / "recordings"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Return the folder of recorded responses; skip the test if the folder is missing."""
    if not (RECORDINGS / "MANIFEST.json").exists():
        pytest.skip("no recordings beside the project")
    return RECORDINGS


BODIES = Path(__file__).parent / "bodies"


@dataclass(frozen=True)
class Sample:
    """A body of a feed, and the request that it belongs to."""

    name: str
    feed: Feed
    request: Request
    body: bytes

    def parse(self, body: bytes | None = None) -> Rows:
        return self.feed.parse(self.body if body is None else body, self.request)

    @classmethod
    def from_file(cls, path: Path) -> Sample:
        """Return a body from `bodies`, whose name contains the feed, zone and day."""
        stem, _, ext = path.name.rpartition(".")
        feed_id, *rest = stem.split("@")
        days = next((days_of(part) for part in rest if part[:4].isdigit()), ())
        zone = next((part for part in rest if not part[:4].isdigit()), None)
        body = _zipped(path) if path.is_dir() else path.read_bytes()
        return cls(path.name, feed(feed_id), Request(feed_id, "", days=days, zone=zone, ext=ext), body)


def _zipped(folder: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes())
    return out.getvalue()


@cache
def own_samples() -> tuple[Sample, ...]:
    """Return every body of `bodies` by name, read once."""
    paths = [path for path in sorted(BODIES.iterdir()) if not path.name.endswith((".md", ".expected.csv"))]
    return tuple(Sample.from_file(path) for path in paths)


@cache
def recorded_samples() -> tuple[Sample, ...]:
    """Return every recorded response with rows of its own, read once, or nothing if the recordings are missing."""
    if not (RECORDINGS / "MANIFEST.json").exists():
        return ()
    entries = [
        e
        for e in json.loads((RECORDINGS / "MANIFEST.json").read_bytes())
        if e.get("expected_rows") and e["feed"] in feeds()
    ]
    return tuple(_recorded(entry) for entry in entries)


def _recorded(entry: dict[str, Any]) -> Sample:
    path = RECORDINGS / entry["file"]
    request = Request(
        entry["feed"], "", days=days_of(entry["day"]) if entry["day"] else (), zone=entry["zone"], ext=path.suffix[1:]
    )
    return Sample(entry["file"], feed(entry["feed"]), request, path.read_bytes())


@pytest.fixture
def small_samples(code: str) -> list[Sample]:
    """Return the bodies of a source in `bodies`; there must be at least one."""
    samples = [sample for sample in own_samples() if sample.feed.source == code]
    assert samples, f"no body of {code} in {BODIES}"
    return samples


@pytest.fixture
def samples(code: str, small_samples: list[Sample]) -> list[Sample]:
    """Return all bodies of a source, both small and recorded."""
    return [*small_samples, *(sample for sample in recorded_samples() if sample.feed.source == code)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with `code`, `samples` or `small_samples` per source, and tests with `own` per body of `bodies`."""
    if "code" in metafunc.fixturenames:
        metafunc.parametrize("code", codes())
    if "own" in metafunc.fixturenames:
        metafunc.parametrize("own", own_samples(), ids=lambda sample: sample.name)
