"""Simulated EIA API v2: EIA-930 rows as texts, unordered, by hour end, 5000 a page.

The newest hours are listed before every authority has reported, with null values. Recent values are first estimates.
The original: https://www.eia.gov/opendata/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from assets.parsing.outside_areas import AMERICAN
from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.eia import PAGE, RESPONDENTS
from warehouse.clock import HOUR
from warehouse.market import Request

LISTED_AFTER = 60 * 60
"""Seconds after an hour's end until its rows are there."""
REPORTED_AFTER = {code: (75 + 5 * i) * 60 for i, code in enumerate(RESPONDENTS)}
"""And until an authority's value is."""

NAMES = {
    "CISO": "California Independent System Operator",
    "ERCO": "Electric Reliability Council of Texas, Inc.",
    "PJM": "PJM Interconnection, LLC",
    "MISO": "Midcontinent Independent System Operator, Inc.",
    "NYIS": "New York Independent System Operator",
    "ISNE": "ISO New England",
    "SWPP": "Southwest Power Pool",
    "BPAT": "Bonneville Power Administration",
    "AZPS": "Arizona Public Service Company",
    "SRP": "Salt River Project Agricultural Improvement and Power District",
    "NEVP": "Nevada Power Company",
    "WALC": "Western Area Power Administration - Desert Southwest Region",
    "LDWP": "Los Angeles Department of Water and Power",
    "IID": "Imperial Irrigation District",
    "BANC": "Balancing Authority of Northern California",
    "PACW": "PacifiCorp West",
    "TIDC": "Turlock Irrigation District",
    "CEN": "Centro Nacional de Control de Energia",
    "LGEE": "Louisville Gas and Electric Company and Kentucky Utilities Company",
    "TVA": "Tennessee Valley Authority",
    "DUK": "Duke Energy Carolinas",
    "CPLE": "Duke Energy Progress East",
    "MHEB": "Manitoba Hydro",
    "IESO": "Ontario IESO",
    "SOCO": "Southern Company Services, Inc. - Trans",
    "AECI": "Associated Electric Cooperative, Inc.",
    "SPA": "Southwestern Power Administration",
    "SWPW": "Southwest Power Pool West",
    "SPC": "Saskatchewan Power Corporation",
    "HQT": "Hydro-Quebec TransEnergie",
    "NBSO": "New Brunswick System Operator",
}
CODE_OF_AREA = {(AMERICAN | RESPONDENTS)[code]: code for code in NAMES}
"""The grid's name of an area -> EIA's code."""
TYPES = {"D": "Demand", "TI": "Total interchange"}
FUELS = {
    "COL": ("Coal", ("coal",)),
    "NG": ("Natural gas", ("gas",)),
    "NUC": ("Nuclear", ("nuclear",)),
    "OIL": ("Petroleum", ()),
    "WAT": ("Hydro", ("hydro",)),
    "SUN": ("Solar", ("solar",)),
    "WND": ("Wind", ("wind",)),
    "GEO": ("Geothermal", ("geothermal",)),
    "BAT": ("Battery storage", ("battery",)),
    "OTH": ("Other", ("biomass", "other")),
}
"""Code -> EIA's name and the grid's fuels."""
DESCRIPTIONS = {
    "region-data": "Hourly demand, day-ahead demand forecast, net generation, and interchange by balancing authority.",
    "interchange-data": "Daily interchange between neighboring balancing authorities.",
    "fuel-type-data": "Hourly net generation by balancing authority and energy source.",
}

Rows = list[dict[str, str | None]]


def answer(request: Request, now: int) -> Answer:
    """The requested page of rows at `now`; 404 for another data set."""
    match = re.fullmatch(r"/v2/electricity/rto/([a-z-]+)/data/", urlsplit(request.url).path)
    if match is None or match[1] not in DESCRIPTIONS:
        return Answer(404, b'{"error":"Not Found","code":404}')
    params, facets = _parse_params(request.params)
    ends = np.arange(_period(params["start"]), min(_period(params["end"]), now - LISTED_AFTER) + 1, HOUR)
    rows = _ROWS[match[1]](ends, facets, now)
    rows.sort(key=lambda row: blake2b("".join(map(str, row.values())).encode(), digest_size=8).digest())
    return Answer(200, render_page(match[1], rows, params, facets), (("content-type", "application/json"),))


def _parse_params(params: Sequence[tuple[str, str]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The plain parameters, and the values by facet."""
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


def _region(ends: Ints, facets: Mapping[str, Sequence[str]], now: int) -> Rows:
    return [
        region_row(code, kind, int(end), value)
        for code in facets.get("respondent", RESPONDENTS)
        if code in RESPONDENTS
        for kind in facets.get("type", TYPES)
        if kind in TYPES
        for end, value in _reported(code, ends, _total(RESPONDENTS[code], kind, ends), f"{kind}/{code}", now)
    ]


def _total(zone: str, kind: str, ends: Ints) -> Floats:
    return grid.demand(zone, ends - HOUR, HOUR) if kind == "D" else -grid.interchange(zone, ends - HOUR, HOUR)


def _borders(ends: Ints, facets: Mapping[str, Sequence[str]], now: int) -> Rows:
    return [
        border_row(code, CODE_OF_AREA[area], int(end), value)
        for code in facets.get("fromba", RESPONDENTS)
        if code in RESPONDENTS
        for area in grid.neighbours(RESPONDENTS[code])
        for end, value in _reported(
            code, ends, -grid.border(RESPONDENTS[code], area, ends - HOUR, HOUR), f"{code}>{area}", now
        )
    ]


def _fuels(ends: Ints, facets: Mapping[str, Sequence[str]], now: int) -> Rows:
    if "CISO" not in facets.get("respondent", ("CISO",)):
        return []
    mix = grid.generation("US-CAISO", ends - HOUR, HOUR)
    return [
        fuel_row("CISO", code, int(end), value)
        for code, (_, fuels) in FUELS.items()
        for end, value in _reported(
            "CISO", ends, sum((mix[fuel] for fuel in fuels), np.zeros(len(ends))), f"{code}/CISO", now
        )
    ]


_ROWS = {"region-data": _region, "interchange-data": _borders, "fuel-type-data": _fuels}


def _reported(code: str, ends: Ints, values: Floats, series: str, now: int) -> Iterator[tuple[int, float | None]]:
    """Hour ends and what the authority says of them at `now`."""
    published = grid.as_published(values, ends - HOUR, now, f"eia/{series}")
    for end, value in zip(ends.tolist(), published.tolist(), strict=True):
        yield end, value if end + REPORTED_AFTER[code] <= now else None


def region_row(code: str, kind: str, end: int, value: float | None) -> dict[str, str | None]:
    """One row of region-data."""
    names = {"respondent": code, "respondent-name": NAMES[code], "type": kind, "type-name": TYPES[kind]}
    return {"period": _stamp(end), **names, **_figure(value)}


def border_row(code: str, other: str, end: int, value: float | None) -> dict[str, str | None]:
    """One row of interchange-data; + is out of `code`."""
    return {
        "period": _stamp(end),
        "fromba": code,
        "fromba-name": NAMES[code],
        "toba": other,
        "toba-name": NAMES[other],
        **_figure(value),
    }


def fuel_row(code: str, fuel: str, end: int, value: float | None) -> dict[str, str | None]:
    """One row of fuel-type-data."""
    names = {"respondent": code, "respondent-name": NAMES[code], "fueltype": fuel, "type-name": FUELS[fuel][0]}
    return {"period": _stamp(end), **names, **_figure(value)}


def _stamp(end: int) -> str:
    return f"{datetime.fromtimestamp(end, UTC):%Y-%m-%dT%H}"


def _figure(value: float | None) -> dict[str, str | None]:
    return {"value": None if value is None else str(round(value)), "value-units": "megawatthours"}


def render_page(dataset: str, rows: Rows, query: Mapping[str, str], facets: Mapping[str, Sequence[str]]) -> bytes:
    """The requested page of `rows` in EIA's envelope."""
    offset, length = int(query.get("offset", "0")), min(int(query.get("length", PAGE)), PAGE)
    response: dict[str, Any] = {}
    if len(rows) > PAGE:
        response["warnings"] = [{"warning": "incomplete return", "description": _CUT}]
    response |= {
        "total": str(len(rows)),
        "dateFormat": 'YYYY-MM-DD"T"HH24',
        "frequency": "hourly",
        "data": rows[offset : offset + length],
        "description": f"{DESCRIPTIONS[dataset]}  \n    Source: Form EIA-930\n"
        "    Product: Hourly Electric Grid Monitor",
    }
    params = {"api_key": "SIMULATED", "data": ["value"], **query, **({"facets": facets} if facets else {})}
    command = f"/v2/electricity/rto/{dataset}/data/"
    page = {
        "response": response,
        "request": {"command": command, "params": dict(sorted(params.items()))},
        "apiVersion": "2.1.6",
        "ExcelAddInVersion": "2.1.0",
    }
    return json.dumps(page, separators=(",", ":")).replace(command, command.replace("/", r"\/")).encode()


_CUT = (
    "The API can only return 5000 rows in JSON format.  "
    "Please consider constraining your request with facet, start, or end, "
    "or using offset to paginate results."
)
