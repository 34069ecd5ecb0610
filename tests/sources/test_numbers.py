"""Numbers in texts: what a publisher writes is read, what could be read in two ways is refused."""

from __future__ import annotations

import json

import pytest

from assets.parsing.body import number
from assets.sources import feed
from warehouse.errors import FeedChanged
from warehouse.market.market import Request


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", 1234.5),
        ("-12,345,678", -12_345_678.0),
        ("+1,000", 1000.0),
        (" 999,999. ", 999_999.0),
        ("29.84", 29.84),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        (7, 7.0),
    ],
)
def test_thousands_may_have_commas(text: object, value: float) -> None:
    assert number(text, "price") == value


@pytest.mark.parametrize(
    "text", ["29,84", "1,2345", "1234,567", ",5", "1,", "1,,000", "1,23,456", "1.234,5", "8_8", "８８", "", "nan", True]
)
def test_what_is_no_number_or_has_a_decimal_comma_is_refused(text: object) -> None:
    with pytest.raises(FeedChanged):
        number(text, "price")


@pytest.mark.parametrize("total", [2, "2", True, [2]])
def test_a_count_of_records_that_are_not_all_there_is_refused_in_any_spelling(total: object) -> None:
    body = {"total_count": total, "results": [{"date_heure": "2026-03-03T00:00:00+00:00", "consommation": 60000}]}
    with pytest.raises(FeedChanged):
        feed("rte.eco2mix").parse(json.dumps(body).encode(), Request("rte.eco2mix", ""))
    body["total_count"] = "1"
    assert not len(feed("rte.eco2mix").parse(json.dumps(body).encode(), Request("rte.eco2mix", "")))
