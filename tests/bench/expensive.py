"""Measure the most expensive requests: CPU seconds and memory of each, in a separate process with empty caches.

    python -m tests.bench.expensive [PATH ...]

The warehouse has ten years of all series and no marts; with marts, requests take less. If the length of a request's
window is limited, the longest accepted window is measured. The ten most expensive requests are printed, and the other
measured ones are counted. Memory is the growth of the process's peak. The exit code is 1 if a request takes more than
1 s of CPU or 60 MB, or is refused.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from api.application import create_app
from api.settings import Settings
from orchestration.servers import serve
from tests.bench.decade import warehouse
from tests.bench.servers import NOW
from warehouse.market.clock import DAY, iso

MOST_CPU_S, MOST_MB = 1.0, 60
SHOWN = 10
_DECADE = f"start={NOW - 3640 * DAY}&end={NOW}"
_ALL = f"zones=all&{_DECADE}"
REQUESTS = (
    *(f"/v1/price?{_ALL}&limit=5000{more}" for more in ("", "&order=desc", "&format=parquet", "&format=csv&time=utc")),
    *(f"/v1/price?{_ALL}&limit=5000&interval={interval}" for interval in ("1h", "1d", "1w", "1mo", "1y")),
    *(f"/v1/price?{_ALL}&sample=true{more}" for more in ("", "&interval=1d", "&interval=1y")),
    f"/v1/interchange?zones=all&start={NOW - 125 * DAY}&end={NOW}&limit=5000&by=border",
    f"/v1/interchange?zones=all&start={NOW - 125 * DAY}&end={NOW}&limit=5000&by=border&interval=1d",
    f"/v1/interchange/AU-NSW?{_DECADE}&by=border&interval=1y",
    f"/v1/price/AU-NSW?{_DECADE}&interval=1y",
    f"/v1/price/AU-NSW?start={NOW - 2800 * DAY}&end={NOW}&interval=1y&as_of={NOW - DAY}",
    f"/v1/price/AU-NSW?start={NOW - 2800 * DAY}&end={NOW}&limit=5000&as_of={NOW - DAY}",
    f"/v1/price?zones=all&start={NOW - 140 * DAY}&end={NOW}&limit=5000&as_of={NOW - DAY}",
    *(f"/v1/price/AU-NSW?{_DECADE}&stats=true{more}" for more in ("", "&above=80&below=40", "&sample=true")),
    f"/v1/price/AU-NSW?start={NOW - 2800 * DAY}&end={NOW}&stats=true&as_of={NOW - DAY}",
    f"/v1/generation/GB?{_DECADE}&stats=true",
    f"/v1/generation/US-CAISO?start={NOW - 820 * DAY}&end={NOW}&stats=true",
    f"/v1/generation/US-CAISO?{_DECADE}&stats=true&sample=true",
    f"/v1/generation/US-CAISO?{_DECADE}&limit=5000",
    f"/v1/generation/US-CAISO?{_DECADE}&interval=1y",
    f"/v1/generation?zones=all&start={NOW - 700 * DAY}&end={NOW}&limit=5000&interval=1d",
    "/v1/map/snapshot?sample=true",
    "/v1/brief/GB?sample=true",
    "/v1/changes?since=2026-11-01",
    "/v1/bulk",
    "/v1/bulk/generation/US-CAISO/2026-01.parquet?sample=true",
    "/v1/bulk/datapackage.json",
    "/v1/bulk/croissant.json",
    "/catalog",
    "/v1/geo/plants",
    "/v1/geo/plants?format=parquet",
    "/v1/geo/zones?format=fgb",
    "/openapi.json",
)

_FIRST = (
    *("price/GB?limit=5", "price/GB?sample=true&stats=true", "demand?zones=GB,FR&interval=1h"),
    *("interchange/GB?by=border&limit=5", "generation/GB?stats=true", "demand/GB?format=parquet&limit=5"),
)
"""The requests that a worker has served before."""


class Cost(NamedTuple):
    """The cost of a request."""

    cpu_s: float
    mb: float
    status: int
    path: str


def main() -> int:
    """Print the most expensive requests; return 1 if one misses a budget."""
    # a worker's environment, which allocators read when a process starts
    if not serve.ENVIRONMENT.items() <= os.environ.items():
        again = [sys.executable, "-m", "tests.bench.expensive", *sys.argv[1:]]
        os.execve(sys.executable, again, os.environ | serve.ENVIRONMENT)
    home, only = warehouse(10), sys.argv[1:]
    costs = sorted((measured(home, path) for path in only or REQUESTS), reverse=True)
    for cost in costs if only else costs[:SHOWN]:
        print(f"{1000 * cost.cpu_s:6.0f} ms {cost.mb:5.0f} MB  {cost.status}  {cost.path}")
    most = max(cost.mb for cost in costs)
    print(f"{len(costs)} requests; the most CPU {costs[0].cpu_s:.2f} s, the most memory {most:.0f} MB")
    refused = any(cost.status != 200 for cost in costs)
    return int(refused or costs[0].cpu_s > MOST_CPU_S or most > MOST_MB)


def measured(home: Path, path: str) -> Cost:
    """Send a request in a separate process, and return its cost."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # hides the access log
        os.write(write, json.dumps(_send(home, path)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        cpu_s, mb, status = json.load(result)
    os.waitpid(child, 0)
    return Cost(cpu_s, mb, status, path)


def _send(home: Path, path: str) -> tuple[float, float, int]:
    """Return the CPU seconds, growth of the peak in MB, and status of a request after those of `_FIRST`."""
    os.environ["EMDS_NOW"] = iso(NOW)
    with tempfile.TemporaryDirectory() as accounts:
        settings = Settings(
            home=str(home),
            database_url=f"sqlite:///{accounts}/accounts.sqlite",
            free_calls_per_minute=0,
            sample_calls_per_day=0,
            signups_per_hour=0,
        )
        client = create_app(settings).test_client()
        key = client.post("/v1/keys/signup", json={"email": "bench@example.org"}).get_json()["api_key"]
        headers = {"Authorization": f"Bearer {key}"}
        for first in _FIRST:
            client.get(f"/v1/{first}", headers=headers)  # loads imports and the catalogue
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before, begun = _memory("VmRSS"), time.process_time()
        response = client.get(path, headers={} if "sample=true" in path else headers)
        return time.process_time() - begun, _memory("VmHWM") - before, response.status_code


def _memory(name: str) -> float:
    """Return a field of this process's memory in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


if __name__ == "__main__":
    sys.exit(main())
