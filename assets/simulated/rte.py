"""Simulated RTE: eco2mix by the API of ODRÉ, in half hours for months that were consolidated, and market prices in XML.

Values come from the model grid. The originals: https://odre.opendatasoft.com, https://eco2mix.rte-france.com.
"""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import Any

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer, short
from assets.simulated.day_ahead import QUARTER, auction, is_out
from assets.sources.rte import AREAS, CONSOLIDATED, HOST, PRICE_HOST, REAL_TIME, TZ
from warehouse.market.clock import MarketDay, instant, market_days, utc
from warehouse.market.feeds import Request

OUT_AT = time(14, 40)
LAG = 25 * 60
_DATASET = f"https://{HOST}/api/explore/v2.1/catalog/datasets/"
_SPAN = re.compile(r"date_heure>=date'([^']+)' and date_heure<date'([^']+)'")


def answer(request: Request, now: int) -> Answer:
    """`/records` of the two data sets of eco2mix, and `/curves/getDonneesMarche`."""
    if request.url == f"https://{PRICE_HOST}/curves/getDonneesMarche":
        return _prices(request, now)
    dataset = request.url.removeprefix(_DATASET).removesuffix("/records")
    span = _SPAN.fullmatch(dict(request.params).get("where", ""))
    if dataset not in (REAL_TIME, CONSOLIDATED) or span is None:
        return json_answer({"error_code": "NotFound"}, 404)
    ts = np.arange(instant(span[1]), instant(span[2]), QUARTER, dtype=np.int64)
    demand, flows = grid.demand("FR", ts, QUARTER).round(), grid.interchange("FR", ts, QUARTER).round()
    records: list[dict[str, Any]] = []
    for i, at in enumerate(ts.tolist()):
        known = at + QUARTER + LAG <= now and (dataset == REAL_TIME or at % 1800 == 0)
        values = (int(demand[i]), int(flows[i])) if known else (None, None)
        stamp = f"{utc(at):%Y-%m-%dT%H:%M:%S+00:00}"
        records.append(
            {"date_heure": stamp, "perimetre": "France", "consommation": values[0], "ech_physiques": values[1]}
        )
    return json_answer({"total_count": len(records), "results": records})


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
