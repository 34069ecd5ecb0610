"""Test every form of time and every name of a zone that clients write, over REST and MCP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from warehouse.market import further_zones
from warehouse.market.clock import civil_instant, iso
from warehouse.market.zones import ZONES

FORMS = {
    # Times with an offset, and Unix seconds.
    "1774828800": "2026-03-30T00:00:00Z",
    "2026-03-30T00:00:00Z": "2026-03-30T00:00:00Z",
    "2026-03-30T00:00Z": "2026-03-30T00:00:00Z",
    "2026-03-30t00:00:00.250z": "2026-03-30T00:00:00Z",
    "2026-03-30T02:00:00+02:00": "2026-03-30T00:00:00Z",
    "2026-03-29T17:00:00-07:00": "2026-03-30T00:00:00Z",
    "2026-03-30T02:00+0200": "2026-03-30T00:00:00Z",
    "20260330T0000Z": "2026-03-30T00:00:00Z",
    # Civil time of the zone, here Europe/Berlin.
    "2026-03-30T02:00:00": "2026-03-30T00:00:00Z",
    "2026-03-30T02:00": "2026-03-30T00:00:00Z",
    "2026-03-30 02:00": "2026-03-30T00:00:00Z",
    "2026-03-29T02:30": "2026-03-29T01:00:00Z",  # skipped, so it is the time of the change
    "2025-10-26T02:30": "2025-10-26T00:30:00Z",  # occurs twice, so it is the first
    "2026-03-30": "2026-03-29T22:00:00Z",
    "20260330": "2026-03-29T22:00:00Z",
    "2026-03": "2026-02-28T23:00:00Z",
    "2026": "2025-12-31T23:00:00Z",
    "1970": "1970-01-01T00:00:00Z",  # not the hour before, because Unix seconds start here
    "2026-W14": "2026-03-29T22:00:00Z",
    "2026w14": "2026-03-29T22:00:00Z",
    "2026-W01": "2025-12-28T23:00:00Z",
    # Words and durations, at 2026-03-30T12:10Z.
    "now": "2026-03-30T12:10:00Z",
    "Today": "2026-03-29T22:00:00Z",
    "yesterday": "2026-03-28T23:00:00Z",  # a day of 23 hours
    "tomorrow": "2026-03-30T22:00:00Z",
    "-24h": "2026-03-29T12:10:00Z",
    "-7d": "2026-03-23T12:10:00Z",
    "-30m": "2026-03-30T11:40:00Z",
    "P7D": "2026-03-23T12:10:00Z",
    "-P1W": "2026-03-23T12:10:00Z",
    "PT30M": "2026-03-30T11:40:00Z",
    "this week": "2026-03-29T22:00:00Z",
    "Last_Week": "2026-03-22T23:00:00Z",
    "this month": "2026-02-28T23:00:00Z",
    "last-month": "2026-01-31T23:00:00Z",
    # Mistakes, each with a sentence that explains it.
    "1774828800000": "1774828800000 looks like milliseconds; send seconds: 1774828800",
    "86400": "86400 is not a valid time; Unix seconds start at 100000000, a year has four digits and a date eight",
    "202603": "202603 is not a valid time; Unix seconds start at 100000000, a year has four digits and a date eight",
    "2026-02-30": "'2026-02-30' is not a valid time: day is out of range for month",
    "2026-W54": "'2026-W54' is not a valid time: Invalid week: 54",
    "P1M": "'P1M' is not a valid time. Use",
    "30.03.2026": "'30.03.2026' is not a valid time. Write dates as YYYY-MM-DD, for example 2026-11-20",
    "24h": "'24h' is not a valid time. To count back from now, add a minus sign: -24h",
    "2026-03-30T02:00 Europe/Berlin": "Use an offset such as +01:00 instead of a time zone name",
    "2026-03-30T02:00+26:00": "is not a valid time: hour must be in 0..23",
    "1969": "'1969' is not a valid time: it is outside the years 1970 to 9999",
    "soon": "'soon' is not a valid time. Use Unix seconds; an ISO 8601 time such as 2026-11-20T06:00Z (local",
}
WINDOWS = {
    ("now", "now"): "must be before end, which is not included: got 2026-03-30T12:10:00Z and 2026-03-30T12:10:00Z",
    (
        "2026-03-29",
        "2026-03-28",
    ): "must be before end, which is not included: got 2026-03-28T23:00:00Z and 2026-03-27T23:00:00Z",
}


@pytest.fixture(scope="module")
def client(shared_market: Any) -> Any:
    return shared_market.client(pay_to="0x00000000000000000000000000000000DeaDBeef")


@pytest.fixture(scope="module")
def key(shared_market: Any, client: Any) -> dict[str, str]:
    headers: dict[str, str] = shared_market.key(client)
    return headers


def by_rest(client: Any, key: dict[str, str], zone: str = "DE-LU", **window: str) -> str:
    """Return the start of the response's window, or the detail of the refusal."""
    path = "/v1/price" if "," in zone else f"/v1/price/{zone}"
    answer = client.get(path, query_string={**window, **({"zones": zone} if "," in zone else {})}, headers=key)
    body = answer.get_json()
    assert answer.status_code == (200 if "data" in body else 400)
    return iso(body["start"]) if "data" in body else str(body["detail"])


def by_mcp(client: Any, key: dict[str, str], zone: str = "DE-LU", **window: str) -> str:
    named = {"zones": zone.split(",")} if "," in zone else {"zone": zone}
    call = {"name": "get_history", "arguments": {"metric": "price", **named, **window, "order": "asc"}}
    answer = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={**key, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"},
    )
    result = answer.get_json()["result"]
    return iso(result["structuredContent"]["start"]) if not result.get("isError") else result["content"][0]["text"]


WAYS = pytest.mark.parametrize("way", [by_rest, by_mcp])


@WAYS
@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_time(client: Any, key: dict[str, str], way: Any, form: str) -> None:
    assert FORMS[form] in way(client, key, start=form, end="2026-04-02T00:00Z")


@WAYS
@pytest.mark.parametrize("window", WINDOWS)
def test_an_empty_window_says_why(client: Any, key: dict[str, str], way: Any, window: tuple[str, str]) -> None:
    assert WINDOWS[window] in way(client, key, start=window[0], end=window[1])


@WAYS
@pytest.mark.parametrize("form", ["2026-03-29", "2026-03-29T06:30", "today"])
def test_civil_time_of_several_zones_is_that_which_they_share(
    client: Any, key: dict[str, str], way: Any, form: str
) -> None:
    assert way(client, key, "DE-LU,FR", start=form) == way(client, key, "DE-LU", start=form)
    assert "start: is a different time in DE-LU and GB; add an offset, for example 2026-11-20T00:00Z, or request " in (
        way(client, key, "DE-LU,GB,FR", start=form)
    )


def test_a_plus_typed_into_an_address_is_one(client: Any, key: dict[str, str]) -> None:
    for stamp in ("2026-03-30T02:00:00+02:00", "2026-03-30T02:00+02:00", "2026-03-30+02:00:00+02:00"):
        answer = client.get(f"/v1/price/GB?start={stamp}", headers=key)
        assert iso(answer.get_json()["start"]) == "2026-03-30T00:00:00Z"


_CHANGES = [datetime(*day) for day in ((2026, 3, 29), (2026, 10, 25), (2026, 3, 8), (2026, 11, 1), (2026, 4, 5))]  # noqa: DTZ001


@given(
    some.builds(
        lambda day, minute: day + timedelta(minutes=minute), some.sampled_from(_CHANGES), some.integers(0, 300)
    ),
    some.integers(0, 7200),
    some.sampled_from(["Europe/Paris", "America/New_York", "Australia/Adelaide", "Europe/London", "Etc/GMT+5"]),
)
def test_windows_that_meet_in_civil_time_meet_in_unix_seconds(at: datetime, seconds: int, tz: str) -> None:
    """Check that civil time never runs backwards, that each existing time maps to itself, and that no time is lost."""
    instant, later = civil_instant(at, tz), civil_instant(at + timedelta(seconds=seconds), tz)
    assert instant <= later
    before = datetime.fromtimestamp(instant - 1, ZoneInfo(tz)).replace(tzinfo=None)
    shown = datetime.fromtimestamp(instant, UTC).astimezone(ZoneInfo(tz)).replace(tzinfo=None)
    assert shown == at or before < at < shown, "skipped: the first instant behind it"


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
    "10YFR-RTE------C": "FR",
    "10y1001a1001a82h": "DE-LU",
    "AU-NSW1": "AU-NSW",
    "Österreich": "AT",
    "Grossbritannien": "GB",
    "Pays-Bas": "NL",
    "Schweden": "Schweden has several zones; this service covers SE-3.",
    "États-Unis": "États-Unis has several zones; this service covers US-CAISO, US-ERCOT,",
    "Autralia": "Zone 'Autralia' does not exist. Did you mean AU-NSW or AU-QLD or AU-VIC or AU-SA or AU-TAS?",
    "Italy": "Italy has several zones; this service covers IT-NO.",
    "NO": "NO has several zones; this service covers NO-2.",
    "Sweden": "Sweden has several zones; this service covers SE-3. Not covered: SE-1, SE-2, SE-4.",
    "Dänemark": "Dänemark has several zones; this service covers DK-1. Not covered: DK-2.",
    "Denmark": "Denmark has several zones; this service covers DK-1. Not covered: DK-2.",
    "Australia": "Australia has several zones; this service covers AU-NSW, AU-QLD, AU-VIC, AU-SA, AU-TAS.",
    "USA": "USA has several zones; this service covers US-CAISO, US-ERCOT, US-PJM, US-MISO, US-NYISO, US-ISONE, US-SPP",
    "Frence": "Zone 'Frence' does not exist. Did you mean FR?",
    "Atlantis": "Zone 'Atlantis' does not exist.",
}
OTHER_COUNTRIES = """
FI CZ IE SE4 NO1 DK2 IT-SUD Finland Finnland Finlande Ireland Irland Iceland Island Czechia Tschechien Tchéquie
Bulgaria Bulgarien Bulgarie Romania Rumänien Slovenia Slowenien Slovakia Slowakei Estonia Estland Latvia Lettland
Lithuania Litauen Portugal Greece Griechenland Hungary Ungarn Croatia Serbia Ukraine Turkey Malta Canada Japan
"""
PATHS = {
    "/v1/carbon_intensity/uk": "/v1/carbon-intensity/GB",
    "/v1/Carbon-Intensity/GB?start=-24h&limit=3": "/v1/carbon-intensity/GB?start=-24h&limit=3",
    "/v1/carbon_intensity?zones=GB": "/v1/carbon-intensity?zones=GB",
    "/v1/bulk/carbon_intensity/gb/2026-03.parquet": "/v1/bulk/carbon-intensity/GB/2026-03.parquet",
    "/v1/prices/GB": "Did you mean /v1/price/GB?",
    "/v1/flows?zones=GB": "Did you mean /v1/interchange?",
    "/v1/co2/FR": "Did you mean /v1/carbon/FR?",
    "/v1/latest": "Did you mean /v1/latest/{zone}?",
    "/v1/windows": "Did you mean /v1/windows/{zone}?",
    "/v1/geo/flow": "Did you mean /v1/geo/flows?",
    "/v1/price/GB/": "Did you mean /v1/price/GB?",
    "/v1/bulk/load/GB/2026-03.parquet": "Did you mean /v1/bulk/demand/GB/2026-03.parquet?",
    "/v1/price/NL,BE?start=-24h": "/v1/price?zones=NL,BE&start=-24h",
    "/v1/carbon_intensity/uk,GB": "/v1/carbon-intensity?zones=GB",
    "/v1/price/NL,Atlantis": "Zone 'Atlantis' does not exist.",
    "/v1/latest/NL,BE": "accepts a single zone. /v1/map/snapshot?zones=NL,BE returns the latest values of several",
    "/v1": "The series are listed at /catalog",
    "/v1/": "The series are listed at /catalog",
    "/docs/": "The documentation is at /docs.",
    "/v1/forecast/FR": "Send kind=forecast to a series, such as /v1/demand/FR?kind=forecast.",
    "/v1/history/France": "Send start=-7d to a series, such as /v1/price/FR?start=-7d.",
    "/v1/statistics/FR": "Send stats=true to a series, such as /v1/price/FR?stats=true.",
    "/v1/embed/GB.svg": "No resource at '/v1/embed/GB.svg'. For all paths",
    "/v1/nonsense": "No resource at '/v1/nonsense'. For all paths, see /openapi.json.",
}


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


def test_another_country_is_not_taken_for_one_of_ours(client: Any) -> None:
    for name in (*OTHER_COUNTRIES.split(), *(zone.eic for zone in further_zones.TABLE)):
        assert client.get(f"/v1/price/{name}").get_json()["detail"] == f"Zone {name!r} does not exist."


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


@pytest.mark.parametrize(
    "query",
    [
        "/v1/changes?metric=carbon-intensity&zone=GB&zones=FR",
        "/v1/map/snapshot?sample=true&metric=Price&zone=uk,France",
        "/v1/bulk?metric=carbon_intensity&zones=gb",
        "/v1/price/GB?format=CSV&order=DESC",
        "/v1/interchange/GB?stats=true&limit=1000&order=asc&format=json&interval=original&by=net&cursor=first",
    ],
)
def test_other_spellings_are_taken(client: Any, key: dict[str, str], query: str) -> None:
    assert client.get(query, headers=key).status_code in (200, 503)
