"""Add two metrics, a source and a zone to a copy of the source. Documents follow, or a message names the next step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.newcomer import additions
from tests.newcomer.additions import METRIC_EDITS, SOURCE_FILE, TWIN_FILE, ZONE_EDITS, Edit, copy_of_source

FEEDS = ("newco.grid", "elexon.price", "entsoe.price", "entsoe.demand", "entsoe.flows", "entsoe.mix", "entsoe.capacity")
VISIT = Path(__file__).with_name("visit.py")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python over a copy of the source, with a simulated warehouse of its own."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder),
        "EMDS_HOME": str(folder / "home"),
        "EMDS_FEEDS": "simulated",
        "EMDS_NOW": "2026-11-20T12:00:00Z",
    }
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what was ingested and served after all additions."""
    folder = copy_of_source(tmp_path_factory.mktemp("newcomer"), *METRIC_EDITS, SOURCE_FILE, TWIN_FILE, *ZONE_EDITS)
    done = run(folder, str(VISIT), *FEEDS)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def body(visit: dict[str, Any], path: str) -> Any:
    """Return the body of a path whose status is 200."""
    status, body = visit["answers"][path]
    assert status == 200, body
    return body


def test_every_feed_brings_rows(visit: dict[str, Any]) -> None:
    assert visit["failures"] == []
    for feed, days in visit["reports"].items():
        assert any(rows for _, rows, _ in days), (feed, days)
        assert not [day for day in days if day[0] == "failed"], (feed, days)


def test_every_path_answers(visit: dict[str, Any]) -> None:
    assert {path: answer for path, answer in visit["answers"].items() if answer[0] not in (200, 400, 404)} == {}
    described = ("/openapi.json", "/llms.txt", "/.well-known/x402.json", "/catalog", "/v1/zones", "/docs", "/v1/bulk")
    for path in (*described, "/v1/geo/live", "/v1/status", "/v1/publishers", "/v1/changes"):
        assert body(visit, path)


def test_documents_of_the_present_carry_both_metrics(visit: dict[str, Any]) -> None:
    latest, brief = body(visit, "/v1/latest/GB"), body(visit, "/v1/brief/GB")
    assert latest["metrics"]["frequency"]["unit"] == "Hz"
    assert latest["curtailed"].keys() == {"wind", "solar"}
    assert (brief["current"]["frequency"]["ts"], brief["curtailed_ts"]) == (latest["metrics"]["frequency"]["ts"],) * 2
    assert "Frequency is 50.00 Hz" in brief["summary"]
    assert brief["summary_parts"]["curtailed"].startswith("Curtailed output is led by ")
    for metric, member in (("frequency", "metrics"), ("curtailment", "curtailed")):
        assert body(visit, f"/v1/map/snapshot?metric={metric}")["zones"]["GB"][member]


def test_series_records_and_descriptions_have_both_metrics(visit: dict[str, Any]) -> None:
    for metric in ("frequency", "curtailment"):
        assert body(visit, f"/v1/{metric}/GB")["count"] > 0
        assert f"/v1/{metric}/{{zone}}" in body(visit, "/openapi.json")["paths"]
        assert f"/v1/{metric}/" in json.dumps(body(visit, "/.well-known/x402.json"))
        assert body(visit, "/catalog")["zones"]["GB"]["metrics"][metric]["rows"] > 0
    assert body(visit, "/v1/records/GB?metric=frequency")["all_time"]["highest"]["value"] == 50.06


def test_the_zone_has_what_its_neighbours_have(visit: dict[str, Any]) -> None:
    assert {"price", "demand", "interchange"} <= body(visit, "/v1/latest/UA")["metrics"].keys()
    assert body(visit, "/v1/latest/UA")["mix"]
    assert body(visit, "/v1/capacity/UA")["count"] > 0
    assert "UA" in [zone["id"] for zone in body(visit, "/v1/zones")["zones"]]
    assert body(visit, "/v1/interchange/UA")["count"] > 0


def only(edit: Edit, *edits: Edit) -> tuple[Edit, ...]:
    """Return the edits except the one that a newcomer forgot."""
    return tuple(each for each in edits if each is not edit)


FORGOTTEN = {
    "record of a metric": ((additions.WORDS,), "warehouse.market.metrics", "Metric.FREQUENCY has no record: add it"),
    "metric of a zone": (
        only(additions.PUBLISHED, *METRIC_EDITS),
        "warehouse.market.metrics",
        "no zone publishes it: add Metric.FREQUENCY to the metrics of a zone in warehouse/market/zones.py",
    ),
    "word that another metric lends": (
        (Edit(additions.METRICS, 'other_words=("spot",', 'other_words=("mix", "spot",'),),
        "warehouse.market.metrics",
        "mix is a metric: remove it from the other_words of price",
    ),
    "area that is a zone now": (
        only(additions.NO_LONGER_OUTSIDE, *ZONE_EDITS),
        "assets.sources.entsoe.areas",
        "'Ukraine' is the zone UA now: remove it from assets/parsing/outside_areas.py",
    ),
    "borders of a zone": (
        only(additions.ITS_BORDERS, *ZONE_EDITS),
        "assets.sources.entsoe.areas",
        "UA has no borders: add it to _OF_DEFAULT",
    ),
    "neighbour's name": (
        only(additions.BY_ITS_ID, *ZONE_EDITS),
        "assets.sources.entsoe.areas",
        "PL borders 'Ukraine', which is neither a zone of EIC nor an area of assets/parsing/outside_areas.py",
    ),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_was_forgotten_is_named_at_import(what: str, tmp_path: Path) -> None:
    edits, module, message = FORGOTTEN[what]
    failed = run(copy_of_source(tmp_path, *edits), "-c", f"import {module}")
    assert failed.returncode == 1
    assert message in failed.stderr.splitlines()[-1]


PROBE = """
import json, sys
from assets.fetch.credentials import NONE
from assets.simulated import transport
from assets.sources import feed
from warehouse.errors import FeedError
from warehouse.market.clock import market_days, now
from datetime import date
feed = feed(sys.argv[1])
for request in feed.requests(market_days(date(2026, 11, 19), date(2026, 11, 19), feed.tz), now()):
    try:
        transport({})(request, NONE)
    except FeedError as error:
        print(error)
        break
"""


@pytest.mark.parametrize(("feed", "edits", "message"), [
    ("newco.grid", (*METRIC_EDITS, SOURCE_FILE), "newco has no simulated twin: write assets/simulated/newco.py"),
    ("entsoe.flows", only(additions.ITS_TIE, *ZONE_EDITS), "no tie between UA and PL: add one to assets/simulated/"),
])  # fmt: skip
def test_what_the_simulation_lacks_is_named_by_the_request(
    feed: str, edits: tuple[Edit, ...], message: str, tmp_path: Path
) -> None:
    assert message in run(copy_of_source(tmp_path, *edits), "-c", PROBE, feed).stdout
