"""Test recorded responses: they are found by feed, zone, day and URL, and each can be requested again."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from assets.fetch.credentials import Credentials
from assets.fetch.recorded import Recorded, recorded_requests, recordings
from assets.sources import feeds
from warehouse.errors import FeedError, NotPublished, StorageError
from warehouse.market.clock import days_of
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import is_forecast

NONE = Credentials()
FEED = "neso.generation"
API = "https://h/api?in_Domain={}&out_Domain={}&periodStart=202409012200"
MIX = "https://h/generation/2026-08-01T00:00Z/2026-08-0{}T00:00Z"


def entry(
    file: str, feed: str | None, zone: str | None, day: str | None, url: str, status: int = 200
) -> dict[str, object]:
    return {"file": file, "feed": feed, "zone": zone, "day": day, "request_url": url, "http_status": status}


ENTRIES = [
    entry("a.json", FEED, "GB", "2026-08-01", MIX.format(2)),
    entry("b.xml", "entsoe.flows", "NL", "2024-09", API.format("NL", "DE") + "&securityToken=REDACTED (inferred)"),
    entry("c.xml", "entsoe.flows", "NL", "2024-09", API.format("DE", "NL")),
    entry("d.html", FEED, None, None, "POST https://h/busy?... (twice in 5 s)", 429),
    entry("neighbour.csv", None, "GB", "2026-08-01", ""),
    {"file": "of_no_feed.csv", "note": "another quantity"},
    entry("a.json", "neso.carbon_intensity", "GB", "2026-08-01", MIX.format(2)),
    entry("dirlisting.html", FEED, None, None, "https://h/dir/"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "MANIFEST.json").write_text(json.dumps(ENTRIES))
    for entry in ENTRIES:
        (tmp_path / str(entry["file"])).write_text(f"body of {entry['file']}")
    return tmp_path


def fetched(folder: Path, request: Request) -> bytes:
    return Recorded(folder)(request, NONE).body


def test_a_question_that_nobody_recorded_is_not_published(folder: Path) -> None:
    with pytest.raises(NotPublished):
        fetched(folder, Request(FEED, MIX.format(2), days=(date(2026, 8, 1),), zone="GB"))


def test_every_recording_of_a_known_feed_can_be_asked_for_again(folder: Path) -> None:
    requests = recorded_requests(folder)
    known = [entry for entry in ENTRIES if entry.get("feed") in feeds()]
    assert [q.feed for q in requests] == [entry["feed"] for entry in known]
    assert [fetched(folder, q).decode() for q in requests] == [f"body of {entry['file']}" for entry in known]
    assert {q.url for q in requests if q.kind == "listing"} == {"https://h/dir/#dirlisting.html"}
    assert Recorded(folder)(next(q for q in requests if q.ext == "html"), NONE).status == 429


@pytest.mark.parametrize("manifest", ["{", '[{"feed": "neso.generation"}]'])
def test_a_manifest_that_is_none_is_typed(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "MANIFEST.json").write_text(manifest)
    with pytest.raises(StorageError):
        recordings(tmp_path)


def test_every_recording_gives_the_rows_that_its_manifest_expects(request: pytest.FixtureRequest) -> None:
    """Compare all rows; those of forecasts, the mix and carbon intensity count only if some are expected."""
    folder: Path = request.getfixturevalue("recordings")
    entries = [e for e in json.loads((folder / "MANIFEST.json").read_bytes()) if e.get("expected") and e.get("feed")]
    assert entries
    wrong = []
    for entry in entries:
        expected, parsed = _expected(folder, entry), _parsed(folder, entry)
        metrics = {str(metric) for metric, *_ in expected}
        parsed = {
            key: value for key, value in parsed.items() if str(key[0]) in metrics or not _counts_if_expected(key[0])
        }
        if parsed != expected:
            wrong.append(entry["file"])
    assert wrong == []


def _counts_if_expected(metric: object) -> bool:
    return is_forecast(str(metric)) or str(metric) in ("mix", "carbon", "carbon_estimate")


def _parsed(folder: Path, entry: dict[str, Any]) -> dict[tuple[object, ...], object]:
    days = days_of(entry["day"]) if entry["day"] else ()
    request = Request(entry["feed"], "", days=days, zone=entry["zone"], ext=entry["file"].rpartition(".")[2])
    try:
        rows = feeds()[entry["feed"]].parse((folder / entry["file"]).read_bytes(), request)
    except FeedError:
        return {}
    return {
        (r.metric, r.zone, r.fuel or "", r.ts, r.unit, r.resolution): pytest.approx(r.value, rel=1e-6, abs=1e-6)
        for r in rows
        if r.counterparty is None
    }


def _expected(folder: Path, entry: dict[str, Any]) -> dict[tuple[object, ...], object]:
    with (folder / entry["expected"]).open() as lines:
        return {
            (r["metric"], r["zone"], r["fuel"], int(r["ts"]), r["unit"], r["resolution"]): float(r["value"])
            for r in csv.DictReader(lines)
        }
