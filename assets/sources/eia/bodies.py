"""Read the common parts of every response of EIA's API v2: the envelope, its rows, their hours and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assets.parsing.body import json_of, member, number, reading
from assets.parsing.stamps import iso_instant
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import HOUR
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Fuel
from warehouse.rows.schema import Rows

HOST = "api.eia.gov"
PAGE = 5000
RESPONDENTS = {
    "CISO": "US-CAISO",
    "ERCO": "US-ERCOT",
    "PJM": "US-PJM",
    "MISO": "US-MISO",
    "NYIS": "US-NYISO",
    "ISNE": "US-ISONE",
    "SWPP": "US-SPP",
}
FUELS = {
    "COL": Fuel.COAL,
    "NG": Fuel.GAS,
    "NUC": Fuel.NUCLEAR,
    "OIL": Fuel.OIL,
    "WAT": Fuel.HYDRO,
    "PS": Fuel.PUMPED_STORAGE,
    "SUN": Fuel.SOLAR,
    "SNB": Fuel.SOLAR,
    "WND": Fuel.WIND,
    "WNB": Fuel.WIND,
    "GEO": Fuel.GEOTHERMAL,
    "BAT": Fuel.BATTERY,
    "OES": Fuel.OTHER,
    "UES": Fuel.OTHER,
    "OTH": Fuel.OTHER,
    "UNK": Fuel.OTHER,
}
"""SNB and WNB are solar and wind with a battery behind the same meter. OES and UES are other and unknown storage."""


def start_of(entry: Mapping[str, Any]) -> int:
    """Return the start of the hour that ends at `period`. Raises FeedChanged."""
    return end_of(entry) - HOUR


def end_of(entry: Mapping[str, Any]) -> int:
    """Return the hour's end that `period` states. A day's period, `2026-07-01`, belongs to another data set."""
    period = member(entry, "period", str)
    end = iso_instant(period)
    if "T" not in period or end % HOUR:
        raise FeedChanged(f"{period[:40]!r} is not the end of an hour")
    return end


def megawatts_of(entry: Mapping[str, Any]) -> float | None:
    """Return the megawatt-hours of one hour, or None if there is no reading. Raises FeedChanged for another unit."""
    value = reading(member(entry, "value"), "value")
    if value is not None and entry.get("value-units") != "megawatthours":
        raise FeedChanged(f"unit {str(entry.get('value-units'))[:40]!r}; expected megawatthours")
    return value


def response_of(body: bytes) -> dict[str, Any]:
    response: dict[str, Any] = member(json_of(body), "response", dict)
    return response


def entries_of(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = member(response, "data", list)
    if not entries:
        raise NotPublished("no rows for this request")
    if not all(isinstance(entry, dict) for entry in entries):
        raise FeedChanged("'data' contains something other than rows")
    return entries


def is_cut(response: Mapping[str, Any], reached: int) -> bool:
    """Check whether rows follow the first `reached` ones. `total` counts all rows. Without it, a warning shows a
    cut."""
    if "total" in response:
        return reached < number(response["total"], "total")
    return "incomplete return" in str(response.get("warnings", ""))


def offset_of(request: Request) -> int:
    return int(dict(request.params).get("offset", "0"))


def parse_by_zone(metric: str, kind: str, sign: float, body: bytes, request: Request) -> Rows:
    """Return one net series per zone from the region-data rows of one type.

    Raises FeedChanged, FeedUnavailable, NotPublished.
    """
    entries = [entry for entry in entries_of(response_of(body)) if member(entry, "type", str) == kind]
    if not entries:
        raise FeedChanged(f"no row of the type {kind}")
    rows = Rows()
    for entry in entries:
        zone = RESPONDENTS.get(member(entry, "respondent", str))
        if zone is not None and (megawatts := megawatts_of(entry)) is not None:
            rows.add(zone, metric, start_of(entry), sign * megawatts, "MW", "1h")
    return rows
