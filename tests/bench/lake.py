"""Measure the first row by SQL over HTTP from ten years of public monthly files by the catalogue `emds.duckdb`.

    python -m tests.bench.lake

The list has 9,075 invented entries, and all files have the same bytes, behind a file server with ranges on loopback.
The reader is the DuckDB whose extensions install from PyPI (`make setup`). The time excludes its import and the loading
of extensions, and includes ATTACH. The budgets are 300 ms and 5 MB. The exit code is 1 if one is missed.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestration.static_side import months
from tests.bench.servers import ROOT
from warehouse.market.clock import month_window
from warehouse.market.zones import ZONES
from warehouse.rows.schema import SCHEMA

CLIENT = ROOT / ".venv/clients/duckdb==1.5.5/bin/python"
MONTHS = [f"{year}-{month:02}" for year in range(2016, 2027) for month in range(1, 13)][10:131]
METRICS, MOST_MS, MOST_MB = ("price", "demand", "interchange"), 300, 5
READER = """
import duckdb, json, pathlib, sys, time
import duckdb_extension_httpfs
connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
[extension] = pathlib.Path(duckdb_extension_httpfs.__path__[0]).rglob("*.duckdb_extension")
connection.execute(f"LOAD '{extension}'")
begun = time.perf_counter()
for statement in sys.argv[1:]:
    rows = connection.execute(statement).fetchall()
print(json.dumps([1000 * (time.perf_counter() - begun), len(rows)]))
"""


def month_file(start: int, end: int) -> bytes:
    """Return a month of quarter hours in the columns of the public files."""
    stamps = list(range(start, end, 900))
    columns = {"ts": stamps, "value": [float(ts % 7919) / 100 for ts in stamps], "known_at": stamps}
    texts = {"zone": "FR", "metric": "price", "unit": "EUR/MWh", "resolution": "15m"}
    table = {
        field.name: pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.array([texts.get(field.name, None if field.nullable else "")] * len(stamps)).cast(field.type)
        for field in SCHEMA
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(table, SCHEMA), sink, compression="zstd")
    return sink.getvalue()


class Files(BaseHTTPRequestHandler):
    """A file server with ranges that counts requests and bytes."""

    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

    def __init__(self, bodies: dict[str, bytes], other: bytes, counts: dict[str, int], *rest: Any) -> None:
        self.bodies, self.other, self.counts = bodies, other, counts
        super().__init__(*rest)

    def do_HEAD(self) -> None:
        """Send only the headers."""
        self.do_GET()

    def do_GET(self) -> None:
        """Send the file, or the requested range of it."""
        body = self.bodies.get(self.path, self.other)
        first, _, last = self.headers.get("Range", "bytes=0-").partition("=")[2].partition("-")
        part = body[int(first) : int(last or len(body)) + 1]
        self.send_response(206 if "Range" in self.headers else 200)
        for name, value in (("Accept-Ranges", "bytes"), ("Content-Length", str(len(part))), ("ETag", f'"{len(body)}"')):
            self.send_header(name, value)
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}")
        self.end_headers()
        self.counts["requests"] += 1
        if self.command == "GET":
            self.counts["bytes"] += len(part)
            self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def entries(size: int) -> list[dict[str, Any]]:
    """Return the list of `/v1/bulk` over ten years."""
    found = []
    for metric in METRICS:
        for zone in ZONES:
            for month in MONTHS:
                window, digest = month_window(month), hashlib.sha256(f"{metric}{zone}{month}".encode()).hexdigest()
                key = f"series/metric={metric}/zone={zone}/{month}.{digest[:8]}.parquet"
                found.append(
                    {"zone": zone, "metric": metric, "month": month, "object": key, "sha256": digest, "bytes": size}
                    | {"rows": 2880, "first": window.start, "last": window.end - 900, "final": True}
                    | {"license": "CC BY 4.0", "attribution": "ENTSO-E Transparency Platform"}
                )
    return found


def main() -> int:
    """Print the median of five readers."""
    window, counts, bodies = month_window("2026-11"), {"requests": 0, "bytes": 0}, dict[str, bytes]()
    sample = month_file(window.start, window.end)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, bodies, sample, counts))
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    bodies[f"/{months.DUCKDB_FILE}"] = months.build_duckdb(entries(len(sample)), url).body
    statements = (
        f"ATTACH '{url}/emds.duckdb' AS emds (READ_ONLY)",
        "SELECT ts, value FROM emds.price WHERE zone = 'FR' AND month = '2026-11' LIMIT 1",
    )
    times = []
    for _ in range(5):
        counts.update(requests=0, bytes=0)
        done = subprocess.run([CLIENT, "-c", READER, *statements], capture_output=True, text=True, check=True)
        milliseconds, rows = json.loads(done.stdout)
        assert rows == 1
        times.append(milliseconds)
    median, megabytes = sorted(times)[2], counts["bytes"] / 1e6
    print(f"first row after {median:.0f} ms, {counts['requests']} requests, {megabytes:.1f} MB")
    server.shutdown()
    return int(median > MOST_MS or megabytes > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
