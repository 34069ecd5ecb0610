"""Test the event `day_ahead`: once per auction, again after a change, rounded, and only for redistributable data."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from api.documents.document_cache import DocumentCache
from orchestration.webhooks.auctions import complete_auctions
from tests.orchestration.webhook_receivers import NOW, Post
from tests.stand_ins import declared
from warehouse.documents import catalogue
from warehouse.market.clock import HOUR, QUARTER, MarketDay, month_of
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.series.reader import Reader
from warehouse.store import layout
from warehouse.store.storage import Folder

TODAY = MarketDay.at(NOW, "Europe/Brussels")
TOMORROW = TODAY.next()
FEED = "toy.price"


class Market:
    """A warehouse with Spain's auction."""

    def __init__(self, storage: Folder, step: int = HOUR) -> None:
        self.storage, self.step = storage, step

    def publish(self, withheld: bool = False) -> None:
        """Publish the catalogue with the current redistribution permissions."""
        feed = declared.feed(FEED, ("ES",), (Metric.PRICE,), "15m" if self.step == QUARTER else "1h")
        sources = {"toy": declared.source("toy", (feed,), withheld=withheld)}
        self.storage.put(layout.MODE, b"live")
        catalogue.publish(self.storage, sources, "live", (), ("toy",), NOW)
        self.terms = catalogue.terms(sources, "live")

    def put(self, day: MarketDay, values: Sequence[float], first: int = 0, known_at: int = NOW) -> None:
        """Fold prices of a market day, starting with interval number `first`."""
        rows, resolution = Rows(), "15m" if self.step == QUARTER else "1h"
        starts = [day.start + self.step * (first + place) for place in range(len(values))]
        rows.extend(SeriesKey("ES", Metric.PRICE, "EUR/MWh", resolution), starts, list(values))
        fold(self.storage, FEED, rows, {}, {FEED: 1}, known_at, "live", self.terms)


@pytest.fixture
def market(post: Post) -> Market:
    made = Market(post.storage)
    made.publish()
    return made


def data_of(receiver: Any) -> list[dict[str, Any]]:
    return [message["data"] for message in receiver.taken if message["type"] == "day_ahead"]


def test_an_auction_is_reported_once_it_is_complete_and_only_once(post: Post, market: Market) -> None:
    receiver = post.receiver()
    market.put(TODAY, [50.0] * 24)
    post.subscribe(receiver.url, "day_ahead", zones=("ES",))
    prices = [12.4, -0.4, -0.6, 3.0, 8.0, 9.0] + [40.0] * 14 + [-5.0, 100.6, 90.0, 80.0]
    post.round()
    market.put(TOMORROW, prices[:20])
    post.round()
    assert data_of(receiver) == [], "today's auction is old, tomorrow's is not complete"
    market.put(TOMORROW, prices[20:], first=20, known_at=NOW + 1)
    for _ in range(3):
        post.round()
    start = TOMORROW.start
    assert data_of(receiver) == [
        {
            "zone": "ES",
            "date": str(TOMORROW),
            "start": start,
            "end": TOMORROW.end,
            "unit": "EUR/MWh",
            "rounded": True,
            "mean": 36,  # 857 / 24
            "min": -5,
            "max": 101,
            "below_zero": [
                {"start": start + HOUR, "end": start + 3 * HOUR},
                {"start": start + 20 * HOUR, "end": start + 21 * HOUR},
            ],
            "cheapest_blocks": [
                {"hours": 1, "start": start + 20 * HOUR, "end": start + 21 * HOUR, "mean": -5},
                {"hours": 3, "start": start + HOUR, "end": start + 4 * HOUR, "mean": 1},
                {"hours": 6, "start": start, "end": start + 6 * HOUR, "mean": 5},
            ],
            "license": "Toy Market Operator: CC BY 4.0",
            "attribution": "© Toy Market Operator",
            "revised": False,
        }
    ]


def test_a_change_is_reported_as_revised_unless_rounding_hides_it(post: Post, market: Market) -> None:
    receiver = post.receiver()
    market.put(TOMORROW, [20.0] * 24)
    post.subscribe(receiver.url, "day_ahead")
    post.round()
    market.put(TOMORROW, [20.1] * 24, known_at=NOW + 1)
    post.round()
    market.put(TOMORROW, [31.0] * 24, known_at=NOW + 2)
    post.round()
    assert [(data["mean"], data["revised"]) for data in data_of(receiver)] == [(20, False), (31, True)]


def test_rights_that_are_taken_back_end_the_event(post: Post, market: Market) -> None:
    receiver = post.receiver()
    post.subscribe(receiver.url, "day_ahead", zones=("ES",))
    market.put(TOMORROW, [20.0] * 24)
    market.publish(withheld=True)
    post.round()
    assert data_of(receiver) == []
    market.publish()
    post.round()
    assert len(data_of(receiver)) == 1


def test_a_damaged_file_costs_no_other_event(post: Post, market: Market) -> None:
    receiver = post.receiver()
    market.put(TOMORROW, [20.0] * 24)
    post.subscribe(receiver.url, "day_ahead", "changes", zones=("ES", "GB"))
    path = post.home / layout.series("price", "ES", month_of(TOMORROW.start))
    path.write_bytes(b"\0" * 500)
    post.change()
    post.round()
    assert [message["type"] for message in receiver.taken] == ["changes"]


@pytest.mark.parametrize("day", [date(2027, 3, 28), date(2027, 10, 31), date(2027, 6, 1)])
def test_every_part_agrees_with_a_search_of_all_blocks(tmp_path: Path, day: date) -> None:
    """Check days of 23, 24 and 25 hours in quarter hours."""
    market, wanted, chance = (
        Market(Folder(tmp_path), QUARTER),
        MarketDay(day, "Europe/Brussels"),
        random.Random(str(day)),
    )
    market.publish()
    prices = [round(chance.uniform(-40, 120), 2) for _ in range((wanted.end - wanted.start) // QUARTER)]
    market.put(wanted, prices)
    found = complete_auctions(
        Reader(market.storage, 0), DocumentCache(market.storage).catalogue, "ES", wanted.start - HOUR
    )
    auction = found[str(day)]
    assert auction["mean"] == round(sum(prices) / len(prices))
    assert (auction["min"], auction["max"]) == (round(min(prices)), round(max(prices)))
    below = {ts for span in auction["below_zero"] for ts in range(span["start"], span["end"], QUARTER)}
    assert below == {wanted.start + QUARTER * place for place, price in enumerate(prices) if price < 0}
    for block in auction["cheapest_blocks"]:
        size = 4 * block["hours"]
        means = [sum(prices[place : place + size]) / size for place in range(len(prices) - size + 1)]
        assert block["start"] == wanted.start + QUARTER * means.index(min(means))
        assert block["end"] - block["start"] == block["hours"] * HOUR
        assert block["mean"] == round(min(means))
