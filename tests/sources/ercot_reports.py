"""ERCOT's reports made for the tests, and how a feed reads them."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date

from assets import sources
from warehouse.market.market import Request

SPP_RT, SPP_DA, PRICES, LOAD, HOURLY, TIES = (
    sources.feed(f"ercot.{name}")
    for name in ("spp_rt", "spp_da", "system_wide_prices", "load", "load_hourly", "dc_ties")
)
SPRING, AUTUMN, ORDINARY = date(2026, 3, 8), date(2026, 11, 1), date(2026, 9, 23)
DA_COLUMNS = "DeliveryDate,HourEnding,SettlementPoint,SettlementPointPrice,DSTFlag"
RT_COLUMNS = (
    "DeliveryDate,DeliveryHour,DeliveryInterval,SettlementPointName,SettlementPointType,SettlementPointPrice,DSTFlag"
)


def read(feed, body, kind="rows"):
    """The rows that a feed reads from bytes, or from what becomes JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return feed.parse(body, Request(feed.id, "", kind=kind))


def zipped(text: str) -> bytes:
    """A zip of one CSV file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cdr.00012331.csv", text)
    return out.getvalue()


def day_ahead(day: date, hours: list[tuple[int, str]], columns: str = DA_COLUMNS, node: str = "HB_HUBAVG") -> bytes:
    """A day-ahead report; `hours`: (hour ending, flag of the repeated hour)."""
    lines = [f"{day:%m/%d/%Y},{hour:02d}:00,{node}, {hour + len(flag) / 100:.2f},{flag}" for hour, flag in hours]
    return zipped("\n".join([columns, *lines]) + "\n")
