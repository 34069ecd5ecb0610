"""What the parsers read of simulated OMIE, PSE, Energinet, RTE and Energy-Charts is the model grid's own day."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from assets.simulated import grid
from assets.simulated.day_ahead import auction
from assets.sources import feed
from warehouse.clock import MarketDay, local_date
from warehouse.market import Metric

DAYS = {
    "plain": date(2026, 11, 18),
    "spring": date(2026, 3, 29),
    "autumn": date(2026, 10, 25),
    "hours": date(2025, 9, 2),
}
PRICES = ("energinet.price", "energy_charts.price", "omie.price", "pse.price", "rte.market_price")


@pytest.mark.parametrize("name", DAYS)
@pytest.mark.parametrize("feed_id", PRICES)
def test_a_day_of_prices_is_the_auctions_to_the_cent(ask, feed_id: str, name: str) -> None:
    product = feed(feed_id)
    day = MarketDay(DAYS[name], product.tz)
    rows, _ = ask(feed_id, [day], "2026-11-19T12:00:00Z")
    if day.day < product.since:
        assert not len(rows)
        return
    for zone in product.zones:
        ts, values = auction(zone, day)
        read = {row.ts: row.value for row in rows if row.zone == zone}
        assert read == dict(zip(ts.tolist(), values, strict=True)), zone
    assert {row.resolution for row in rows} <= {"15m", "1h"}


@pytest.mark.parametrize("feed_id", PRICES)
def test_tomorrows_prices_come_in_the_afternoon(ask, feed_id: str) -> None:
    day = MarketDay(date(2026, 11, 20), feed(feed_id).tz)
    assert not len(ask(feed_id, [day], "2026-11-19T09:00:00Z")[0])
    assert len(ask(feed_id, [day], "2026-11-19T15:00:00Z")[0])


@pytest.mark.parametrize("name", ["plain", "spring", "autumn"])
def test_demand_and_flows_of_a_day_are_the_grids(ask, name: str) -> None:
    now = "2026-11-19T12:00:00Z"
    for feed_id, zone, metric, step, values in (
        ("rte.eco2mix", "FR", Metric.DEMAND, 900, lambda ts: grid.demand("FR", ts, 900).round()),
        ("rte.eco2mix", "FR", Metric.INTERCHANGE, 900, lambda ts: grid.interchange("FR", ts, 900).round()),
        ("pse.demand", "PL", Metric.DEMAND, 900, lambda ts: grid.demand("PL", ts, 900).round(3)),
        ("energinet.flows", "DK-1", Metric.INTERCHANGE, 300, lambda ts: grid.interchange("DK-1", ts, 300)),
    ):
        day = MarketDay(DAYS[name], feed(feed_id).tz)
        rows, _ = ask(feed_id, [day], now)
        read = {row.ts: row.value for row in rows if row.metric == metric and row.counterparty is None}
        coarse = feed_id == "rte.eco2mix" and name != "plain"  # months that were consolidated
        ts = np.arange(day.start, day.end, 1800 if coarse else step, dtype=np.int64)
        assert sorted(read) == ts.tolist(), (feed_id, metric)
        assert np.allclose([read[at] for at in ts.tolist()], values(ts), atol=0.04), (feed_id, metric, zone)


def test_flows_of_western_denmark_have_a_row_a_border_and_their_sum(ask) -> None:
    rows, _ = ask("energinet.flows", [MarketDay(date(2026, 11, 18), "Europe/Copenhagen")], "2026-11-18T12:00:00Z")
    nets = {row.ts: row.value for row in rows if row.counterparty is None}
    sums: dict[int, float] = dict.fromkeys(nets, 0.0)
    for row in rows:
        if row.counterparty is not None:
            sums[row.ts] += row.value
    assert nets == pytest.approx(sums, abs=1e-5)
    assert {row.counterparty for row in rows} == {None, "DE-LU", "NL", "GB", "NO-2", "SE-3", "Denmark DK2"}
    assert local_date(max(nets), "Europe/Copenhagen") == date(2026, 11, 18)


@pytest.mark.parametrize(
    ("files", "api"),
    [
        ("entsoe_files.price", "entsoe.price"),
        ("entsoe_files.load", "entsoe.demand"),
        ("entsoe_files.flows", "entsoe.flows"),
    ],
)
@pytest.mark.parametrize("day", [date(2026, 11, 18), date(2026, 11, 1), date(2026, 10, 25)])
def test_the_file_library_states_what_the_web_api_states(ask, files: str, api: str, day: date) -> None:
    """On a plain day, on one that lies in two monthly files, and in autumn."""
    window = MarketDay(day, feed(files).tz).window
    by_files, by_api = (
        {row for row in ask(feed_id, [MarketDay(day, feed(feed_id).tz)], "2026-11-19T12:00:00Z")[0] if row.ts in window}
        for feed_id in (files, api)
    )
    assert by_files == by_api
    assert by_files
