"""Check the free, rounded documents of the map: their content, their rounding, and that newer ones are kept."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from assets.documents import map_history
from assets.documents.figures import figures
from assets.documents.publish import _publish_live, publish
from geo_data import table_rows
from tests.assets.conftest import World
from tests.stand_ins import declared
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR, Window
from warehouse.market.feeds import Feed, Publication
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.market.zones import ZONES
from warehouse.rows.versions import RowLabels
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder
from warehouse.store.stored_bytes import Identity

NOW = 1_795_176_600  # 2026-11-20T12:10Z
LAST = NOW - NOW % HOUR


def _feed(product: str, metric: Metric | Forecast, *zones: str) -> Feed:
    return declared.feed(f"toy.{product}", zones, [metric], "1h", publication=Publication(10, grace_minutes=120))


SOURCE = declared.source("toy", [
    _feed("price", Metric.PRICE, "GB", "FR"), _feed("flows", Metric.INTERCHANGE, "GB"),
    _feed("mix", Metric.MIX, "GB", "FR"), _feed("expected", Forecast.PRICE, "GB"),
    _feed("load-ahead", Forecast.DEMAND, "GB"),
    _feed("real-time", Metric.PRICE, "US-CAISO"), _feed("auction", Metric.PRICE_DAY_AHEAD, "US-CAISO"),
], attribution="Data: Toy.")  # fmt: skip


@pytest.fixture(scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = World(Folder(tmp_path_factory.mktemp("published")), SOURCE)
    first = LAST - 31 * DAY
    for zone in ("GB", "FR"):
        world.fold(zone, "price", first, [50.4 + (ts // HOUR % 24) for ts in range(first, LAST + DAY, HOUR)])
    known = [ts != LAST - 5 * HOUR or None for ts in range(first, LAST + 1, HOUR)]
    world.fold("GB", "interchange", first, [there and -1949.0 for there in known])
    for link, mw in (("gb-fr-ifa", 951.0), ("gb-fr-ifa2", -449.0)):
        world.fold("GB", "interchange", first, [there and mw for there in known], counterparty="FR", link=link)
    for fuel, mw in (("gas", 3049.0), ("pumped_storage", -1250.0)):
        world.fold("GB", "mix", first, [there and mw for there in known], fuel=fuel)
    world.catalogue(now=NOW)
    publish(world.storage, NOW)
    return world.storage.root


@pytest.fixture
def storage(_published: Path, tmp_path: Path) -> Folder:
    """Return a published month of prices, flows and a mix. Hard links suffice, since no file is written in place."""
    shutil.copytree(_published, tmp_path, dirs_exist_ok=True, copy_function=os.link)
    return Folder(tmp_path)


def document(storage: Folder, name: str) -> dict:
    body = artefact.load(storage, name)
    assert body is not None
    return body


def test_every_zone_has_the_same_properties_and_rounded_figures(storage: Folder) -> None:
    collection = document(storage, layout.LIVE)
    assert (collection["rounded"], collection["simulated"], collection["generated"]) == (True, False, NOW)
    zones = {feature["id"]: feature["properties"] for feature in collection["features"]}
    assert list(zones) == [record.id for record in table_rows.zones()]
    assert len({tuple(own) for own in zones.values()}) == 1
    snapshot = document(storage, layout.SNAPSHOT)["zones"]["GB"]["metrics"]
    gb = zones["GB"]
    assert (gb["price"], gb["price_unit"]) == (62, "GBP/MWh")
    assert snapshot["price"]["value"] == 62.4
    assert (gb["interchange"], gb["demand"], gb["carbon_intensity_band"]) == (-1900, None, None)
    assert gb["price_percentile"] == snapshot["price"]["percentile"]
    assert gb["price_band"] == document(storage, layout.brief("GB"))["context"]["price"]["band"]
    assert (gb["attribution"], zones["DE-LU"]["price"]) == ("Data: Toy.", None)


def test_the_newest_flow_of_each_tie_is_there(storage: Folder) -> None:
    assert document(storage, layout.LIVE)["flows"] == [
        {"zone": "GB", "counterparty": "FR", "link": "gb-fr-ifa", "mw": 1000, "ts": LAST},
        {"zone": "GB", "counterparty": "FR", "link": "gb-fr-ifa2", "mw": -400, "ts": LAST},
    ]


def test_a_zones_history_holds_hours_days_mix_and_borders(storage: Folder) -> None:
    body = document(storage, layout.live_history("GB"))
    hours = body["metrics"]["price"]["hours"]
    assert hours["start"] == LAST - 7 * DAY + HOUR
    assert len(hours["values"]) == 7 * 24 + 23, "seven days, and the hours that the auction has fixed"
    assert hours["values"][-24] == 62
    flow = body["metrics"]["interchange"]["hours"]["values"]
    assert (flow[-1], flow[-6]) == (-1900, None), "a missing hour is null"
    days = body["metrics"]["price"]["days"]
    assert days["step"] == 6 * HOUR
    assert len(days["values"]) == 30 * 4
    assert body["mix"]["unit"] == "MW"
    assert {fuel: steps[-1] for fuel, steps in body["mix"]["parts"].items()} == {"gas": 3000, "pumped_storage": -1300}
    assert body["borders"]["parts"]["FR"][-1] == 600, "1000 - 400: the ties of a border are added"
    assert body["borders"]["parts"]["FR"][-6] is None
    assert artefact.load(storage, layout.live_history("DE-LU")) is None


def test_a_border_goes_on_where_ties_follow_its_total(storage: Folder) -> None:
    """This happens if one publisher's interconnectors are newer than another publisher's totals of all borders."""
    for link, mw, start, hours in ((None, 700.0, LAST - 20 * HOUR, 10), ("gb-nl-britned", 300.0, LAST - 10 * HOUR, 11)):
        World(storage, SOURCE).fold("GB", "interchange", start, [mw] * hours, counterparty="NL", link=link)
    publish(storage, NOW)
    steps = document(storage, layout.live_history("GB"))["borders"]["parts"]["NL"]
    assert steps == [None] * 27 + [700] * 10 + [300] * 11


def test_a_zones_history_is_overdue_when_its_own_figures_are(storage: Folder) -> None:
    own = document(storage, layout.live_history("GB"))["valid_until"]
    assert own == document(storage, layout.SNAPSHOT)["zones"]["GB"]["valid_until"]


def test_hours_of_all_zones_are_48_and_those_that_an_auction_has_fixed(storage: Folder) -> None:
    body = document(storage, layout.LIVE_HOURS)
    assert set(body["zones"]) == set(ZONES)
    assert len(body["zones"]["FR"]["price"]) == 48 + 23
    assert len(body["zones"]["GB"]["interchange"]) == 48
    assert body["zones"]["FR"]["start"] == LAST - 47 * HOUR


def test_each_hour_has_the_percentile_that_the_brief_would_give_it(storage: Folder) -> None:
    """The rows are hourly: the newest hour's mean is the current value, and the test computes the others itself."""
    own = document(storage, layout.LIVE_HOURS)["zones"]["GB"]
    live = {f["id"]: f["properties"] for f in document(storage, layout.LIVE)["features"]}["GB"]
    ranks, values = own["price_percentile"], own["price"]
    assert ranks[47] == live["price_percentile"]
    window = [50.4 + (ts // HOUR % 24) for ts in range(LAST - 30 * DAY, LAST, HOUR)]
    for place in (0, 12, 47, 60):
        exact = 50.4 + ((own["start"] + place * HOUR) // HOUR % 24)
        below, equal = (sum(1 for v in window if v < exact), window.count(exact))
        assert ranks[place] == int((below + equal / 2) / len(window) * 100 + 0.5)
    assert len(ranks) == len(values)
    assert own["interchange_percentile"][42] is None, "an hour without a value has no rank"


def test_what_a_publisher_expects_stands_apart_and_without_a_rank(storage: Folder) -> None:
    vintage = {"published_at": LAST, "basis": "body"}
    World(storage, SOURCE).fold("GB", Forecast.PRICE, LAST, [80.0 + i for i in range(30)], **vintage)
    publish(storage, NOW)
    own, zone = document(storage, layout.LIVE_HOURS)["zones"]["GB"], document(storage, layout.live_history("GB"))
    assert own["price_forecast"] == [None] * 47 + [80 + i for i in range(30)]
    assert "price_forecast_percentile" not in own
    assert own["price"][47] == 62, "the reading stays"
    values = [80 + i for i in range(30)]
    assert zone["metrics"]["price"]["forecast"] == {"published_at": LAST, "start": LAST, "step": HOUR, "values": values}
    assert zone["metrics"]["interchange"]["forecast"] is None


def test_day_ahead_prices_of_a_zone_with_real_time_prices_are_a_series_of_their_own(storage: Folder) -> None:
    world, first = World(storage, SOURCE), LAST - 31 * DAY
    world.fold("US-CAISO", "price", first, [30.0] * (31 * 24 + 1))
    world.fold("US-CAISO", "price_day_ahead", first, [40.0 + ts // HOUR % 24 for ts in range(first, LAST + DAY, HOUR)])
    publish(storage, NOW)
    own, zone = document(storage, layout.LIVE_HOURS)["zones"], document(storage, layout.live_history("US-CAISO"))
    hours = own["US-CAISO"]
    assert (hours["price"], len(hours["price_day_ahead"])) == ([30] * 48, 48 + 23)
    assert hours["price_day_ahead"][-1] == 40 + (LAST + 23 * HOUR) // HOUR % 24
    assert len(hours["price_day_ahead_percentile"]) == 48 + 23
    rank = dict(zip(hours["price_day_ahead"], hours["price_day_ahead_percentile"], strict=True))
    assert (rank[40], rank[52], rank[63]) == (2, 52, 98), "each hour of the day is one of 24, ranked among these prices"
    series = zone["metrics"]["price"]
    assert series["hours"]["values"][-1] == 30, "no price of the auction is among those in real time"
    assert series["day_ahead"]["start"] == LAST - 7 * DAY + HOUR
    assert len(series["day_ahead"]["values"]) == 7 * 24 + 23
    assert "price_day_ahead" not in own["FR"], "there it is the price itself"
    assert "day_ahead" not in document(storage, layout.live_history("FR"))["metrics"]["price"]


@pytest.mark.parametrize("first", [LAST - 31 * DAY, LAST + HOUR], ids=["past and future", "future"])
def test_day_ahead_prices_are_listed_before_the_first_real_time_price(storage: Folder, first: int) -> None:
    auction = [40.0 + ts // HOUR % 24 for ts in range(first, LAST + DAY, HOUR)]
    World(storage, SOURCE).fold("US-CAISO", "price_day_ahead", first, auction)
    publish(storage, NOW)
    hours = document(storage, layout.LIVE_HOURS)["zones"]["US-CAISO"]
    assert (hours["price_unit"], hours["price_day_ahead"][-1]) == ("USD/MWh", auction[-1])
    assert (hours["price_day_ahead_percentile"][-1] is None) == (first > LAST), "no rank without a past"
    assert "price" not in hours
    price = document(storage, layout.live_history("US-CAISO"))["metrics"]["price"]
    assert (price["unit"], price["day_ahead"]["values"][-23:]) == ("USD/MWh", auction[-23:])
    assert price["hours"]["values"] == price["days"]["values"] == []


def test_a_forecast_is_listed_before_the_first_actual_value(storage: Folder) -> None:
    vintage = {"published_at": LAST, "basis": "body"}
    World(storage, SOURCE).fold("GB", Forecast.DEMAND, LAST, [30_000.0] * 30, **vintage)
    publish(storage, NOW)
    demand = document(storage, layout.live_history("GB"))["metrics"]["demand"]
    assert (demand["unit"], demand["hours"]["values"], demand["forecast"]["values"]) == ("MW", [], [30_000] * 30)
    hours = document(storage, layout.LIVE_HOURS)["zones"]["GB"]
    assert (hours["demand_unit"], hours["demand_forecast"][-1]) == ("MW", 30_000)


def test_a_publication_looks_only_for_series_that_the_catalogue_lists(storage: Folder) -> None:
    looked = set[str]()

    class Watched(Folder):
        def stat(self, key: str) -> Identity | None:
            looked.add(key)
            return super().stat(key)

    publish(Watched(storage.root), NOW)
    described = catalogue.load(storage)
    assert described is not None
    listed = {(metric, z.id) for z in described.zones.values() for metric in z.metrics}
    listed |= {(f"{metric}_forecast", z.id) for z in described.zones.values() for metric in z.forecasts}
    assert {layout.of_series(key)[:2] for key in looked if key.startswith(layout.series_prefix())} <= listed


def test_a_newer_publisher_of_a_zone_is_not_undone(storage: Folder) -> None:
    before = artefact.identity(storage, layout.live_history("GB"))
    described = catalogue.load(storage)
    assert described is not None
    reader = Reader(storage, 0)
    by_zone = figures(reader, described, ["GB"], NOW - HOUR)
    _publish_live(reader, described, by_zone, NOW - HOUR, 1, [])
    assert artefact.identity(storage, layout.live_history("GB")) == before
    assert document(storage, layout.LIVE)["flows"][0]["ts"] == LAST


def test_means_weigh_by_duration_and_need_half_the_step() -> None:
    pieces = [
        (0, "30m", 10),
        (1800, "30m", 20),
        (3600, "15m", 99),
        (7200, "5m", 60),
        (7500, "15m", 0),
        (9000, "30m", 6),
    ]
    rows = RowColumns(
        tuple(RowLabels(None, None, None, "EUR/MWh", step, "toy", "toy.price") for _, step, _ in pieces),
        np.arange(len(pieces), dtype=np.int32),
        np.array([ts for ts, _, _ in pieces], np.int64),
        np.array([value for _, _, value in pieces], np.float64),
    )
    exact = map_history.step_means(rows, Window(0, 4 * HOUR), HOUR)
    assert np.array_equal(exact, [15, np.nan, 9.6, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("newer", "expected"),
    [("ties", [("SE-3", "a", 100, 900), ("SE-3", "b", 200, 600)]), ("total", [("SE-3", None, 500, 900)])],
)
def test_of_two_feeds_of_a_border_the_one_with_the_newest_row_is_listed(
    newer: str, expected: list[tuple[str, str | None, int, int]]
) -> None:
    """One feed publishes the interconnectors and another the total. Only the feed with the newest row is listed."""
    own, ties = (100.0, 200.0), newer == "ties"
    rows = [
        *((("SE-3", "a", "two.ties"), ts, own[0]) for ts in (300, 900 if ties else 400)),
        (("SE-3", "b", "two.ties"), 600 if ties else 300, own[1]),
        (("SE-3", None, "one.total"), 700 if ties else 900, 500.0),
        (("NO-2", None, "one.total"), 500, -300.0),
        (("NO-2", None, "one.total"), 1300, -400.0),
    ]
    rows.sort(key=lambda row: row[1])
    borders = RowColumns(
        tuple(RowLabels(None, name, link, "MW", "5m", feed.split(".")[0], feed) for (name, link, feed), _, _ in rows),
        np.arange(len(rows), dtype=np.int32),
        np.array([ts for _, ts, _ in rows], np.int64),
        np.array([value for _, _, value in rows], np.float64),
    )
    flows = map_history.newest_flows("DK-1", borders, 1200)
    told = [(flow["counterparty"], flow["link"], flow["mw"], flow["ts"]) for flow in flows]
    assert sorted(told, key=str) == sorted([*expected, ("NO-2", None, -300, 500)], key=str)
