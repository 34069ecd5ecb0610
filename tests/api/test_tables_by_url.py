"""Tables opened by their address in the programs that people use: DuckDB, pandas, polars, R, each in its own process.

The server is a process too: C code that waits for an answer may hold the interpreter's lock.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest
import requests

pytestmark = pytest.mark.slow
WINDOW = "start=1774700000&end=1774800000&time=utc"
PROGRAMS = {
    "duckdb": """
import duckdb, datetime
from fsspec.implementations.http import HTTPFileSystem
class ByHttp(HTTPFileSystem):  # DuckDB asks for it, fsspec's has none
    def modified(self, path):
        return datetime.datetime.fromtimestamp(0, datetime.UTC)
duckdb.register_filesystem(ByHttp(headers={"X-API-Key": key}))
rows = duckdb.sql(f"select ts, value from read_parquet('{url}&format=parquet')").fetchall()
assert rows == duckdb.sql(f"select ts, value from read_csv('{url}&format=csv')").fetchall()
""",
    "pandas": """
import pandas
frame = pandas.read_csv(f"{url}&format=csv", parse_dates=["time"], storage_options={"X-API-Key": key})
assert str(frame["time"].dtype).startswith("datetime64") and (frame["time"].astype("int64") > 0).all()
alone = {"use_threads": False, "pre_buffer": False}  # or Arrow may abort the program as it ends (apache/arrow#34314)
table = pandas.read_parquet(f"{url}&format=parquet", storage_options={"X-API-Key": key}, **alone)
assert table["ts"].tolist() == frame["ts"].tolist()
rows = list(zip(frame["ts"].tolist(), frame["value"].tolist()))
""",
    "polars": """
import polars
frame = polars.scan_parquet(f"{url}&format=parquet&sample=true").select("ts", "value").collect()
table = polars.read_csv(f"{url}&format=csv&sample=true")
assert table.select("ts", "value").equals(frame), (table, frame)
rows = frame.rows()
""",
    "requests, the key as user": """
import csv, io, requests
text = requests.get(f"{by_user}&format=csv").text
rows = [(int(row["ts"]), float(row["value"])) for row in csv.DictReader(io.StringIO(text))]
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_opens_a_table_by_its_address(market: Any, serve: Any, program: str) -> None:
    served = serve(market)
    key = requests.post(f"{served.url}/v1/keys/signup", json={"email": "reader@example.org"}, timeout=30).json()
    path = f"/v1/price/DE-LU?{WINDOW}"
    answer = requests.get(f"{served.url}{path}", headers={"X-API-Key": key["api_key"]}, timeout=30).json()
    by_user = served.url.replace("://", f"://{key['api_key']}:@") + path
    head = f"import json\nkey, url, by_user = {key['api_key']!r}, {served.url + path!r}, {by_user!r}\n"
    code = f"{head}{PROGRAMS[program]}\nprint(json.dumps(rows))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    expected = [[row["ts"], row["value"]] for row in answer["data"]]
    assert json.loads(run.stdout) == (expected[-50:] if program == "polars" else expected)  # it opens a sample
    assert answer["count"] > 60


R = """
given <- commandArgs(TRUE)
rows <- read.csv(given[1])
same <- read.csv(url(given[2], headers = c("X-API-Key" = given[3])))
stopifnot(identical(rows, same), is.numeric(rows$value))
stopifnot(as.numeric(as.POSIXct(rows$time, format = "%Y-%m-%dT%H:%M:%SZ", tz = "UTC")) == rows$ts)
cat(jsonlite::toJSON(list(ts = rows$ts, value = rows$value), digits = NA))
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_opens_a_table_by_its_address(market: Any, serve: Any) -> None:
    """With the key as user of the address, and as a header."""
    served = serve(market)
    key = requests.post(f"{served.url}/v1/keys/signup", json={"email": "reader@example.org"}, timeout=30).json()
    path, own = f"/v1/price/DE-LU?{WINDOW}", key["api_key"]
    addresses = [f"{site}{path}&format=csv" for site in (served.url.replace("://", f"://{own}:@"), served.url)]
    run = subprocess.run(
        ["Rscript", "-e", R, *addresses, own], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    rows = requests.get(f"{served.url}{path}", headers={"X-API-Key": own}, timeout=30).json()["data"]
    assert json.loads(run.stdout) == {"ts": [row["ts"] for row in rows], "value": [row["value"] for row in rows]}
    assert len(rows) > 60
