"""Simulate NESO's Carbon Intensity API: half hours selected by their end, actual values null until published.

Values come from the model grid. Forecasts differ from actual values. The original: https://carbonintensity.org.uk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer, plain
from assets.simulated.grid.noise import Floats, Ints, smooth
from assets.sources.neso import HOST
from warehouse.market.clock import DAY, HOUR, instant, utc
from warehouse.market.feeds import Request

HALF_HOUR = 1800
LAG = 12 * 60
"""Seconds after its end at which a half hour's actual value and mix are published."""
FORECAST = 2 * DAY
LONGEST = 30 * DAY

_RANGE = re.compile(rf"https://{re.escape(HOST)}/(intensity|generation)/([^/]+)/([^/]+)")

_FORECAST = re.compile(rf"https://{re.escape(HOST)}/intensity/(\d{{4}}-\d\d-\d\dT\d\d:\d\dZ)/fw48h")


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/intensity/{from}/{to}`, `/intensity/{from}/fw48h` and `/generation/{from}/{to}`."""
    if forecast := _FORECAST.fullmatch(request.url):
        return json_answer({"data": _forecast(instant(forecast[1]), now)})
    match = _RANGE.fullmatch(request.url)
    if match is None:
        return json_answer({"message": "Missing Authentication Token"}, 404)  # AWS API Gateway's text
    first, last = (instant(text) for text in match.groups()[1:])
    if last - first > LONGEST:
        message = "The start date must be before the end date and the range no longer than 30 days"
        return json_answer({"error": {"code": "400 Bad Request", "message": message}}, 400)
    # Select the half hours whose ends are in the range, both ends included.
    ts = np.arange(-(-first // HALF_HOUR) * HALF_HOUR, last + 1, HALF_HOUR, dtype=np.int64) - HALF_HOUR
    return json_answer({"data": _intensity(ts, now) if match[1] == "intensity" else _generation(ts, now)})


def _intensity(ts: Ints, now: int) -> list[dict[str, Any]]:
    ts = ts[ts < now + FORECAST]
    grams = grid.carbon_intensity(ts, HALF_HOUR)
    forecast = (grams * (1.0 + 0.06 * smooth("neso/forecast", ts, 3 * HOUR))).round().astype(int).tolist()
    actual = [round(value) if out else None for value, out in zip(grams.tolist(), _out(ts, now), strict=True)]
    return [
        {**_half_hour(start), "intensity": {"forecast": ahead, "actual": came}}
        for start, ahead, came in zip(ts.tolist(), forecast, actual, strict=True)
    ]


def _forecast(start: int, now: int) -> list[dict[str, Any]]:
    """Return half hours of 48 hours, with an extra one if they start on the half hour, since ends are matched."""
    ts = np.arange(-(-start // HALF_HOUR) * HALF_HOUR, start + FORECAST + 1, HALF_HOUR, dtype=np.int64) - HALF_HOUR
    issued_at = now // HALF_HOUR * HALF_HOUR
    grams = grid.as_forecast(grid.carbon_intensity(ts, HALF_HOUR), ts, issued_at, "neso.carbon_forecast", 0.12)
    return [
        {**_half_hour(at), "intensity": {"forecast": ahead, "actual": None}}
        for at, ahead in zip(ts.tolist(), grams.round().astype(int).tolist(), strict=True)
    ]


def _generation(ts: Ints, now: int) -> list[dict[str, Any]]:
    ts = ts[_out(ts, now)]
    mix = tenths(grid.generation("GB", ts, HALF_HOUR))
    return [
        {
            **_half_hour(start),
            "generationmix": [{"fuel": fuel, "perc": plain(shares[i], 1)} for fuel, shares in mix.items()],
        }
        for i, start in enumerate(ts.tolist())
    ]


def _out(ts: Ints, now: int) -> list[bool]:
    out: list[bool] = (ts + HALF_HOUR + LAG <= now).tolist()
    return out


def tenths(mix: Mapping[str, Floats]) -> dict[str, list[float]]:
    """Round shares to one decimal so that they still add up to 100. The largest remainders are rounded up."""
    exact = np.stack([*mix.values()]) * 10.0
    whole = np.floor(exact)
    missing = np.rint(1000.0 - whole.sum(axis=0))
    places = np.argsort(np.argsort(whole - exact, axis=0, kind="stable"), axis=0)
    return dict(zip(mix, ((whole + (places < missing)) / 10.0).tolist(), strict=True))


def _half_hour(ts: int) -> dict[str, str]:
    return {"from": f"{utc(ts):%Y-%m-%dT%H:%MZ}", "to": f"{utc(ts + HALF_HOUR):%Y-%m-%dT%H:%MZ}"}
