"""RTE: records of regions are not France, and market prices come below the root `liste`."""

from __future__ import annotations

import json

import pytest

from assets import sources
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.feeds import Request

ECO2MIX, PRICE = sources.feed("rte.eco2mix"), sources.feed("rte.market_price")
QUARTERS = ("2026-06-17T10:00:00+00:00", "2026-06-17T10:15:00+00:00")


def read(**names):
    records = [{"date_heure": at, "consommation": 2300, "ech_physiques": -100, **names} for at in QUARTERS]
    body = json.dumps({"total_count": 2, "results": records}).encode()
    return ECO2MIX.parse(body, Request(ECO2MIX.id, ""))


def test_only_records_of_france_are_read():
    assert len(read(perimetre="France")) == len(read()) == 4
    for names in ({"perimetre": "Bretagne"}, {"libelle_region": "Bretagne"}, {"perimetre": None}):
        with pytest.raises(FeedChanged):
            read(**names)


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"<html><body><h1>Site en maintenance</h1></body></html>", FeedChanged),
        (b"<erreur><code>12</code></erreur>", FeedChanged),
        (b"<liste><date_debut>2026-11-29</date_debut></liste>", NotPublished),
    ],
)
def test_no_price_is_not_yet_published_only_in_a_list_of_prices(body, failure):
    with pytest.raises(failure):
        PRICE.parse(body, Request(PRICE.id, ""))
