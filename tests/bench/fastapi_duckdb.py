"""Serve a DuckDB file with plain FastAPI, as its documentation shows; `tests.bench.peers` starts the server."""

import os

import duckdb
from fastapi import FastAPI

app = FastAPI()
connection = duckdb.connect(os.environ["BENCH_DATABASE"], read_only=True)


@app.get("/v1/{metric}/{zone}")
def series(metric: str, zone: str, start: int, end: int, limit: int = 1000):
    cursor = connection.cursor()
    cursor.execute(
        "SELECT ts, value, unit, resolution FROM series"
        " WHERE zone = ? AND metric = ? AND ts >= ? AND ts < ? ORDER BY ts LIMIT ?",
        [zone, metric, start, end, limit],
    )
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {"zone": zone, "metric": metric, "start": start, "end": end, "count": len(rows), "data": rows}
