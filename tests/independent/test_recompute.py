"""Compare the API with second implementations that use only HTTP.

gunicorn serves a rough warehouse of all 25 zones.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import orjson
import pytest

from assets.documents.publish import publish
from tests.bench.servers import gunicorn, running
from tests.stand_ins import declared
from tests.stand_ins.ports import free_port
from warehouse.documents import catalogue
from warehouse.market.clock import RESOLUTIONS, instant
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("recompute.py")
STAMP = "2026-11-05T06:10:00Z"
NOW = instant(STAMP)
DAY = 86400
SCALAR = (Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE, Metric.CARBON_INTENSITY)


SOURCE = declared.source(
    "rough",
    [
        *(
            declared.feed(f"rough.{name}", ZONES, Metric, "5m", rank=rank)
            for name, rank in (("fine", 1), ("coarse", 9))
        ),
        declared.feed("rough.ahead", ("FR", "GB"), (Forecast.DEMAND, Forecast.MIX), "15m", every_minutes=60),
    ],
)


def rough(random, count):
    """Return `count` values with plateaus, zeros, negative values and gaps."""
    values = np.round(
        random.normal(5, 40, count).cumsum() % 300 - 80 + random.normal(0, 5, count), int(random.integers(0, 6))
    )
    values[random.random(count) < random.choice([0, 0.3])] = 0
    holes = random.random(count) < random.choice([0, 0.02, 0.4])
    return [None if hole else float(v) for v, hole in zip(values, holes, strict=True)]


def fold(storage, random, zone, metric, product, resolution, days, **key):
    step = RESOLUTIONS[resolution]
    start = NOW // 3600 * 3600 - days * DAY
    points = [(start + i * step, v) for i, v in enumerate(rough(random, (NOW + DAY - start) // step)) if v is not None]
    kept = [(ts, v) for ts, v in points if ts <= NOW + (DAY if metric == "price" else 0)]
    price = f"{ZONES[zone].currency}/MWh"
    unit = "gCO2/kWh" if metric.startswith("carbon") else {"price": price}.get(metric, "MW")
    rows = Rows()
    rows.extend(SeriesKey(zone, metric, unit, resolution, **key), [ts for ts, _ in kept], [v for _, v in kept])
    folding.fold(storage, f"rough.{product}", rows, {}, {"rough.fine": 1, "rough.coarse": 9}, NOW - 100, "live")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a warehouse of zones with different resolutions, gaps and lengths. Some metrics are too short to rank."""
    folder = tmp_path_factory.mktemp("rough")
    random, storage = np.random.default_rng(20261105), Folder(folder)
    for zone, stated in ZONES.items():
        for metric in dict.fromkeys(m.value for m in (*SCALAR, stated.carbon_metric) if m in stated.stored_metrics):
            resolution = str(random.choice(["5m", "15m", "30m", "1h"]))
            fold(storage, random, zone, metric, "fine", resolution, int(random.choice([1, 17, 33, 33, 33])))
            if resolution != "1h":
                fold(storage, random, zone, metric, "coarse", "1h", 40)
    for fuel in ("gas", "wind", "imports"):
        for zone in ("GB", "US-CAISO"):
            fold(storage, random, zone, "generation", "fine", "30m", 2, fuel=fuel)
    for zone, steps in (("FR", ("15m", "1h", "30m")), ("GB", ("30m", "30m", "30m"))):
        for fuel, resolution, size in zip((None, "solar", "wind_onshore"), steps, (9000, 5000, 7000), strict=True):
            metric, begin, rows = "mix_forecast" if fuel else "demand_forecast", NOW // 3600 * 3600 - DAY, Rows()
            stamps = [begin + n * RESOLUTIONS[resolution] for n in range(3 * DAY // RESOLUTIONS[resolution])]
            values = random.uniform(0.6 * size, size, len(stamps)).round(1).tolist()
            rows.extend_vintage(SeriesKey(zone, metric, "MW", resolution, fuel), begin, "body", stamps, values)
            rows.extend_vintage(SeriesKey(zone, metric, "MW", resolution, fuel), NOW - 90, "body", stamps, values[::-1])
            folding.fold(storage, "rough.ahead", rows, {}, {"rough.ahead": 1}, NOW - 80, "live")
    storage.put(layout.MODE, b"live")
    catalogue.publish(storage, {"rough": SOURCE}, "live", (), ("rough",), NOW)
    publish(storage, NOW)
    return folder


@pytest.fixture(scope="module")
def address(home):
    """Yield the URL of a gunicorn that serves the warehouse."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    environ = {"EMDS_HOME": str(home), "EMDS_NOW": STAMP, "EMDS_KEY_CALLS_PER_SECOND": "0", "EMDS_BASE_URL": base}
    with running(gunicorn("api.wsgi:app", port), environ | {"WEB_CONCURRENCY": "1"}, f"{base}/readyz"):
        yield base


@pytest.fixture
def server(address, request):
    """Return the URL and a new key for each test, because the daily quota of a key does not suffice for all."""
    name = request.node.name.replace("[", ".").removesuffix("]")
    body = json.dumps({"email": f"{name}@example.org"}).encode()
    signup = urllib.request.Request(f"{address}/v1/keys/signup", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(signup, timeout=10) as answer:
        return address, json.load(answer)["api_key"]


def recompute(server, *zones):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *server, *zones], capture_output=True, text=True, timeout=280, check=False
    )


@pytest.mark.slow
def test_every_brief_equals_its_recomputation(home, server):
    done = recompute(server)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ZONES)} zones checked, 0 differ" in done.stdout
    storage = Folder(home)
    brief = artefact.load(storage, "brief/FR.json")
    right, metric = orjson.dumps(brief), next(iter(brief["context"]))
    brief["context"][metric]["p90"] += 0.01
    artefact.update(storage, layout.brief("FR"), dict, lambda _: brief)
    done = recompute(server, "FR", "GB")
    artefact.update(storage, layout.brief("FR"), dict, lambda _: right)
    assert done.returncode == 1
    assert f"{metric} context.p90: published" in done.stdout
    assert "2 zones checked, 1 differ" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("zones", [[*ZONES][::2], [*ZONES][1::2]], ids=("even", "odd"))
def test_windows_equal_a_second_implementation(server, zones):
    base, key = server
    script = Path(__file__).with_name("windows.py")
    done = subprocess.run([sys.executable, script, base, key, *zones], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^([1-9][0-9]+) equal, 0 different$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.slow
def test_statistics_equal_a_second_implementation(server):
    base, key = server
    script = Path(__file__).with_name("series_statistics.py")
    done = subprocess.run([sys.executable, script, base, key], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    series_of_zones = sum(len({*SCALAR, Metric.GENERATION} & zone.metrics) for zone in ZONES.values())
    assert done.stdout == f"{series_of_zones} equal, 0 different\n"


def test_the_statistics_script_sees_what_differs(monkeypatch):
    """Compare the statistics of hours of 5, 7 and 7, a gap, and half an hour of 50."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    script = importlib.import_module("series_statistics")
    steps = ((0, 5), (3600, 7), (7200, 7), (14400, 50))
    rows = [{"ts": ts, "resolution": "1h", "value": value} for ts, value in steps]
    right = script.statistics(script.parts_of(rows, 16200), 0, 16200)
    wrong = {**right, "p90": 7, "count": 3, "above": {**right["above"], "spans": 2}}
    assert [line.split(":")[0] for line in script.differences(wrong, right)] == ["above.spans", "count", "p90"]
