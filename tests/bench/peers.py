"""Serve the same warehouse with the peers that emds is compared with: FastAPI + DuckDB and Datasette.

Each is written and indexed as its documentation shows, with all rows. They have their own environment,
`.venv-bench/http`.
"""

from __future__ import annotations

import sqlite3
import subprocess
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tests.bench.servers import ROOT

PEERS = ("datasette==0.65.5", "duckdb==2.0.0", "fastapi==0.165.0", "uvicorn==0.54.0")
_PYTHON = ROOT / ".venv-bench" / "http" / "bin" / "python"
_FOLDER = ROOT / "tests" / "bench"
_COLUMNS = "zone, metric, ts, value, unit, resolution"
_BATCH = 100_000


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that is ready to be started."""

    name: str
    command: list[str]
    base: str
    path: Callable[[str], str]
    """A function from a path of emds, `/v1/price/GB?start=..&end=..&limit=..`, to the server's path."""
    environ: dict[str, str] = field(default_factory=dict)
    folder: Path = _FOLDER


def prepared(home: Path, port: int, processes: int) -> Iterator[Peer]:
    """Yield each peer over the rows of a warehouse; the first use creates its database beside them.

    Datasette always has one process.
    """
    python = _environment()
    yield _fastapi(home, port, python, processes)
    yield _datasette(home, port, python)


def _environment() -> str:
    """Return the peers' Python, installed on first use."""
    if not _PYTHON.exists():
        venv.create(_PYTHON.parents[1], with_pip=True)
    freeze = subprocess.run([_PYTHON, "-m", "pip", "freeze"], capture_output=True, text=True, check=True)
    if not all(peer in freeze.stdout.lower() for peer in PEERS):
        subprocess.run([_PYTHON, "-m", "pip", "install", "-q", *PEERS], check=True)
    return str(_PYTHON)


def _rows(home: Path) -> str:
    return f"SELECT {_COLUMNS} FROM read_parquet('{home}/series/**/*.parquet') ORDER BY zone, metric, ts"


def _fastapi(home: Path, port: int, python: str, processes: int) -> Peer:
    database = home / "peer.duckdb"
    if not database.exists():
        with duckdb.connect(str(home / "peer.tmp")) as connection:
            connection.execute(f"CREATE TABLE series AS {_rows(home)}")
        (home / "peer.tmp").rename(database)
    options = ["--port", str(port), "--workers", str(processes), "--log-level", "warning", "--no-access-log"]
    command = [python, "-m", "uvicorn", "fastapi_duckdb:app", *options]
    return Peer(
        "FastAPI + DuckDB", command, f"http://127.0.0.1:{port}", lambda path: path, {"BENCH_DATABASE": str(database)}
    )


def _datasette(home: Path, port: int, python: str) -> Peer:
    target = home / "rows.db"
    if not target.exists():
        cursor = duckdb.connect().execute(_rows(home))
        with sqlite3.connect(home / "rows.tmp") as database:
            database.execute(
                "CREATE TABLE series (zone TEXT, metric TEXT, ts INTEGER, value REAL, unit TEXT, resolution TEXT)"
            )
            while batch := cursor.fetchmany(_BATCH):
                database.executemany("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?)", batch)
            database.execute("CREATE INDEX series_by_ts ON series (zone, metric, ts)")
        (home / "rows.tmp").rename(target)
    settings = {"max_returned_rows": 5000, "suggest_facets": "off", "allow_facet": "off", "sql_time_limit_ms": 20000}
    options = [part for name, value in settings.items() for part in ("--setting", name, str(value))]
    command = [python, "-m", "datasette", "serve", str(target), "--port", str(port), *options]
    return Peer("Datasette", command, f"http://127.0.0.1:{port}", _datasette_path)


def _datasette_path(path: str) -> str:
    place, _, query = path.partition("?")
    _, _, metric, zone = place.split("/")
    bounds = dict(part.split("=") for part in query.split("&"))
    window = f"ts__gte={bounds['start']}&ts__lt={bounds['end']}&_size={bounds['limit']}"
    return f"/rows/series.json?zone={zone}&metric={metric}&{window}&_sort=ts&_shape=array&_nocount=1"
