"""ERCOT's price reports: recorded answers, the flag of the repeated hour, renamed columns, quarters."""

from __future__ import annotations

import pytest

from tests.sources.ercot_reports import (
    AUTUMN,
    DA_COLUMNS,
    ORDINARY,
    RT_COLUMNS,
    SPP_DA,
    SPP_RT,
    SPRING,
    day_ahead,
    read,
    zipped,
)
from warehouse.errors import FeedChanged
from warehouse.market.clock import MarketDay, market_days


def test_the_second_pass_of_the_autumn_hour_is_the_flagged_one_wherever_it_stands():
    (day,) = market_days(AUTUMN, AUTUMN, SPP_DA.tz)
    hours = [(1, "N"), (2, "Y"), (2, "N"), *((h, "N") for h in range(3, 25))]
    rows = read(SPP_DA, day_ahead(AUTUMN, hours)).sorted()
    assert [r.ts for r in rows] == list(range(day.start, day.end, 3600))
    assert len(rows) == 25
    fields = [
        {"name": name} for name in ("deliveryDate", "hourEnding", "settlementPoint", "settlementPointPrice", "DSTFlag")
    ]
    keyed = read(
        SPP_DA,
        {
            "fields": fields,
            "data": [
                ["2026-11-01", "02:00", "HB_HUBAVG", 48.25, True],
                ["2026-11-01", "02:00", "HB_HUBAVG", 47, False],
            ],
        },
    )
    assert [(r.ts, r.value) for r in keyed.sorted()] == [(day.start + 3600, 47.0), (day.start + 7200, 48.25)]


def test_the_spring_day_has_no_third_hour():
    (day,) = market_days(SPRING, SPRING, SPP_DA.tz)
    hours = [(h, "N") for h in range(1, 25) if h != 3]
    assert [r.ts for r in read(SPP_DA, day_ahead(SPRING, hours))] == list(range(day.start, day.end, 3600))
    with pytest.raises(FeedChanged, match="02:00"):
        read(SPP_DA, day_ahead(SPRING, [(3, "N")]))


@pytest.mark.parametrize(
    "columns",
    [
        DA_COLUMNS.replace("DSTFlag", "RepeatedHourFlag"),
        DA_COLUMNS.replace("SettlementPoint,", "SettlementPointName,"),
        "delivery_date,hour_ending,settlement_point,settlement_point_price,repeated_hour_flag",
    ],
)
def test_columns_have_been_renamed(columns):
    assert len(read(SPP_DA, day_ahead(ORDINARY, [(1, "N")], columns))) == 1


def test_real_time_quarters_are_labelled_by_hour_and_number():
    lines = [
        f"11/01/2026,{h},{q},HB_HUBAVG,AH,{h}.{q},{flag}"
        for h, flag in [(1, "N"), (2, "N"), (2, "Y"), (3, "N")]
        for q in range(1, 5)
    ]
    start = MarketDay(AUTUMN, SPP_RT.tz).start
    rows = read(SPP_RT, zipped("\n".join([RT_COLUMNS, *lines]) + "\n"))
    assert [r.ts for r in rows] == list(range(start, start + 4 * 3600, 900))
    assert [r.value for r in rows][4:12] == [2.1, 2.2, 2.3, 2.4] * 2
    assert {(r.metric, r.resolution) for r in rows} == {("price", "15m")}
    with pytest.raises(FeedChanged, match="quarter"):
        read(SPP_RT, zipped(RT_COLUMNS + "\n11/01/2026,1,5,HB_HUBAVG,AH,1,N\n"))
