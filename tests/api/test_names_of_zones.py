"""What people call a zone or a metric, with what it answers: the same in queries and over MCP, in paths a redirect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.test_forms_of_time import by_mcp
from warehouse.errors import UnknownZone
from warehouse.market.zones import ZONES, find_zone

NAMES = {
    "FR": "FR",
    "France": "FR",
    "de_lu": "DE-LU",
    "DE": "DE-LU",
    "Germany": "DE-LU",
    "UK": "GB",
    "great britain": "GB",
    "Texas": "US-ERCOT",
    "New York": "US-NYISO",
    "ISO-NE": "US-ISONE",
    "NSW1": "AU-NSW",
    "DK1": "DK-1",
    "no_2": "NO-2",
    "IT-North": "IT-NO",
    "The Netherlands": "NL",
    "Italy": "Italy is not one zone: this service has IT-NO of it.",
    "NO": "NO is not one zone: this service has NO-2 of it.",
    "Sweden": "Sweden is not one zone: this service has SE-3 of it.",
    "Denmark": "Denmark is not one zone: this service has DK-1 of it.",
    "Australia": "Australia is not one zone: this service has AU-NSW, AU-QLD, AU-VIC, AU-SA, AU-TAS of it.",
    "USA": "USA is not one zone: this service has US-CAISO, US-ERCOT, US-PJM, US-MISO, US-NYISO, US-ISONE, US-SPP",
    "Frence": "There is no zone 'Frence'. Did you mean FR?",
    "Atlantis": "There is no zone 'Atlantis'.",
}
PATHS = {
    "/v1/carbon_intensity/uk": "/v1/carbon-intensity/GB",
    "/v1/Carbon-Intensity/GB?start=-24h&limit=3": "/v1/carbon-intensity/GB?start=-24h&limit=3",
    "/v1/carbon_intensity?zones=GB": "/v1/carbon-intensity?zones=GB",
    "/v1/bulk/carbon_intensity/gb/2026-03.parquet": "/v1/bulk/carbon-intensity/GB/2026-03.parquet",
    "/v1/prices/GB": "Did you mean /v1/price/GB?",
    "/v1/flows?zones=GB": "Did you mean /v1/interchange?",
    "/v1/price/GB/": "Did you mean /v1/price/GB?",
    "/v1/bulk/load/GB/2026-03.parquet": "Did you mean /v1/bulk/demand/GB/2026-03.parquet?",
    "/v1/nonsense": "There is nothing at '/v1/nonsense'. /openapi.json lists every path.",
}


@pytest.fixture(scope="module")
def client(shared_market: Any) -> Any:
    return shared_market.client(pay_to="0x00000000000000000000000000000000DeaDBeef")


@pytest.fixture(scope="module")
def key(shared_market: Any, client: Any) -> dict[str, str]:
    headers: dict[str, str] = shared_market.key(client)
    return headers


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_zone(client: Any, key: dict[str, str], name: str) -> None:
    meant = NAMES[name]
    found, path, exact = meant in ZONES, f"/v1/price/{name}", f"/v1/price/{meant}"
    query = client.get("/v1/changes", query_string={"zone": name})
    by_path = client.get(path, query_string={"end": "now"}, headers=key)
    tool = by_mcp(client, key, name)
    if not found:
        assert (query.status_code, by_path.status_code) == (400, 404)
        assert meant in query.get_json()["detail"]
        assert by_path.get_json()["detail"].startswith(meant)
        assert meant in tool
        return
    assert query.status_code == 200
    if name != meant:
        assert (by_path.status_code, by_path.headers["Location"], by_path.data) == (308, f"{exact}?end=now", b"")
    assert tool == by_mcp(client, key, meant)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_near_another(client: Any, path: str) -> None:
    answer, meant = client.get(path), PATHS[path]
    if meant.startswith("/"):
        assert (answer.status_code, answer.headers["Location"]) == (308, meant)
        assert client.head(path).status_code == 308
        assert client.get(meant.partition("?")[0]).status_code in (200, 400, 402, 404)
    else:
        assert (answer.status_code, meant in answer.get_json()["detail"]) == (404, True)


def test_a_redirect_counts_and_costs_nothing(client: Any, key: dict[str, str]) -> None:
    def used() -> int:
        count: int = client.get("/v1/usage", headers=key).get_json()["quota"]["used"]
        return count

    before = used()
    assert client.get("/v1/price/France", headers=key).status_code == 308
    assert client.get("/v1/price/France", headers={"X-PAYMENT": "junk"}).status_code == 308
    assert used() == before


def test_every_name_is_of_one_zone_and_no_country_of_several_names_one() -> None:
    for zone in ZONES.values():
        assert {find_zone(name) for name in zone.names} == {zone.id}
        for country in zone.part_of:
            with pytest.raises(UnknownZone, match=r"of it\.$"):
                find_zone(country)


def test_a_wrong_word_names_the_nearest(client: Any) -> None:
    for query, detail in (
        (
            "/v1/map/snapshot?sample=true&metric=prices",
            "does not know 'prices' (did you mean price?); takes price",
        ),
        ("/v1/price/GB?from=2026", "from: unknown parameter; this path knows start"),
        ("/v1/price/GB?ordr=asc", "(did you mean order?)"),
    ):
        answer = client.get(query)
        assert (answer.status_code, detail in answer.get_json()["detail"]) == (400, True), query


@pytest.mark.parametrize(
    "query",
    [
        "/v1/changes?metric=carbon-intensity&zone=GB&zones=FR",
        "/v1/map/snapshot?sample=true&metric=Price&zone=uk,France",
        "/v1/bulk?metric=carbon_intensity&zones=gb",
        "/v1/price/GB?format=CSV&order=DESC",
        "/v1/interchange/GB?stats=true&limit=1000&order=asc&format=json&interval=stored&by=net&cursor=first",
    ],
)
def test_other_spellings_are_taken(client: Any, key: dict[str, str], query: str) -> None:
    assert client.get(query, headers=key).status_code in (200, 503)
