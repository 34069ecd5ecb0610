"""Run wrk once, with keys if the paths need them, and read its results as numbers."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPT = """
local lines, paths, at, threads = {}, {}, 0, {}
function setup(thread) table.insert(threads, thread) end
function init(args)
  wrongs = 0
  for line in io.lines(args[1]) do table.insert(lines, line) end
  for line in io.lines(args[2]) do table.insert(paths, line) end
end
function request()
  at = at + 1
  local path = #paths > 0 and paths[(at - 1) % #paths + 1] or nil
  local headers = { ["Accept-Encoding"] = "identity" }
  if #lines == 0 then return wrk.format("GET", path, headers) end
  local name, value = lines[(at - 1) % #lines + 1]:match("^(%S+): (.+)$")
  headers[name] = value
  return wrk.format("GET", path, headers)
end
function response(status) if status ~= 200 then wrongs = wrongs + 1 end end
function done(summary, latency)
  local wrong = 0
  for _, thread in ipairs(threads) do wrong = wrong + thread:get("wrongs") end
  print(string.format("wrk %d %d %.3f %.3f %.3f", summary.requests, wrong,
    summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


@dataclass(frozen=True, slots=True)
class Speed:
    """Requests/s, and the median and 99th percentile of response times in milliseconds."""

    rate: float
    p50: float
    p99: float
    count: int
    """The number of responses."""


def run(
    url: str,
    headers: Sequence[str] = (),
    connections: int = 16,
    seconds: int = 2,
    before: Sequence[str] = (),
    paths: Sequence[str] = (),
) -> Speed:
    """Send requests continuously, each with the next of `headers` ("Name: value") and of `paths`, in rotation.

    `before` is the command that starts wrk, for example that of `tests.bench.servers.on_core`. Raises RuntimeError for
    any status but 200.
    """
    with tempfile.TemporaryDirectory() as folder:
        script, lines, places = Path(folder, "ask.lua"), Path(folder, "headers"), Path(folder, "paths")
        script.write_text(SCRIPT)
        lines.write_text("\n".join(headers))
        places.write_text("\n".join(paths))
        options = ["-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script)]
        command = [*before, "wrk", *options, url, "--", str(lines), str(places)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    match = re.search(r"^wrk (\d+) (\d+) ([\d.]+) ([\d.]+) ([\d.]+)$", output, re.MULTILINE)
    if match is None or match[2] != "0" or match[1] == "0":
        raise RuntimeError(f"{url}: not every answer was 200\n{output}")
    return Speed(float(match[3]), float(match[4]), float(match[5]), int(match[1]))
