"""Simulate RTE: eco2mix from ODRÉ's API, and market prices in XML.

The consolidated set has the months until the fourth before the current month, in half hours. The real-time set has the
rest.

Values come from the model grid. The originals: https://odre.opendatasoft.com, https://eco2mix.rte-france.com.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer, short
from assets.simulated.day_ahead import QUARTER, auction, is_out
from assets.simulated.grid.noise import Ints
from assets.sources.rte import AREAS, PRICE_HOST
from assets.sources.rte.eco2mix import CARBON, CONSOLIDATED, FUELS, HOST, NAMES, REAL_TIME, REAL_TIME_FUELS, TZ
from warehouse.market.clock import MarketDay, instant, market_days, utc
from warehouse.market.feeds import Request

OUT_AT = time(14, 40)
LAG = 25 * 60
_DATASET = f"https://{HOST}/api/explore/v2.1/catalog/datasets/"
_SPAN = re.compile(r"date_heure>=date'([^']+)' and date_heure<date'([^']+)'")


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/records` of the two data sets of eco2mix, and to `/curves/getDonneesMarche`."""
    if request.url == f"https://{PRICE_HOST}/curves/getDonneesMarche":
        return _prices(request, now)
    dataset = request.url.removeprefix(_DATASET).removesuffix("/records")
    span = _SPAN.fullmatch(dict(request.params).get("where", ""))
    if dataset not in (REAL_TIME, CONSOLIDATED) or span is None:
        return json_answer({"error_code": "NotFound"}, 404)
    ts = np.arange(instant(span[1]), instant(span[2]), QUARTER, dtype=np.int64)
    ts = ts[(ts < _consolidated_until(now)) == (dataset == CONSOLIDATED)]
    columns = _columns(ts)
    if dataset == CONSOLIDATED:
        columns = {name: texts for name, texts in columns.items() if name not in REAL_TIME_FUELS}
    selected = [name for name in dict(request.params)["select"].split(",") if name not in NAMES]
    if unknown := [name for name in selected if name not in columns]:
        return json_answer({"error_code": "ODSQLError", "message": f"Unknown field: {unknown[0]}."}, 400)
    records: list[dict[str, Any]] = []
    for i, at in enumerate(ts.tolist()):
        known = at + QUARTER + LAG <= now and (dataset == REAL_TIME or at % 1800 == 0)
        stamp = f"{utc(at):%Y-%m-%dT%H:%M:%S+00:00}"
        records.append(
            {
                "date_heure": stamp,
                "perimetre": "France",
                **{name: columns[name][i] if known else None for name in selected},
            }
        )
    return json_answer({"total_count": len(records), "results": records})


def _columns(ts: Ints) -> dict[str, list[int] | list[str]]:
    """Return whole MW by column. Columns that only the real-time data set has are texts."""
    mix = {fuel: mw.round() for fuel, mw in grid.mix("FR", ts, QUARTER).items()}
    lakes, wood = (0.4 * mix["hydro"]).round(), (0.6 * mix["biomass"]).round()
    of_storage = {"pumped_storage": ("hydraulique_step_turbinage", "pompage")}
    of_storage["battery"] = ("destockage_batterie", "stockage_batterie")
    values = {
        "consommation": grid.demand("FR", ts, QUARTER),
        "ech_physiques": grid.interchange("FR", ts, QUARTER),
        **{name: mix[fuel] for name, fuel in (FUELS | REAL_TIME_FUELS).items() if fuel in mix},
        "hydraulique_fil_eau_eclusee": mix["hydro"] - lakes,
        "hydraulique_lacs": lakes,
        "bioenergies_biomasse": wood,
        "bioenergies_biogaz": mix["biomass"] - wood,
        "eolien": mix["wind_onshore"] + mix["wind_offshore"],
        **{name: np.maximum(0.0, mix[fuel]) for fuel, (name, _) in of_storage.items()},
        **{name: np.minimum(0.0, mix[fuel]) for fuel, (_, name) in of_storage.items()},
        CARBON: grid.carbon("FR", ts, QUARTER),
    }
    whole = {name: column.round().astype(int).tolist() for name, column in values.items()}
    return {name: [str(mw) for mw in column] if name in REAL_TIME_FUELS else column for name, column in whole.items()}


def _consolidated_until(now: int) -> int:
    month = utc(now).year * 12 + utc(now).month - 1 - 3
    return MarketDay(date(month // 12, month % 12 + 1, 1), TZ).start


def _prices(request: Request, now: int) -> Answer:
    params = dict(request.params)
    first, last = (datetime.strptime(params[name], "%d/%m/%Y").date() for name in ("dateDeb", "dateFin"))  # noqa: DTZ007
    days = [day for day in market_days(first, last, TZ) if is_out(day, now, OUT_AT)]
    return Answer(200, f"<liste>{''.join(map(_day, days))}</liste>".encode())


def _day(day: MarketDay) -> str:
    series = []
    for area, zone in AREAS.items():
        prices = [short(price, 2) for price in auction(zone, day)[1]]
        values = "".join(f"<valeur periode='{i}'>{price}</valeur>" for i, price in enumerate(prices))
        series.append(f"<type v='donneesMarche' perimetre='{area}' granularite='Global' qual='1'>{values}</type>")
    return f"<donneesMarche date='{day}'>{''.join(series)}</donneesMarche>"
