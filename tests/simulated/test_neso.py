"""Simulated NESO: the model's values over whole days, null until published, bodies shaped as recorded."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from assets.simulated import grid, neso
from warehouse.clock import MarketDay, instant
from warehouse.market import Request

DAYS = [MarketDay(date(2026, 11, 18), "UTC"), MarketDay(date(2026, 3, 29), "UTC"), MarketDay(date(2026, 10, 25), "UTC")]
LATER = "2026-11-21T12:00:00Z"


def starts(day):
    return np.arange(day.start, day.end, 1800)


def answered(path, now=LATER):
    reply = neso.answer(Request("neso.generation", f"https://api.carbonintensity.org.uk{path}"), instant(now))
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_intensity_is_the_grids(day, ask, inside):
    rows, refused = ask("neso.carbon_intensity", [day], LATER)
    readings = inside(rows, day, "carbon_intensity", "GB")
    assert [r.ts for r in readings] == starts(day).tolist()
    assert [r.value for r in readings] == grid.carbon_intensity(starts(day), 1800).round().tolist()
    assert not refused


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_the_mix_is_the_grids_and_adds_up_to_100(day, ask):
    rows, _ = ask("neso.generation", [day], LATER)
    for fuel, shares in grid.generation("GB", starts(day), 1800).items():
        readings = [r for r in rows.sorted() if r.fuel == fuel and r.ts in day.window]
        assert [r.ts for r in readings] == starts(day).tolist()
        assert [r.value for r in readings] == pytest.approx(shares, abs=0.1)
    assert not rows.dropped
    entries = answered(f"/generation/{day.day}T00:00Z/{day.next().day}T00:00Z")[1]["data"]
    assert {round(sum(share["perc"] for share in entry["generationmix"]), 6) for entry in entries} == {100.0}


def test_the_half_hour_before_comes_too_and_what_runs_has_no_actual(ask):
    _, answer = answered("/intensity/2026-11-21T11:00Z/2026-11-21T13:00Z", "2026-11-21T12:13:00Z")
    published = [(entry["from"], entry["intensity"]["actual"] is None) for entry in answer["data"]]
    assert published == [
        ("2026-11-21T10:30Z", False),
        ("2026-11-21T11:00Z", False),
        ("2026-11-21T11:30Z", False),
        ("2026-11-21T12:00Z", True),
        ("2026-11-21T12:30Z", True),
    ]
    assert all(isinstance(entry["intensity"]["forecast"], int) for entry in answer["data"])
    today = [MarketDay(date(2026, 11, 21), "UTC")]
    for now, last in (
        ("2026-11-21T12:13:00Z", "2026-11-21T11:30:00Z"),
        ("2026-11-21T12:11:00Z", "2026-11-21T11:00:00Z"),
    ):
        for product in ("neso.carbon_intensity", "neso.generation"):
            assert max(r.ts for r in ask(product, today, now)[0]) == instant(last)


def test_forecasts_end_after_two_days():
    _, answer = answered("/intensity/2026-11-21T12:00Z/2026-11-30T00:00Z")
    assert answer["data"][-1]["to"] == "2026-11-23T12:00Z"


@pytest.mark.parametrize(
    "path",
    [
        "/intensity/today/2026-11-21T13:00Z",
        "/intensity/2026-11-21T13:00Z/2026-11-20T13:00Z",
        "/generation/2026-01-01T00:00Z/2026-03-01T00:00Z",
    ],
)
def test_a_range_that_does_not_read_is_refused(path):
    status, answer = answered(path)
    assert (status, answer["error"]["code"]) == (400, "400 Bad Request")


def test_other_addresses_are_not_there():
    assert answered("/regional")[0] == 404


# Compared with recordings


def test_intensity_is_written_as_recorded(recordings):
    recorded = json.loads((recordings / "neso/intensity_2026-08-01T00_03.json").read_bytes())
    published = [entry["intensity"] for entry in recorded["data"]]
    made = neso.render_intensity(
        [instant(entry["from"]) for entry in recorded["data"]],
        [t["forecast"] for t in published],
        [t["actual"] for t in published],
    )
    assert made == json.dumps(recorded, separators=(",", ":")).encode()


def test_the_mix_is_written_as_recorded(recorded):
    body, rows = recorded("neso/generation_2019-04-01_week.json")
    mix: dict[str, list[float]] = {}
    for row in rows:
        mix.setdefault(row.fuel, []).append(row.value)
    made = neso.render_generation(sorted({row.ts for row in rows}), mix)
    assert made == body
