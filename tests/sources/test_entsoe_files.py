"""Test ENTSO-E's File Library: the export log in both of its forms leads to the newest folder's files."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay

PRICE = sources.feed("entsoe_files.price")
HEADER = "file_name\tyear\tmonth\tmax_update_time(UTC)\texport_time(UTC)"
STAMPS = "07-07-2026 13:55:09\t07-07-2026 14:00:00"
PUBLIC = [
    f"2026_{month:02}_EnergyPrices_12.1.D_{v}\t2026\t{month}\t{STAMPS}" for v in ("r3", "r3.1") for month in (6, 7)
]
WITH_FOLDER = [
    f"EnergyPrices_12.1.D_{v}\t2026_07_EnergyPrices_12.1.D_{v}.csv\t2026\t7\t2026-07-07 13:55:09\t2026-07-07 14:00:00"
    for v in ("r3.1", "r3")
]


def files_of(lines, *days):
    (listing,) = PRICE.requests([MarketDay(day, PRICE.tz) for day in days], 0)
    log = b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode()
    return [(json.loads(request.body), request.url) for request in PRICE.follow(log, listing)]


@pytest.mark.parametrize("lines", [[HEADER, *PUBLIC, ""], [f"folder_name\t{HEADER}", *WITH_FOLDER]])
def test_the_log_leads_to_the_month_in_the_newest_folder(lines):
    ((body, url),) = files_of(lines, date(2026, 7, 6))
    assert body["folder"] == "/TP_export/EnergyPrices_12.1.D_r3.1/"
    assert body["filename"] == "2026_07_EnergyPrices_12.1.D_r3.1.csv"
    assert "2026_07_EnergyPrices_12.1.D_r3.1.csv@" in url, "an export is requested once"


def test_a_day_over_two_months_needs_both_files():
    names = [body["filename"][:7] for body, _ in files_of([HEADER, *PUBLIC], date(2026, 7, 1))]
    assert names == ["2026_06", "2026_07"]


def test_a_log_without_the_product_or_a_column_is_another_one():
    with pytest.raises(FeedChanged):
        files_of([HEADER, f"2026_07_Other_1.1_r3\t2026\t7\t{STAMPS}"], date(2026, 7, 6))
    with pytest.raises(FeedChanged):
        files_of([HEADER.replace("file_name", "name"), *PUBLIC], date(2026, 7, 6))
    with pytest.raises(NotPublished):
        files_of([HEADER, *PUBLIC], date(2026, 9, 6))
