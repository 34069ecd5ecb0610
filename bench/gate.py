"""What the gate costs: the same small route without it, with a key, free, and refused with an offer to pay.

    python -m bench.gate

Budgets (issue of the gate, DESIGN.md section 9): keyed at least 60 % of the ungated requests/s, free at least 70 %.
Exit 1 when under one, 0 with a word where wrk is missing.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from api.accounts import Accounts, SignUp
from tests.rig import postgres
from tests.rig.served import Served

KEYS = 400
"""Each holds 500 calls, so that no run uses them up."""
ROUNDS, SECONDS = 3, 2
PAY = {
    "EMDS_PAY_TO": "0x00000000000000000000000000000000DeaDBeef", "EMDS_FACILITATOR_URLS": "http://127.0.0.1:9",
    "EMDS_FREE_CALLS_PER_MINUTE": "0",
}


@dataclass(frozen=True, slots=True)
class Speed:
    """Requests/s and the latencies of one run, in milliseconds."""

    rate: float
    p50: float
    p99: float


def measure(url: str, script: Path, keys: list[str], wanted: int) -> Speed:
    """One run of wrk over 16 connections. Raises RuntimeError where any answer had another status."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as held:
        held.write(json.dumps(keys))
        held.flush()
        command = ["wrk", "-t", "1", "-c", "16", "-d", f"{SECONDS}s", "-s", str(script), url, "--", held.name, str(wanted)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"^emds (\d+) ([\d.]+) ([\d.]+) ([\d.]+)$", told, re.MULTILINE)
    if found is None or found[1] != "0":
        raise RuntimeError(f"{url}: {found[1] if found else 'no'} answers of another status than {wanted}")
    return Speed(float(found[2]), float(found[3]), float(found[4]))


SCRIPT = """
local keys, at, wrong = {}, 0, 0
local wanted
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init(args)
  for key in io.open(args[1]):read("*a"):gmatch('"([^"]+)"') do table.insert(keys, key) end
  wanted, wrongs = tonumber(args[2]), 0
end
function request()
  if #keys == 0 then return wrk.format("GET") end
  at = at % #keys + 1
  return wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. keys[at] })
end
function response(status) if status ~= wanted then wrongs = wrongs + 1 end end
function done(summary, latency)
  local rate = summary.requests / summary.duration * 1e6
  local wrongs = 0
  for _, thread in ipairs(threads) do wrongs = wrongs + thread:get("wrongs") end
  print(string.format("emds %d %.0f %.2f %.2f", wrongs, rate, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


def compare(url: str, folder: Path) -> dict[str, Speed]:
    """The best of several rounds of each route, taken in turn so that a busy machine hits all alike."""
    accounts = Accounts.open(url)
    keys = [accounts.sign_up(SignUp(f"{number}@example.org", "bench"), 0, 0) for number in range(KEYS)]
    accounts.close()
    script = folder / "gate.lua"
    script.write_text(SCRIPT)
    served = Served({"EMDS_DATABASE_URL": url, **PAY}, workers=2, threads=64)
    routes = {"ungated": ("/open/GB", [], 200), "keyed": ("/v1/latest/GB", keys, 200), "free": ("/v1/zones", [], 200),
              "402": ("/v1/latest/GB", [], 402)}
    best: dict[str, Speed] = {}
    try:
        for _ in range(ROUNDS):
            for name, (path, shown, wanted) in routes.items():
                speed = measure(served.url + path, script, shown, wanted)
                best[name] = max(best.get(name, speed), speed, key=lambda each: each.rate)
        sys.stdout.write(f"  a worker's memory: {served.resident_mb():.0f} MB\n")
    finally:
        served.stop()
    return best


def main() -> int:
    """Prints rates, their part of the ungated one, and latencies."""
    if shutil.which("wrk") is None:
        sys.stdout.write("gate: not measured, wrk is missing (make setup)\n")
        return 0
    under = False
    with tempfile.TemporaryDirectory() as folder:
        databases = {"SQLite": f"sqlite:///{folder}/accounts.sqlite"}
        server = postgres.Postgres() if postgres.programs() else None
        if server:
            databases["PostgreSQL"] = server.url
        for name, url in databases.items():
            sys.stdout.write(f"gate on {name}:\n")
            best = compare(url, Path(folder))
            for route, speed in best.items():
                part = speed.rate / best["ungated"].rate
                sys.stdout.write(f"  {route:8} {speed.rate:6.0f}/s  {part:4.0%}  p50 {speed.p50:.1f} ms  p99 {speed.p99:.1f} ms\n")
            if name == "SQLite":
                under = best["keyed"].rate < 0.6 * best["ungated"].rate or best["free"].rate < 0.7 * best["ungated"].rate
        if server:
            server.close()
    return int(under)


if __name__ == "__main__":
    raise SystemExit(main())
