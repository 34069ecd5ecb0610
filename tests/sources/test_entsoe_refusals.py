"""ENTSO-E's refusals told apart by their text, and what is no document at all."""

from __future__ import annotations

import io
import zipfile

import pytest

from assets.sources.entsoe import SOURCE
from tests.sources.entsoe_documents import PRICE, WHOLE, refusal
from warehouse.errors import CredentialsMissing, FeedChanged, FeedUnavailable, NotPublished
from warehouse.market.market import Request


@pytest.mark.parametrize(
    "file",
    [
        "ack_a44_nodata_DE-LU_http200.xml",
        "ack_a65_nodata_FR_2050_http200.xml",
        "ack_a65_nodata_bad-domain_http200.xml",
    ],
)
def test_recorded_acknowledgements_are_not_published(file, parsed):
    with pytest.raises(NotPublished, match="No matching data found"):
        parsed(f"entsoe/{file}")


def test_the_recorded_refusal_of_a_token_names_the_variable(parsed):
    with pytest.raises(CredentialsMissing, match="ENTSOE_API_TOKEN"):
        parsed("entsoe/error_401_unauthorized.html")


@pytest.mark.parametrize(
    ("reason", "text", "failure"),
    [
        ("999", "No matching data found for Data item ENERGY_PRICES [12.1.D]", NotPublished),
        ("999", "Authentication failed.", CredentialsMissing),
        ("999", "The combination of [documentType=A99] is not valid", FeedChanged),
        ("999", "", NotPublished),
        (
            "999",
            "Provided time interval (..) is larger than maximum allowed period 'P1M' for 'ACTUAL_TOTAL_LOAD' export.",
            FeedChanged,
        ),
        (
            "999",
            "The number of instances (365) exceeds the allowed maximum (100) for data item ENERGY_PRICES",
            FeedChanged,
        ),
        ("999", "The amount of requested data exceeds allowed limit", FeedChanged),
        ("999", "In_Domain is not valid for this area", FeedChanged),
        ("999", "check you request against dependency tables", FeedChanged),
        ("999", "Max allowed requests per minute from each unique IP is max up to 400 only", FeedUnavailable),
        ("999", "Service temporarily unavailable", FeedUnavailable),
        ("A02", "", FeedChanged),
    ],
)
@pytest.mark.parametrize("feed", SOURCE.feeds, ids=lambda feed: feed.id)
def test_refusals_are_told_apart_by_their_text(feed, reason, text, failure):
    with pytest.raises(failure):
        feed.parse(refusal(reason, text), Request(feed.id, "", zone="NL"))


def test_too_many_requests_are_banned_for_ten_minutes():
    with pytest.raises(FeedUnavailable) as caught:
        PRICE.parse(
            refusal("999", "Max allowed requests per minute from each unique IP is max up to 400 only"),
            Request(PRICE.id, ""),
        )
    assert caught.value.retry_after == 600


def test_a_zipped_answer_is_opened():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("1.xml", WHOLE)
    assert len(PRICE.parse(buffer.getvalue(), Request(PRICE.id, "", zone="NL"))) == 24
