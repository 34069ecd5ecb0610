"""Payments for the service's own answers: formats, overdue figures, empty windows, and what a sample gives away."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.prices import units_of
from api.settings import Facilitator as Listed
from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.chain import BUYER
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.trade import PAY_TO
from warehouse.store import artefact


@dataclass
class Shop:
    """The service over a full warehouse, one facilitator, and a buyer."""

    http: FlaskClient
    facilitator: Facilitator
    book: Book

    def payment(self, path: str) -> dict[str, str]:
        """The header that pays for a path."""
        offer = json.loads(base64.b64decode(self.http.get(path).headers["PAYMENT-REQUIRED"]))["accepts"][0]
        return {"PAYMENT-SIGNATURE": buyer.header(buyer.pay_v2(offer))}

    def get(self, path: str, payment: dict[str, str], **headers: str) -> TestResponse:
        return self.http.get(path, headers=payment | headers)

    @property
    def paid(self) -> int:
        return self.book.balances.get(PAY_TO.lower(), 0)


@pytest.fixture
def shop(everywhere: Any) -> Iterator[Shop]:
    book = Book({BUYER.lower(): 1_000_000})
    facilitator = Facilitator(book)
    http = everywhere.client(pay_to=PAY_TO, facilitators=(Listed(facilitator.url),))
    yield Shop(http, facilitator, book)
    facilitator.close()


def test_a_paid_answer_is_found_again_by_its_effective_format(shop: Shop) -> None:
    path = "/v1/price/GB"
    for headers, again, other in (
        ({"Accept": "text/csv"}, path + "?format=csv", path),
        ({"Accept": "text/csv;q=0.9, image/png"}, path + "?format=csv", path + "?format=parquet"),
        ({}, path + "?format=json", path + "?format=csv"),
        ({"Accept": "*/*"}, path, path + "?format=arrow"),
    ):
        payment = shop.payment(path)
        first = shop.get(path, payment, **headers)
        assert first.status_code == 200
        repeated = shop.get(again, payment)
        assert (repeated.status_code, repeated.headers["X-Idempotent-Replay"]) == (200, "true"), headers
        assert repeated.headers["Content-Type"] == first.headers["Content-Type"]
        assert shop.get(other, payment).status_code == 402
    assert shop.paid == 4 * 10_000


def test_overdue_figures_are_given_free_and_marked(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-03-31T12:10:00Z")  # a day later nothing newer came
    for path in ("/v1/latest/GB", "/v1/brief/GB", "/v1/map/snapshot"):
        payment = shop.payment(path)
        answer = shop.get(path, payment)
        assert (answer.status_code, answer.headers["X-EMDS-Stale"]) == (200, "true"), path
        assert "PAYMENT-RESPONSE" not in answer.headers
        assert answer.headers.getlist("Cache-Control") == ["private, no-store"]
    assert (shop.paid, shop.facilitator.calls) == (0, {"verify": 0, "settle": 0})


def test_one_overdue_zone_makes_the_snapshots_that_hold_it_free_and_no_other(shop: Shop, everywhere: Any) -> None:
    whole = artefact.load(everywhere.storage, "snapshot.json")
    late = whole["zones"]["FR"]
    for figure in (*late["metrics"].values(), late.get("generation_mix", {})):
        figure["expected_by"] = everywhere.now - 60
    late["valid_until"] = whole["valid_until"] = everywhere.now - 60
    everywhere.put_document("snapshot.json", whole)
    for query, paid in (("", False), ("?zones=FR,GB", False), ("?zones=GB", True), ("?zones=GB&metric=price", True)):
        path = "/v1/map/snapshot" + query
        answer = shop.get(path, shop.payment(path))
        assert answer.status_code == 200, path
        assert ("PAYMENT-RESPONSE" in answer.headers, "X-EMDS-Stale" in answer.headers) == (paid, not paid), path
        assert (answer.json["valid_until"] >= everywhere.now) is paid
    assert shop.paid == 2 * units_of("snapshot")


def test_samples_do_not_rebuild_what_is_sold(shop: Shop) -> None:
    """Every sample of latest and snapshot together holds prices and no other figure."""
    for path in ("/v1/latest/GB?sample=true", "/v1/map/snapshot?sample=true", "/v1/map/snapshot?sample=1&metric=price"):
        sample = shop.http.get(path).json
        members = sample["zones"].values() if "zones" in sample else [sample]
        for member in members:
            assert set(member["metrics"]) <= {"price"}, path
            assert not any(name.startswith("generation_mix") for name in member), path
