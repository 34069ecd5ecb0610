"""A tool call over MCP against the same document over REST: `get_latest` and `GET /v1/latest`, both with keys.

    python -m tests.bench.mcp

Budget: at least 60 % of REST's answers/s, in the newest protocol version and the newest older one. Exit 1 when
under it, 0 with a word where wrk is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from api.access import sign_up as sign_ups
from api.access.database import Database
from api.access.sign_up import SignUp
from api.access.usage import UsageCounter
from assets.documents.publish import publish
from tests.stand_ins.served import Served
from warehouse.documents import catalogue
from warehouse.market.clock import DAY
from warehouse.market.market import Feed, Metric, Publication, Source
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.series import fold
from warehouse.store import layout
from warehouse.store.storage import Folder

NOW = 1_795_176_000
KEYS, ROUNDS, SECONDS = 800, 5, 2
BUDGET = 0.6
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
_CALL = {"name": "get_latest", "arguments": {"zone": "GB"}}
_SENT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def headers_of(tool: str) -> dict[str, str]:
    """What the newest protocol version sends with a call."""
    return {**_SENT, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}


ROUTES: dict[str, tuple[str, dict[str, str], dict[str, object] | None]] = {
    "REST": ("/v1/latest/GB", {}, None),
    "MCP 2026-07-28": ("/mcp", headers_of("get_latest"), {**_CALL, "_meta": META}),
    "MCP 2025-11-25": ("/mcp", {**_SENT, "MCP-Protocol-Version": "2025-11-25"}, _CALL),
}
SCRIPT = """
local keys, at, threads = {}, 0, {}
function setup(thread) table.insert(threads, thread) end
function init(args)
  local given = io.open(args[1]):read("*a")
  for key in given:gmatch('"(emds_[^"]+)"') do table.insert(keys, key) end
  body = io.open(args[2]):read("*a")
  headers, wrongs = {}, 0
  for name, value in io.open(args[3]):read("*a"):gmatch("([^\\n:]+): ([^\\n]+)") do headers[name] = value end
end
function request()
  at = at % #keys + 1
  headers["Authorization"] = "Bearer " .. keys[at]
  if body == "" then return wrk.format("GET", nil, headers) end
  return wrk.format("POST", nil, headers, body)
end
function response(status, headers, body)
  if status ~= 200 or not body:find('"metrics"') or body:find('SAMPLE') then wrongs = wrongs + 1 end
end
function done(summary, latency)
  local wrongs = 0
  for _, thread in ipairs(threads) do wrongs = wrongs + thread:get("wrongs") end
  local rate = summary.requests / summary.duration * 1e6
  print(string.format("emds %d %.0f %.2f", wrongs, rate, latency:percentile(50) / 1e3))
end
"""


def fill(home: Path) -> None:
    """A warehouse with GB's latest values."""
    storage = Folder(home)
    units = {
        Metric.PRICE: "GBP/MWh",
        Metric.DEMAND: "MW",
        Metric.INTERCHANGE: "MW",
        Metric.CARBON_INTENSITY: "gCO2/kWh",
    }
    feeds = tuple(
        Feed(
            id=f"bench.{m.value}",
            title=m.value,
            zones=("GB",),
            metrics=(m,),
            rank=1,
            resolution="30m",
            stamps="start",
            tz="UTC",
            since=date(2020, 1, 1),
            publication=Publication(lag_minutes=30),
            requests=lambda days: [],
            parse=lambda body, request: Rows(),
            every_minutes=5,
        )
        for m in units
    )
    source = Source(
        "bench", "Bench", "https://bench.example", ("bench.example",), 60, "none", "", "Bench", "yes", feeds
    )
    for metric, unit in units.items():
        rows = Rows()
        stamps = list(range(NOW - 2 * DAY, NOW, 1800))
        rows.extend(SeriesKey("GB", metric.value, unit, "30m"), stamps, [50.5 + i for i in range(len(stamps))])
        fold(storage, f"bench.{metric.value}", rows, {}, {f.id: 1 for f in feeds}, 1, "live")
    storage.put(layout.MODE, b"live")
    catalogue.publish(storage, {"bench": source}, "live", (), ("bench",), NOW)
    publish(storage, NOW)


def measure(url: str, folder: Path, route: str, keys: list[str]) -> tuple[float, float]:
    """Answers/s and p50 in ms of one run over 16 connections. Raises RuntimeError for any answer but a whole latest."""
    path, headers, params = ROUTES[route]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    texts = {
        "keys": json.dumps(keys),
        "body": json.dumps(message) if params else "",
        "headers": "\n".join(f"{name}: {value}" for name, value in headers.items()),
        "script.lua": SCRIPT,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = ["wrk", "-t", "1", "-c", "16", "-d", f"{SECONDS}s", "-s", str(folder / "script.lua"), url + path, "--"]
    command += [str(folder / name) for name in ("keys", "body", "headers")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    match = re.search(r"^emds (\d+) ([\d.]+) ([\d.]+)$", done.stdout, re.MULTILINE)
    if match is None or match[1] != "0":
        raise RuntimeError(f"{route}: {match[1] if match else 'unknown'} wrong answers")
    return float(match[2]), float(match[3])


def costed(served: Served, folder: Path, route: str, keys: list[str]) -> tuple[float, float, float]:
    """A run's answers/s and p50, and the workers' CPU seconds an answer, which a busy machine does not change."""
    before = cpu_seconds(served.pids())
    rate, p50 = measure(served.url, folder, route, keys)
    return rate, p50, (cpu_seconds(served.pids()) - before) / (rate * SECONDS)


def cpu_seconds(pids: list[int]) -> float:
    """User and system time that processes used so far."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Prints answers/s of each route and their part of REST's (best of several rounds), and CPU time an answer."""
    if shutil.which("wrk") is None:
        sys.stdout.write("mcp: not measured, wrk is missing (make setup)\n")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "home")
        accounts = UsageCounter(Database.opened(f"sqlite:///{folder}/accounts.sqlite"))
        keys = [
            sign_ups.sign_up(accounts.database, SignUp(f"{number}@example.org", "bench"), 0, 0).key
            for number in range(KEYS)
        ]
        accounts.close()
        environ = {"EMDS_HOME": str(folder / "home"), "EMDS_DATABASE_URL": f"sqlite:///{folder}/accounts.sqlite"}
        served = Served(environ, workers=2, threads=64, app="api.wsgi:app")
        try:
            for route in ROUTES:  # the workers are still loading when the first connections are taken
                measure(served.url, folder, route, keys)
            rounds = [{route: costed(served, folder, route, keys) for route in ROUTES} for _ in range(ROUNDS)]
        finally:
            served.stop()
    best = {route: max(each[route][0] for each in rounds) for route in ROUTES}
    for route, rate in best.items():
        p50, cpu = (min(each[route][place] for each in rounds) for place in (1, 2))
        sys.stdout.write(
            f"  {route:15} {rate:6.0f}/s  {rate / best['REST']:4.0%}  p50 {p50:.1f} ms  {cpu * 1e6:.0f} us CPU\n"
        )
    return int(min(best.values()) < BUDGET * best["REST"])


if __name__ == "__main__":
    raise SystemExit(main())
