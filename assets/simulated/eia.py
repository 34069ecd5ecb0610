"""Simulate EIA API v2: EIA-930 rows as texts, unordered, by hour end, 5000 per page.

The newest hours are listed before every authority has reported, with null values. Recent values are first estimates.
PJM's borders are late by its clock, and have the opposite sign before November 2019. No border has rows before 2019.
The original: https://www.eia.gov/opendata/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from assets.parsing.outside_areas import AMERICAN
from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.eia.bodies import FUELS, PAGE, RESPONDENTS
from assets.sources.eia.interchange import BORDERS_SINCE, INVERTED, INVERTED_UNTIL, start_in_pjm
from warehouse.market.clock import DAY, HOUR, MarketDay, utc
from warehouse.market.feeds import Request

LISTED_AFTER = 60 * 60
"""Seconds after an hour's end until its rows are listed."""
REPORTED_AFTER = {code: (75 + 5 * i) * 60 for i, code in enumerate(RESPONDENTS)}
"""Seconds after an hour's end until an authority's value is listed."""
CODE_OF_AREA = {area: code for code, area in reversed((AMERICAN | RESPONDENTS).items())}
FORECAST_OUT = 7 * HOUR
"""Seconds after Eastern midnight at which the forecast (DF) of the day is published."""
CALIFORNIAN = ("COL", "NG", "NUC", "OIL", "WAT", "SUN", "WND", "GEO", "BAT", "OTH")
"""The energy sources that California reports. OTH also contains the grid's biomass. The grid has no oil."""

BESIDE_BATTERIES = 0.05
_CODE_OF_FUEL = {fuel.value: code for code, fuel in FUELS.items() if code not in ("SNB", "WNB", "OES", "UES", "UNK")}

Rows = list[dict[str, str | None]]
Facets = Mapping[str, Sequence[str]]


def simulate_response(request: Request, now: int) -> Answer:
    """Return the requested page of rows at `now`; 404 for another data set."""
    match = re.fullmatch(r"/v2/electricity/rto/([a-z-]+)/data/", urlsplit(request.url).path)
    if match is None or match[1] not in ("region-data", "interchange-data", "fuel-type-data"):
        return json_answer({"error": "Not Found", "code": 404}, 404)
    params, facets = _parse_params(request.params)
    ahead = facets.get("type") == ["DF"]
    listed = MarketDay.at(now - FORECAST_OUT, "America/New_York").end if ahead else now - LISTED_AFTER
    first = max(_period(params["start"]), _period(str(BORDERS_SINCE)) if match[1] == "interchange-data" else 0)
    ends = np.arange(first, min(_period(params["end"]), listed) + 1, HOUR)
    if ahead:
        rows = [row for code in facets.get("respondent", RESPONDENTS) for row in _forecasts(code, ends)]
    else:
        rows = _reported(match[1], facets, ends, now)
    rows.sort(key=lambda row: blake2b("".join(map(str, row.values())).encode(), digest_size=8).digest())
    return json_answer(_page(rows, params))


def _parse_params(params: Sequence[tuple[str, str]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the plain parameters, and the values by facet."""
    plain: dict[str, str] = {}
    facets: dict[str, list[str]] = {}
    for name, value in params:
        facet = re.fullmatch(r"facets\[(\w+)\]\[\d*\]", name)
        if facet:
            facets.setdefault(facet[1], []).append(value)
        elif name != "data[]":
            plain[name] = value
    return plain, facets


def _period(text: str) -> int:
    return int(datetime.fromisoformat(text if "T" in text else f"{text}T00").replace(tzinfo=UTC).timestamp())


def _forecasts(code: str, ends: Ints) -> Rows:
    """Return the forecast of each hour at the start of its UTC day."""
    begun, values = (ends - HOUR) // DAY * DAY, grid.demand(RESPONDENTS[code], ends - HOUR, HOUR)
    for day in np.unique(begun).tolist():
        own = begun == day
        values[own] = grid.as_forecast(values[own], ends[own], day, f"eia.demand_forecast/{code}")
    names = {"respondent": code, "type": "DF"}
    return [_row(end, names, value) for end, value in zip(ends.tolist(), values.tolist(), strict=True)]


def _reported(dataset: str, facets: Facets, ends: Ints, now: int) -> Rows:
    """Return the values of each authority, the first of a series' names, for each hour at `now`."""
    rows: Rows = []
    for names, seed, values in _series(dataset, facets, ends):
        lag = REPORTED_AFTER[next(iter(names.values()))]
        published = grid.as_published(values, _starts(names, ends), now, f"eia/{seed}")
        columns = zip(ends.tolist(), published.tolist(), strict=True)
        rows += [_row(end, names, value if end + lag <= now else None) for end, value in columns]
    return rows


def _starts(names: Mapping[str, str], ends: Ints) -> Ints:
    """Return the starts of the hours that the periods of a series mean."""
    if names.get("fromba") == "PJM":
        return np.array([start_in_pjm(end) for end in ends.tolist()], np.int64)
    return ends - HOUR


def _series(dataset: str, facets: Facets, ends: Ints) -> Iterator[tuple[dict[str, str], str, Floats]]:
    """Yield the names of each series of a data set, the seed of its errors, and its MWh (interchange: + for export)."""
    ts = ends - HOUR
    if dataset == "interchange-data":
        for code in facets.get("fromba", RESPONDENTS):
            for area in grid.neighbours(RESPONDENTS[code]):
                names = {"fromba": code, "toba": CODE_OF_AREA[area]}
                flow = -grid.border(RESPONDENTS[code], area, _starts(names, ends), HOUR)
                if code == "PJM" and names["toba"] in INVERTED:
                    flow = np.where(ends < INVERTED_UNTIL, -flow, flow)
                yield names, f"{code}>{area}", flow
    elif dataset == "fuel-type-data":
        for respondent in facets["respondent"]:
            for code, values in (_californian(ts) if respondent == "CISO" else _by_source(respondent, ts)).items():
                yield {"respondent": respondent, "fueltype": code}, f"{code}/{respondent}", values
    else:
        for code in facets.get("respondent", RESPONDENTS):
            zone = RESPONDENTS[code]
            for kind in facets["type"]:
                values = grid.demand(zone, ts, HOUR) if kind == "D" else -grid.interchange(zone, ts, HOUR)
                yield {"respondent": code, "type": kind}, f"{kind}/{code}", values


def _californian(ts: Ints) -> dict[str, Floats]:
    mix = grid.generation("US-CAISO", ts, HOUR)
    return {
        code: mix.get(FUELS[code], np.zeros(len(ts))) + (mix["biomass"] if code == "OTH" else 0.0)
        for code in CALIFORNIAN
    }


def _by_source(respondent: str, ts: Ints) -> dict[str, Floats]:
    """Return MWh by energy source. A part of the solar panels is combined with batteries, as SNB."""
    mix = grid.mix(RESPONDENTS[respondent], ts, HOUR)
    by_source = {_CODE_OF_FUEL[fuel]: values for fuel, values in mix.items()}
    return by_source | {"SUN": (1.0 - BESIDE_BATTERIES) * mix["solar"], "SNB": BESIDE_BATTERIES * mix["solar"]}


def _row(end: int, names: dict[str, str], value: float | None) -> dict[str, str | None]:
    figure = None if value is None else str(round(value))
    return {"period": f"{utc(end):%Y-%m-%dT%H}", **names, "value": figure, "value-units": "megawatthours"}


def _page(rows: Rows, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the requested page of `rows` in EIA's envelope."""
    offset, length = int(query.get("offset", "0")), min(int(query.get("length", PAGE)), PAGE)
    response = {"total": str(len(rows)), "data": rows[offset : offset + length]}
    # EIA repeats the query including the key, which the raw archive removes.
    return {"response": response, "request": {"params": dict(query)}, "apiVersion": "2.1.6"}
