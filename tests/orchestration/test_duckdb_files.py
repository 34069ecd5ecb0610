"""Test `emds.duckdb` at the public URL: over HTTP it finds exactly the published rows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from orchestration.static_side import months, publish
from orchestration.static_side.publish import publish_to
from orchestration.static_side.target import open_target
from tests.api.conftest import Rig, fill
from warehouse.market.clock import HOUR

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / ".venv/clients/duckdb==1.5.5/bin/python"
URL = "http://files.example/emds"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:10:00Z")
    monkeypatch.setattr(publish, "rendered", lambda asked, former: ())
    rig = Rig(tmp_path / "home")
    fill(rig)
    yield rig
    rig.close()


def published(rig: Rig, folder: Path, url: str = URL) -> list[dict[str, object]]:
    publish_to(open_target(str(folder)), rig.storage, rig.settings(public_url=url))
    return list(rig.client(public_url=url).get("/v1/bulk").get_json()["files"])


def test_files_that_cannot_be_made_hold_up_no_publication(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Include a publication that withdraws rows that must no longer be redistributed."""
    folder = tmp_path / "public"
    assert any(file["metric"] == "price" and file["zone"] == "GB" for file in published(rig, folder))
    north = rig.sources["north"]
    feeds = tuple(replace(feed, withheld=feed.withheld or feed.id == "north.price") for feed in north.feeds)
    rig.sources["north"] = replace(north, feeds=feeds)
    rig.publish()
    with monkeypatch.context() as patch:
        patch.setattr(months, "build_duckdb", lambda *_: 1 // 0)
        assert not any(file["metric"] == "price" and file["zone"] == "GB" for file in published(rig, folder))
    assert not list((folder / "series/metric=price/zone=GB").glob("*.parquet"))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


OVER_HTTP = """
import duckdb, json, pathlib, sys
import duckdb_extension_httpfs
url, queries = sys.argv[1], json.loads(sys.argv[2])
with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
    [extension] = pathlib.Path(duckdb_extension_httpfs.__path__[0]).rglob("*.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"ATTACH '{url}/emds.duckdb' AS views (READ_ONLY)")
    print(json.dumps([sorted(connection.execute(query).fetchall()) for query in queries]))
"""


def has_httpfs() -> bool:
    probe = [str(CLIENT), "-c", "import duckdb_extension_httpfs"]
    return CLIENT.exists() and not subprocess.run(probe, capture_output=True, check=False, timeout=60).returncode


@pytest.mark.slow
@pytest.mark.skipif(not has_httpfs(), reason="DuckDB with httpfs is not installed (.ci/system.sh)")
def test_an_older_duckdb_finds_over_http_the_rows_of_every_listed_file_and_no_others(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    published(rig, folder, url)
    rig.put("north.price", "GB", "price", [(rig.now + HOUR, 7.0)], "GBP/MWh", "30m")
    rig.publish()
    files = published(rig, folder, url)
    metrics = sorted({str(file["metric"]) for file in files})
    counted = "zone, metric, count(*), min(ts), max(ts), sum(value)"
    queries = ["SELECT zone, metric, month, url, sha256, license FROM views.files"]
    queries += [f"SELECT {counted} FROM views.{metric} GROUP BY zone, metric" for metric in metrics]
    queries.append("SET VARIABLE urls = (SELECT list(url) FROM views.files)")
    queries.append(f"SELECT {counted} FROM read_parquet(getvariable('urls')) GROUP BY zone, metric")
    command = [str(CLIENT), "-c", OVER_HTTP, url, json.dumps(queries)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    server.shutdown()
    server.server_close()
    assert done.returncode == 0, done.stderr
    listed, *views, _, whole = json.loads(done.stdout)
    names = ("zone", "metric", "month", "url", "sha256", "license")
    assert listed == sorted([file[name] for name in names] for file in files)
    assert sorted(row for view in views for row in view) == whole
    rows = dict[tuple[str, str], int]()
    for file in files:
        of = str(file["zone"]), str(file["metric"])
        rows[of] = rows.get(of, 0) + int(str(file["rows"]))
    assert {(zone, metric): count for zone, metric, count, *_ in whole} == rows
