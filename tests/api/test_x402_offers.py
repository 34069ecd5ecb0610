"""Offers that a machine can follow: every one passes the official validators, and its own example works when called."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import jsonschema
import pytest
from x402.extensions.bazaar import facilitator as official

from api.access.prices import PRICES
from api.endpoints.table import ENDPOINTS
from api.settings import Facilitator as Listed

PAY_TO = "0x00000000000000000000000000000000DeaDBeef"
AHEAD = "DE-LU"
"""A zone whose prices are known ahead."""


@pytest.fixture
def shop(everywhere: Any) -> Any:
    """A client of the service itself, where payments are taken."""
    return everywhere.client(pay_to=PAY_TO, facilitators=(Listed("http://127.0.0.1:9"),))


def offers(shop: Any) -> dict[str, tuple[str, dict[str, Any], dict[str, Any]]]:
    """By price: the path, version 2's offer and version 1's."""
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


def test_what_each_offer_shows_can_be_called(shop: Any, everywhere: Any) -> None:
    key = everywhere.key(shop)
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


def test_an_empty_parameter_of_a_sample_is_a_mistake(shop: Any) -> None:
    """A sample is an answer, not an offer: nothing is asked for that a catalogue's probe could not name."""
    for path in (
        "/v1/price/GB?sample=true&market=",
        "/v1/price/GB?market=&sample=true",
        "/v1/map/snapshot?sample=true&metric=",
    ):
        answer = shop.get(path)
        assert (answer.status_code, answer.json["type"].rpartition("/")[2]) == (400, "invalid-parameters"), path


def _same_shape(example: Any, answer: Any, where: str) -> None:
    """Whether every member of the example stands in the answer with the same JSON type."""
    numbers = (int, float)
    assert isinstance(answer, numbers if isinstance(example, numbers) else type(example)), where
    if isinstance(example, dict):
        for name, member in example.items():
            if where.endswith((".metrics", ".current", ".context")) and name not in answer:
                continue  # which metrics there are is the zone's
            assert name in answer, f"{where}.{name}"
            _same_shape(member, answer[name], f"{where}.{name}")
    elif isinstance(example, list) and example and answer:
        _same_shape(example[0], answer[0], f"{where}[0]")
