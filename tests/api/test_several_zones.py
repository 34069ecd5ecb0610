"""Test series of several zones in one call: each zone's own rows, merged, in pages that lose nothing."""

from __future__ import annotations

import base64
import json
import re
import secrets
from typing import Any

import pytest

from api.access.prices import price_of
from api.settings import Facilitator
from warehouse.market.clock import HOUR

PATHS = {
    "/v1/price": (["DE-LU", "GB"], ""),
    "/v1/demand": (["GB", "US-NYISO"], ""),
    "/v1/generation": (["GB", "US-CAISO"], ""),
    "/v1/interchange": (["DE-LU", "GB"], "&by=border"),
    "/v1/capacity": (["DE-LU", "FR"], ""),
    "/v1/price?": (["DE-LU", "GB"], "&interval=1h"),
}


@pytest.fixture(scope="module")
def market(shared_market: Any) -> Any:
    """Return a warehouse that all tests share and do not change."""
    return shared_market


@pytest.fixture(scope="module")
def client(market: Any) -> Any:
    """Return a client with rows of one fuel and of three, and with rows of the same times in several zones."""
    for fuel in ("gas", "solar"):
        rows = market.every(market.now - market.now % HOUR - 30 * HOUR, HOUR // 2, 60, lambda i: 10.0 + i)
        market.put("north.mix", "US-CAISO", "generation", rows, "MW", "30m", fuel=fuel)
    market.publish()
    return market.client()


@pytest.fixture
def ask(client: Any) -> Any:
    """Return a function that sends requests with the test's own key, because calls of a key are counted per day."""
    signup = client.post("/v1/keys/signup", json={"email": f"{secrets.token_hex(6)}@example.org"})
    headers = {"Authorization": f"Bearer {signup.get_json()['api_key']}"}

    def get(path: str, status: int = 200, **more: str) -> Any:
        answer = client.get(path, headers={**headers, **more})
        assert answer.status_code == status, answer.data
        return answer

    return get


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["ts"], row["zone"], row.get("fuel") or "", row.get("counterparty") or "", row.get("link") or ""


def single(ask: Any, path: str, zones: list[str], window: str) -> list[dict[str, Any]]:
    """Return the rows of each zone's own path, in the order of a response for all zones."""
    rows = []
    for zone in zones:
        own = ask(f"{path.rstrip('?')}/{zone}?{window}&limit=5000").get_json()["data"]
        rows += [{"zone": zone, **row} for row in without_source(own)]
    return sorted(rows, key=key)


def without_source(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "source"} for row in rows]


@pytest.mark.parametrize("path", PATHS)
def test_rows_are_those_of_each_zone(ask: Any, market: Any, path: str) -> None:
    zones, more = PATHS[path]
    window = f"start={market.now - 20 * HOUR}&end={market.now}{more}"
    body = ask(f"{path.rstrip('?')}?zones={','.join(zones)}&{window}&limit=5000").get_json()
    assert body["zones"] == zones
    assert without_source(body["data"]) == single(ask, path, zones, window)
    assert body["count"] == len(body["data"]) >= 2
    assert set(body["attribution"]) == set(body["license"]) == set(zones)


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("path", PATHS)
def test_pages_by_cursor_give_every_row_once(ask: Any, market: Any, path: str, order: str, limit: int) -> None:
    zones, more = PATHS[path]
    window = f"start={market.now - 2 * HOUR}&end={market.now}{more}"
    expected = single(ask, path, zones, window)
    page = f"{path.rstrip('?')}?zones={','.join(zones)}&{window}&limit={limit}&order={order}"
    rows: list[dict[str, Any]] = []
    for _ in range(400):
        answer = ask(page)
        body = answer.get_json()
        assert len(body["data"]) <= limit
        assert body["truncated"] is ("Link" in answer.headers)
        rows += body["data"]
        if "Link" not in answer.headers:
            break
        page = re.search(r"<http://emds.example(.*)>; rel=\"next\"", answer.headers["Link"])[1]  # type: ignore[index]
    assert without_source(rows) == (expected if order == "asc" else expected[::-1])


def test_zones_are_required_and_spelling_is_forgiven(ask: Any) -> None:
    missing = ask("/v1/price?limit=1", 400).get_json()
    assert (
        missing["detail"]
        == "zones: is required. Zones separated by commas, or `all` for every zone that publishes the metric."
    )
    everyone = ask("/v1/price?limit=1&zones=all").get_json()
    assert "US-PJM" not in everyone["zones"], "withheld"
    assert len(everyone["zones"]) == 24
    for zones in ("zones=gb,de_lu", "zone=UK,Germany", "zones=GB&zones=DE", "zone=GB&zones=de-lu, gb"):
        assert ask(f"/v1/price?{zones}&limit=1").get_json()["zones"] == ["DE-LU", "GB"]
    ask("/v1/price?zones=US-PJM", 404)
    ask("/v1/carbon-intensity?zones=FR", 400)
    ask("/v1/price?zones=GB,XX", 400)


def test_times_are_each_zones_own(ask: Any, market: Any) -> None:
    window = f"start={market.now - HOUR}&end={market.now}"
    rows = ask(f"/v1/price?zones=GB,DE-LU&{window}&time=local").get_json()["data"]
    assert {(row["zone"], row["time"][-6:]) for row in rows} == {("GB", "+01:00"), ("DE-LU", "+02:00")}


@pytest.mark.parametrize(("metric", "zones"), [("price", ["DE-LU", "GB"]), ("demand", ["GB", "US-NYISO"])])
@pytest.mark.parametrize(
    ("start", "end"), [("yesterday", "today"), ("2026-03-29", "2026-03-30T00:00"), ("2026-03", "now")]
)
def test_dates_mean_each_zones_own_days(ask: Any, metric: str, zones: list[str], start: str, end: str) -> None:
    window = f"start={start}&end={end}&interval=1d"
    body = ask(f"/v1/{metric}?zones={','.join(zones)}&{window}").get_json()
    assert without_source(body["data"]) == single(ask, f"/v1/{metric}", zones, window)
    assert {row["zone"] for row in body["data"]} == {*zones}
    begins = [ask(f"/v1/{metric}/{zone}?{window}").get_json()["start"] for zone in zones]
    assert body["start"] == min(begins) < max(begins)


def test_a_time_of_day_or_an_hour_needs_an_offset_over_several_clocks(ask: Any) -> None:
    for window in ("start=yesterday&interval=1h", "start=yesterday", "start=2026-03-29T06:00&interval=1d"):
        assert "is a different time" in ask(f"/v1/demand?zones=GB,DE-LU&{window}", 400).get_json()["detail"]


def test_each_zone_costs_a_call_and_a_key_counts_one(market: Any) -> None:
    client = market.client(
        pay_to="0x00000000000000000000000000000000DeaDBeef", facilitators=(Facilitator("http://127.0.0.1:9"),)
    )
    for zones, amount in (("GB", "10000"), ("GB,DE-LU,AU-NSW", "30000"), ("all", "240000")):
        refused = client.get(f"/v1/price?zones={zones}")
        assert refused.status_code == 402
        offer = json.loads(base64.b64decode(refused.headers["PAYMENT-REQUIRED"]))
        assert offer["accepts"][0]["amount"] == amount
    assert price_of("price-zones*25").price == "0.25"
    headers = market.key(client)
    answer = client.get("/v1/price?zones=GB,DE-LU", headers=headers)
    assert answer.headers["RateLimit"].startswith('"day";r=499;')
