"""`emds.duckdb` and `emds.ducklake` at the public address: what they find is what lies there, read over HTTP."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import duckdb
import fsspec
import pytest

from orchestration.static_side import duckdb_files, publish
from orchestration.static_side.publish import publish_to
from orchestration.static_side.target import open_target
from tests.api.conftest import Rig, fill
from warehouse.market.clock import HOUR

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / ".venv/clients/duckdb==1.5.5/bin/python"
URL = "http://files.example/emds"


class FilesOf(fsspec.AbstractFileSystem):
    """A folder under a web address, for DuckDB without `httpfs`."""

    protocol = ("http", "https")
    cachable = False

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def _path(self, url: str) -> Path:
        return self._folder / url.partition("files.example/emds/")[2]

    def info(self, path: str, **_: object) -> dict[str, object]:
        return {"name": path, "size": self._path(path).stat().st_size, "type": "file"}

    def glob(self, path: str, **_: object) -> list[str]:
        return [path]

    def exists(self, path: str, **_: object) -> bool:
        return self._path(path).exists()

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(self._path(path).stat().st_mtime, UTC)

    def open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
        return io.BytesIO(self._path(path).read_bytes())


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:10:00Z")
    monkeypatch.setattr(publish.documents, "rendered", lambda asked, former: ())
    rig = Rig(tmp_path / "home")
    fill(rig)
    yield rig
    rig.close()


def published(rig: Rig, folder: Path, url: str = URL) -> list[dict[str, object]]:
    publish_to(open_target(str(folder)), rig.storage, rig.settings(public_url=url))
    return list(rig.client(public_url=url).get("/v1/bulk").get_json()["files"])


def test_views_find_the_rows_of_every_listed_file_and_no_others(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    published(rig, folder)
    rig.put("north.price", "GB", "price", [(rig.now + HOUR, 7.0)], "GBP/MWh", "30m")
    rig.publish()
    files = published(rig, folder)
    with duckdb.connect() as connection:
        connection.register_filesystem(FilesOf(folder))
        connection.execute(f"ATTACH '{folder / duckdb_files.VIEWS}' AS emds (READ_ONLY)")
        listed = connection.sql("SELECT zone, metric, month, url, sha256, license FROM emds.files").fetchall()
        names = ("zone", "metric", "month", "url", "sha256", "license")
        assert sorted(listed) == sorted(tuple(file[name] for name in names) for file in files)
        for metric in {str(file["metric"]) for file in files}:
            query = f"SELECT zone, metric, month, count(*), min(ts), max(ts) FROM emds.{metric} GROUP BY ALL"
            columns = ("zone", "metric", "month", "rows", "first", "last")
            expected = [tuple(file[name] for name in columns) for file in files if file["metric"] == metric]
            assert sorted(connection.sql(query).fetchall()) == sorted(expected)


def test_files_that_cannot_be_made_hold_up_no_publication(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Least of all one that takes back what must not be passed on any more."""
    folder = tmp_path / "public"
    assert any(file["metric"] == "price" and file["zone"] == "GB" for file in published(rig, folder))
    north = rig.sources["north"]
    feeds = tuple(replace(feed, withheld=feed.withheld or feed.id == "north.price") for feed in north.feeds)
    rig.sources["north"] = replace(north, feeds=feeds)
    rig.publish()
    with monkeypatch.context() as patch:
        patch.setattr(duckdb_files, "build", lambda *_: 1 // 0)
        assert not any(file["metric"] == "price" and file["zone"] == "GB" for file in published(rig, folder))
    assert not list((folder / "series/metric=price/zone=GB").glob("*.parquet"))


def test_the_lake_names_every_listed_file_with_its_bounds(rig: Rig, tmp_path: Path) -> None:
    files = published(rig, tmp_path / "public")
    with duckdb.connect(str(tmp_path / "public" / duckdb_files.LAKE), read_only=True) as connection:
        bounds = connection.sql(
            "SELECT path, record_count, file_size_bytes,"
            " list(min_value ORDER BY column_id), list(max_value ORDER BY column_id)"
            " FROM ducklake_data_file JOIN ducklake_file_column_stats USING (data_file_id) GROUP BY ALL"
        ).fetchall()
    expected = [
        (
            str(file["url"]).removeprefix(f"{URL}/"),
            file["rows"],
            file["bytes"],
            [file["zone"], file["metric"], str(file["first"])],
            [file["zone"], file["metric"], str(file["last"])],
        )
        for file in files
    ]
    assert sorted(bounds) == sorted(expected)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


OVER_HTTP = """
import duckdb, json, pathlib, sys
import duckdb_extension_ducklake, duckdb_extension_httpfs
url, found = sys.argv[1], {}
with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
    for package in (duckdb_extension_httpfs, duckdb_extension_ducklake):
        [extension] = pathlib.Path(package.__path__[0]).rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    connection.execute(f"ATTACH '{url}/emds.duckdb' AS views (READ_ONLY)")
    connection.execute(f"ATTACH 'ducklake:{url}/emds.ducklake' AS lake (READ_ONLY)")
    for name, table in (("views", "views.price"), ("lake", "lake.series")):
        query = f"SELECT zone, count(*), sum(value) FROM {table} WHERE metric = 'price' GROUP BY zone ORDER BY zone"
        found[name] = connection.execute(query).fetchall()
print(json.dumps(found))
"""


def has_ducklake() -> bool:
    probe = [str(CLIENT), "-c", "import duckdb_extension_ducklake"]
    return CLIENT.exists() and not subprocess.run(probe, capture_output=True, check=False, timeout=60).returncode


@pytest.mark.slow
@pytest.mark.skipif(not has_ducklake(), reason="DuckDB with httpfs and ducklake is not installed (.ci/system.sh)")
def test_an_older_duckdb_reads_both_over_http(rig: Rig, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "public"))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        published(rig, tmp_path / "public", url)
        command = [str(CLIENT), "-c", OVER_HTTP, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["views"] == found["lake"]
        assert [(zone, rows) for zone, rows, _ in found["views"]] == [("DE-LU", 288), ("GB", 97)]
    finally:
        server.shutdown()
        server.server_close()
