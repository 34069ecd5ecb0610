"""`emds record` against the stand-ins of all publishers: what it keeps is replayed, parsed and free of secrets."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assets.fetch.recorded import recorded_requests
from assets.ingest.runs import ingest_days
from assets.sources import sources
from orchestration import cli
from orchestration.work import probe
from orchestration.work.resources import open_context
from tests.stand_ins.publishers import KEYS, Publishers, answers
from warehouse.market import clock

DAY = "2026-11-18"


def served(home: Path) -> set[tuple[object, ...]]:
    """Every served row of a warehouse, read from its month files."""
    columns = ["zone", "metric", "fuel", "counterparty", "link", "ts", "value", "unit", "resolution", "feed"]
    rows: set[tuple[object, ...]] = set()
    for path in sorted(home.glob("series/**/*.parquet")):
        if "history" not in path.name:
            table = pq.ParquetFile(path).read()
            have = [name for name in columns if name in table.column_names]
            rows |= {tuple(row[name] for name in have) + path.parts[-3:-1] for row in table.select(have).to_pylist()}
    return rows


@pytest.mark.parametrize("code", ["nyiso", "pjm", "isone"])
def test_what_is_recorded_replays_to_the_rows_that_an_ingest_gives(
    publishers: Publishers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    folder, replayed, ingested = tmp_path / "recorded", tmp_path / "replayed", tmp_path / "ingested"
    assert cli.main(["record", str(folder), "--source", code, "--day", DAY, "--requests", "0"]) == 0
    monkeypatch.delenv("EMDS_FEEDS")
    monkeypatch.setenv("EMDS_HOME", str(replayed))
    monkeypatch.setenv("EMDS_RIGHTS", "pjm")
    assert cli.main(["replay", str(folder)]) == 0
    monkeypatch.setenv("EMDS_HOME", str(ingested))
    monkeypatch.setenv("EMDS_FEEDS", "simulated")
    pipeline = open_context()
    for one in sources()[code].feeds:
        ingest_days(pipeline, one, probe.days_of(one, clock.now(), date.fromisoformat(DAY)))
    rows = served(replayed)
    assert rows
    assert rows == served(ingested)


def test_every_recording_is_read_again_as_it_was_and_holds_no_secret(publishers: Publishers, tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    assert cli.main(["record", str(folder), "--requests", "2"]) == 0
    entries = json.loads((folder / "MANIFEST.json").read_bytes())
    assert {entry["feed"].split(".")[0] for entry in entries} == set(sources())
    assert len(recorded_requests(folder)) == len(entries)
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert [name for name, secret in KEYS.items() if secret.encode() in kept] == []
    with_rows = [entry for entry in entries if entry["expected"]]
    assert {entry["feed"].split(".")[0] for entry in with_rows} == set(sources())
    for entry in with_rows:
        lines = list(csv.DictReader((folder / entry["expected"]).read_text().splitlines()))
        assert len(lines) == entry["expected_rows"]


def test_simulated_publishers_are_recorded_and_never_replayed_as_real_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, home = tmp_path / "recorded", tmp_path / "home"
    monkeypatch.setenv("EMDS_HOME", str(home))
    monkeypatch.setenv("EMDS_FEEDS", "simulated")
    assert cli.main(["record", str(folder), "--source", "neso"]) == 0
    assert not home.exists()
    assert cli.main(["record", str(folder), "--source", "neso"]) == 2, "a folder is recorded once"
    monkeypatch.delenv("EMDS_FEEDS")
    assert cli.main(["replay", str(folder)]) == 1
    assert "simulated publishers" in capsys.readouterr().err
    assert not home.exists()


def test_a_secret_that_an_answer_echoes_is_replaced(publishers: Publishers, tmp_path: Path) -> None:
    secret, folder = KEYS["EIA_API_KEY"].encode(), tmp_path / "recorded"
    publishers.break_host("api.eia.gov", answers(200, b'{"request": {"api_key": "' + secret + b'"}}'))
    cli.main(["record", str(folder), "--feed", "eia.demand"])
    entries = json.loads((folder / "MANIFEST.json").read_bytes())
    assert {entry["fidelity"].partition(":")[0] for entry in entries} == {"SCRUBBED"}
    assert not any(secret in (folder / entry["file"]).read_bytes() for entry in entries)
