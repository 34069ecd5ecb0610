"""Test payments at the service itself: offers that a machine can follow, responses by format, overdue values."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse
from x402.extensions.bazaar import facilitator as official

from api.access.prices import PRICES, units_of
from api.endpoints.table import ENDPOINTS
from api.settings import Facilitator as Listed
from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.chain import BUYER
from tests.stand_ins.facilitator import Facilitator
from tests.stand_ins.trade import PAY_TO
from warehouse.store import artefact

AHEAD = "DE-LU"
"""A zone whose future prices are known."""


@pytest.fixture(scope="module")
def shop(shared_everywhere: Any) -> Any:
    """Return a client of the service itself, which accepts payments."""
    return shared_everywhere.client(pay_to=PAY_TO, facilitators=(Listed("http://127.0.0.1:9"),))


def offers(shop: Any) -> dict[str, tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return, by price, the path, version 2's offer and version 1's offer."""
    by_price = {}
    for name, price in PRICES.items():
        own = ENDPOINTS[name].zones
        path = price.path.replace(
            "{zone}", AHEAD if name == "windows" else "GB" if "GB" in own else own[0] if own else ""
        )
        path = path.replace("{metric}", "price").replace("{month}", "2026-03")
        answer = shop.get(path, query_string={"zones": ""} if name.endswith("-zones") else {})
        assert answer.status_code == 402, path
        by_price[name] = (path, json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"])), answer.json)
    return by_price


def test_every_offer_passes_the_official_validators(shop: Any) -> None:
    for name, (path, offer, _) in offers(shop).items():
        declared = offer["extensions"]["bazaar"]
        for check in (official.validate_discovery_extension, official.validate_discovery_extension_spec):
            result = check(declared)
            assert result.valid, (name, result.errors)
        jsonschema.Draft202012Validator.check_schema(declared["schema"])
        payload = {"x402Version": 2, "resource": offer["resource"], "extensions": offer["extensions"]}
        payload |= {"accepted": offer["accepts"][0], "payload": {}}
        resource = official.extract_discovery_info(payload, offer["accepts"][0])
        assert resource is not None, name
        assert resource.method == "GET"
        assert resource.service_name == offer["resource"]["serviceName"]
        assert resource.tags == list(offer["resource"]["tags"])
        assert resource.route_template == (
            re.sub(r"{(\w+)}", r":\1", PRICES[name].path) if "{" in PRICES[name].path else None
        )
        assert len(json.dumps(offer)) < 3000, "clients echo it in a header"
        assert offer["resource"]["url"].endswith(path)


def test_what_each_offer_shows_can_be_called(shop: Any, shared_everywhere: Any) -> None:
    key = shared_everywhere.key(shop)
    for name, (path, offer, first) in offers(shop).items():
        declared = offer["extensions"]["bazaar"]
        request = declared["info"]["input"]
        assert first["accepts"][0]["outputSchema"]["input"] == request
        called = declared.get("routeTemplate", path)
        for parameter, value in request.get("pathParams", {}).items():
            called = called.replace(f":{parameter}", value)
        query = request.get("queryParams", {})
        assert shop.get(called, query_string=query).status_code == 402
        empty = dict.fromkeys(
            declared["schema"]["properties"]["input"]["properties"].get("queryParams", {}).get("properties", {}), ""
        )
        assert shop.get(called, query_string=empty).status_code == 402, (name, "a validator's probe")
        answer = shop.get(called, query_string=query, headers=key)
        assert answer.status_code == 200, (name, answer.text)
        if name == "bulk-file":
            assert declared["info"]["output"] == {"type": "parquet"}
            assert answer.data.startswith(b"PAR1")
            continue
        _same_shape(declared["info"]["output"]["example"], answer.json, name)


def _same_shape(example: Any, answer: Any, where: str) -> None:
    """Check that the response has every field of the example with the same JSON type."""
    numbers = (int, float)
    assert isinstance(answer, numbers if isinstance(example, numbers) else type(example)), where
    if isinstance(example, dict):
        for name, member in example.items():
            if where.endswith((".metrics", ".current", ".context")) and name not in answer:
                continue  # the zone decides which metrics there are
            assert name in answer, f"{where}.{name}"
            _same_shape(member, answer[name], f"{where}.{name}")
    elif isinstance(example, list) and example and answer:
        _same_shape(example[0], answer[0], f"{where}[0]")


@dataclass
class Sale:
    """The service over a full warehouse, with one facilitator and a buyer."""

    http: FlaskClient
    facilitator: Facilitator
    book: Book

    def payment(self, path: str) -> dict[str, str]:
        """Return the header that pays for a path."""
        offer = json.loads(base64.b64decode(self.http.get(path).headers["PAYMENT-REQUIRED"]))["accepts"][0]
        return {"PAYMENT-SIGNATURE": buyer.header(buyer.pay_v2(offer))}

    def get(self, path: str, payment: dict[str, str], **headers: str) -> TestResponse:
        return self.http.get(path, headers=payment | headers)

    @property
    def paid(self) -> int:
        return self.book.balances.get(PAY_TO.lower(), 0)


@pytest.fixture
def sale(everywhere: Any) -> Iterator[Sale]:
    book = Book({BUYER.lower(): 1_000_000})
    facilitator = Facilitator(book)
    http = everywhere.client(pay_to=PAY_TO, facilitators=(Listed(facilitator.url),))
    yield Sale(http, facilitator, book)
    facilitator.close()


def test_a_paid_answer_is_found_again_by_its_effective_format(sale: Sale) -> None:
    path = "/v1/price/GB"
    for headers, again, other in (
        ({"Accept": "text/csv"}, path + "?format=csv", path),
        ({"Accept": "text/csv;q=0.9, image/png"}, path + "?format=csv", path + "?format=parquet"),
        ({}, path + "?format=json", path + "?format=csv"),
        ({"Accept": "*/*"}, path, path + "?format=arrow"),
    ):
        payment = sale.payment(path)
        first = sale.get(path, payment, **headers)
        assert first.status_code == 200
        repeated = sale.get(again, payment)
        assert (repeated.status_code, repeated.headers["X-Idempotent-Replay"]) == (200, "true"), headers
        assert repeated.headers["Content-Type"] == first.headers["Content-Type"]
        assert sale.get(other, payment).status_code == 402
    assert sale.paid == 4 * 10_000


def test_overdue_figures_are_given_free_and_marked(sale: Sale, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-03-31T12:10:00Z")  # a day later without newer values
    for path in ("/v1/latest/GB", "/v1/brief/GB", "/v1/map/snapshot"):
        payment = sale.payment(path)
        answer = sale.get(path, payment)
        assert (answer.status_code, answer.headers["X-EMDS-Stale"]) == (200, "true"), path
        assert "PAYMENT-RESPONSE" not in answer.headers
        assert answer.headers.getlist("Cache-Control") == ["private, no-store"]
    assert (sale.paid, sale.facilitator.calls) == (0, {"verify": 3, "settle": 0}), "checked, and not charged"


def test_one_overdue_zone_makes_the_snapshots_that_hold_it_free_and_no_other(sale: Sale, everywhere: Any) -> None:
    whole = artefact.load(everywhere.storage, "snapshot.json")
    late = whole["zones"]["FR"]
    for figure in (*late["metrics"].values(), late.get("generation_mix", {})):
        figure["expected_by"] = everywhere.now - 60
    late["valid_until"] = whole["valid_until"] = everywhere.now - 60
    everywhere.put_document("snapshot.json", whole)
    for query, paid in (("", False), ("?zones=FR,GB", False), ("?zones=GB", True), ("?zones=GB&metric=price", True)):
        path = "/v1/map/snapshot" + query
        answer = sale.get(path, sale.payment(path))
        assert answer.status_code == 200, path
        assert ("PAYMENT-RESPONSE" in answer.headers, "X-EMDS-Stale" in answer.headers) == (paid, not paid), path
        assert (answer.json["valid_until"] >= everywhere.now) is paid
    assert sale.paid == 2 * units_of("snapshot")
