"""Test `emds record` and `emds replay` with stand-ins of all publishers: saved responses are parsed and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from assets.fetch.recorded import recorded_requests
from assets.ingest.runs import ingest_days
from assets.partitions import asset_key
from assets.sources import feeds, sources
from orchestration import cli
from orchestration.jobs import recording
from orchestration.work import probe
from orchestration.work.environment import open_context
from tests.stand_ins import stored_rows
from tests.stand_ins.publishers import KEYS, Publishers, answers
from warehouse.documents import catalogue
from warehouse.market import clock
from warehouse.store.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
DAY = "2026-11-18"


def test_every_feed_of_every_publisher_is_met_and_what_it_answers_is_read_again_and_holds_no_secret(
    publishers: Publishers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check one line per feed and day, as `record` is a probe that saves the responses."""
    folder = tmp_path / "recorded"
    code, text = cli.main(["record", str(folder)]), capsys.readouterr().out
    assert code == 0, text
    verdicts = {tuple(line.split()[:2]): line[38:52].strip() for line in text.splitlines() if " | " in line}
    assert not {"failed", "not_configured"} & set(verdicts.values()), text
    met = {feed for (feed, _), verdict in verdicts.items() if verdict in ("complete", "partial")}
    assert met == set(feeds()), "each feed gave rows of one of its days"
    assert not publishers.limited, "no publisher had to refuse a request as one too many"
    assert not (tmp_path / "none").exists(), "nothing is written to the warehouse"
    entries = json.loads((folder / "MANIFEST.json").read_bytes())
    assert {entry["feed"].split(".")[0] for entry in entries} == set(sources())
    assert len(recorded_requests(folder)) == len(entries)
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert [name for name, secret in KEYS.items() if secret.encode() in kept + text.encode()] == []


@pytest.fixture
def recorded(publishers: Publishers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return `recorded(code)`: all responses of a publisher about one day, in an EMDS_HOME that does not exist yet."""

    def record(code: str) -> Path:
        folder = tmp_path / "recorded"
        assert cli.main(["record", str(folder), "--source", code, "--day", DAY]) == 0
        monkeypatch.delenv("EMDS_FEEDS")
        monkeypatch.setenv("EMDS_HOME", str(tmp_path / "replayed"))
        monkeypatch.setenv("EMDS_REDISTRIBUTABLE_SOURCES", "pjm")
        return folder

    return record


@pytest.mark.parametrize("code", ["pjm", "isone"])
def test_what_is_recorded_replays_to_the_rows_that_an_ingest_gives(
    recorded: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    assert cli.main(["replay", str(recorded(code))]) == 0
    monkeypatch.setenv("EMDS_HOME", str(tmp_path / "ingested"))
    monkeypatch.setenv("EMDS_FEEDS", "simulated")
    pipeline = open_context()
    for one in sources()[code].feeds:
        ingest_days(pipeline, one, probe.days_of(one, clock.now(), date.fromisoformat(DAY)))
    rows, _ = stored_rows.served(Folder(tmp_path / "replayed"))
    assert rows
    assert rows == stored_rows.served(pipeline.storage)[0]


def test_a_replay_names_what_it_cannot_read_tells_dagster_and_changes_nothing_when_it_is_run_again(
    recorded: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded("nyiso")
    manifest = json.loads((folder / "MANIFEST.json").read_bytes())
    (folder / "denied.html").write_text("<html>denied</html>")
    denied = {"file": "denied.html", "feed": "neso.carbon_intensity", "zone": "GB", "day": DAY, "http_status": 503}
    nobody = {"file": manifest[0]["file"], "feed": "nobody.knows", "zone": None, "day": None, "http_status": 200}
    (folder / "MANIFEST.json").write_text(json.dumps([*manifest, denied, nobody]))
    assert cli.main(["replay", str(folder)]) == 0
    assert "denied.html: FeedUnavailable" in capsys.readouterr().out
    home = folder.parent / "replayed"
    storage = Folder(home)
    described = catalogue.load(storage)
    assert described is not None
    assert described.mode == "recorded"
    with recording.instance(home) as instance:
        marked = {key for key in instance.all_asset_keys() if instance.get_materialized_partitions(key)}
        assert marked <= {asset_key(feed) for feed in sources()["nyiso"].feeds}
        assert DAY in instance.get_materialized_partitions(asset_key(feeds()["nyiso.load"]))
    before = {key: storage.stat(key) for key in storage.keys("series/")}
    assert cli.main(["replay", str(folder)]) == 0
    assert before == {key: storage.stat(key) for key in storage.keys("series/")}
    monkeypatch.setenv("EMDS_FEEDS", "live")
    assert cli.main(["publish"]) == 1
    assert "set EMDS_HOME to another folder" in capsys.readouterr().err


def test_simulated_publishers_are_recorded_and_never_replayed_as_real_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, home = tmp_path / "recorded", tmp_path / "home"
    monkeypatch.setenv("EMDS_HOME", str(home))
    monkeypatch.setenv("EMDS_FEEDS", "simulated")
    assert cli.main(["record", str(folder), "--source", "neso"]) == 0
    assert capsys.readouterr().out.startswith("simulated publishers: no network")
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
