"""Test series over HTTP: windows, fuels, borders, markets, sources, what was known when, and cached responses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Rig, asking
from tests.stand_ins.declared import feed, source
from warehouse.documents import catalogue
from warehouse.market.clock import HOUR, instant
from warehouse.market.vocabulary import Metric
from warehouse.series import month_versions
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader


def test_the_default_window_is_the_24_hours_before_now(ask: Any, market: Any) -> None:
    body = ask("/v1/price/GB")
    assert (body["start"], body["end"]) == (market.now - 24 * HOUR, market.now)
    assert all(body["start"] <= row["ts"] < body["end"] for row in body["data"])
    assert body["count"] == len(body["data"]) == 48
    assert body["truncated"] is False


def test_a_row_says_its_unit_and_resolution_and_the_envelope_whose_it_is(ask: Any) -> None:
    body = ask("/v1/price/GB?limit=1")
    assert body["data"] == [{"ts": body["start"] + 1200, "value": 56.125, "unit": "GBP/MWh", "resolution": "30m"}]
    assert (body["attribution"], body["sources"]) == ("© North Market Operator", ["north"])


def test_the_end_is_exclusive(ask: Any, market: Any) -> None:
    at = market.now - market.now % 1800
    assert ask(f"/v1/price/GB?start={at - 1800}&end={at}")["count"] == 1
    assert ask(f"/v1/price/GB?start={at - 1800}&end={at + 1}")["count"] == 2


def test_a_capacity_row_belongs_to_the_window_that_its_year_overlaps(ask: Any) -> None:
    body = ask("/v1/capacity/DE-LU")
    assert body["start"] == instant("2025-12-31T23:00:00Z")
    assert [(row["fuel"], row["ts"], row["resolution"]) for row in body["data"]] == [
        ("gas", instant("2025-12-31T23:00:00Z"), "1y"),
        ("solar", instant("2025-12-31T23:00:00Z"), "1y"),
    ]
    assert ask("/v1/capacity/DE-LU?start=2025-06-01T00:00:00Z&end=2025-06-02T00:00:00Z")["data"][0]["ts"] == instant(
        "2024-12-31T23:00:00Z"
    )
    assert ask("/v1/capacity/DE-LU?start=2025-06-01T00:00:00Z")["count"] == 4
    assert ask("/v1/capacity/DE-LU?start=2026-01-01T12:00:00Z&end=2026-01-02T00:00:00Z")["data"] == body["data"]
    assert ask("/v1/capacity/DE-LU?start=2023-06-01T00:00:00Z&end=2024-06-02T00:00:00Z")["count"] == 0


def test_interchange_is_the_net_and_borders_only_on_demand(ask: Any) -> None:
    net = ask("/v1/interchange/GB?limit=2")["data"]
    assert net[1]["ts"] - net[0]["ts"] == 300
    borders = ask("/v1/interchange/GB?by=border&limit=2")
    assert borders["by"] == "border"
    assert [(row["counterparty"], row["link"]) for row in borders["data"]] == [("FR", "ifa"), ("NL", "britned")]
    assert borders["data"][0]["ts"] == borders["data"][1]["ts"]


def test_the_day_ahead_market_is_its_own_series_in_the_us_and_the_headline_in_europe(ask: Any) -> None:
    body = ask("/v1/price/US-NYISO?market=day_ahead&limit=1")
    assert (body["metric"], body["market"], body["data"][0]["resolution"]) == ("price", "day_ahead", "1h")
    assert ask("/v1/price/US-NYISO")["count"] == 0
    assert ask("/v1/price/DE-LU?market=day_ahead")["data"] == ask("/v1/price/DE-LU")["data"]
    assert ask("/v1/price/GB?market=day_ahead", 404)["type"].endswith("/metric-not-available")
    assert ask("/v1/price/AU-NSW?market=day_ahead", 404)["type"].endswith("/metric-not-available")


def test_rows_ahead_of_now_come_only_when_asked_for(ask: Any, market: Any) -> None:
    assert ask("/v1/price/DE-LU")["data"][-1]["ts"] < market.now
    assert ask(f"/v1/price/DE-LU?end={market.now + 86400}")["data"][-1]["ts"] > market.now


def test_as_of_gives_the_rows_as_they_were_known(ask: Any, market: Any) -> None:
    at = market.now - HOUR - market.now % 1800
    market.put("north.price", "GB", "price", [(at, -7.5)], "GBP/MWh", "30m", known_at=100000500)
    window = f"start={at}&end={at + 1}"
    assert ask(f"/v1/price/GB?{window}")["data"][0]["value"] == -7.5
    before = ask(f"/v1/price/GB?{window}&as_of=100000499")
    assert before["as_of"] == 100000499
    assert before["data"][0]["value"] != -7.5
    assert ask(f"/v1/price/GB?{window}&as_of=100000500")["data"][0]["value"] == -7.5
    never = ask(f"/v1/price/GB?{window}&as_of=1970")
    assert (never["count"], never["gaps"]) == (0, [])


@pytest.mark.parametrize("longer", [0, 1, HOUR])
def test_a_gap_as_of_a_time_is_listed_whatever_the_next_month_holds(ask: Any, market: Any, longer: int) -> None:
    """Store an hour of February twelve hours before its end, and a row of March that is known a day after `as_of`."""
    march = instant("2026-03-01T00:00:00Z")
    assert market.now > march + 72 * HOUR
    market.put("north.grid", "GB", "demand", market.every(march - 12 * HOUR, 300, 12), known_at=march - HOUR)
    market.put("north.grid", "GB", "demand", [(march, 5.0)], known_at=march + 72 * HOUR)
    market.publish()
    body = ask(f"/v1/demand/GB?start={march - 12 * HOUR}&end={march + longer}&as_of={march + 48 * HOUR}")
    assert (body["count"], body.get("known_since")) == (12, None)
    [gap] = body["gaps"]
    assert (gap["start"], gap["end"]) == (march - 11 * HOUR, march + longer)


@pytest.mark.parametrize("interval", ["", "&interval=1d"])
def test_a_restored_month_says_since_when_it_is_known_and_costs_other_months_no_gap(
    ask: Any, market: Any, interval: str
) -> None:
    march = instant("2026-03-01T00:00:00Z")
    since, at = march + 72 * HOUR, march + 48 * HOUR
    for start in (march - 15 * 86400, march):
        market.put("north.grid", "GB", "demand", market.every(start, 300, 12), known_at=start + HOUR)
    market.publish()
    place, ranks = Month("demand", "GB", "2026-03"), catalogue.ranks(market.sources, (), "live")
    month_versions.update(market.storage, place, lambda now: now.versions, ranks, "live", known_since=since)
    window = f"start={march - 60 * HOUR}&end={march + 4 * HOUR}{interval}"
    before = ask(f"/v1/demand/GB?{window}&as_of={at}")
    assert (before["count"], before["known_since"]) == (0, since)
    assert [gap["end"] <= march for gap in before["gaps"]] == [True], "February has a gap of its own"
    after = ask(f"/v1/demand/GB?start={march}&end={march + 4 * HOUR}&as_of={since}")
    assert (after["count"], after.get("known_since")) == (12, None)
    several = ask(f"/v1/demand?zones=GB&{window}&as_of={at}")
    assert several["known_since"] == {"GB": since}
    assert [gap["start"] for gap in several["gaps"]] == [gap["start"] for gap in before["gaps"]]


@pytest.mark.parametrize("path", ["/v1/price/GB?limit=5", "/v1/price?zones=GB,FR&limit=5", "/v1/price/GB?stats=true"])
def test_the_last_ten_seconds_are_answered_as_of_ten_seconds_ago(ask: Any, market: Any, path: str) -> None:
    for ago, used in ((0, 10), (9, 10), (10, 10), (3600, 3600)):
        assert ask(f"{path}&as_of={market.now - ago}")["as_of"] == market.now - used
    assert "stats" in path or f"as_of={market.now - 3600}&" in ask.last.headers["Link"]
    [fault] = ask(f"{path}&as_of={market.now + 1}", 400)["errors"]
    assert (fault["parameter"], fault["code"]) == ("as_of", "out-of-range")


@pytest.mark.parametrize("zone", ["FR", "AU-TAS"])
def test_a_metric_that_a_zone_does_not_publish_is_404_with_the_zones_that_do(ask: Any, zone: str) -> None:
    problem = ask(f"/v1/generation/{zone}", 404)
    assert problem["type"] == "http://emds.example/problems/metric-not-available"
    assert problem["zones"] == ["US-CAISO", "GB"]


def test_withheld_figures_are_404_until_the_owner_has_the_rights(ask: Any, market: Any) -> None:
    market.put("shut.price", "US-PJM", "price", [(market.now - 600, 31.0)], "USD/MWh", "5m")
    assert ask("/v1/price/US-PJM", 404)["type"].endswith("/withheld-by-terms")
    market.publish(rights=("shut",))
    assert ask("/v1/price/US-PJM")["count"] == 0, "rows stay in history until `emds rebuild`"


def test_rights_taken_back_end_cached_answers_and_etags(rig: Rig) -> None:
    start = instant("2026-03-30T00:00:00Z")
    own = feed("late.grid", ("GB",), (Metric.DEMAND,), "5m")
    rig.sources["late"] = source("late", (own,))
    rig.put("late.grid", "GB", "demand", rig.every(start, 300, 12))
    rig.put("south.hourly", "GB", "demand", rig.every(start + HOUR, HOUR, 1), resolution="1h")
    rig.publish()
    client = rig.client()
    headers, path = rig.key(client), f"/v1/demand/GB?start={start}&end={start + 2 * HOUR}"
    first = client.get(path, headers=headers)
    assert first.get_json()["sources"] == ["south", "late"]
    rig.sources["late"] = source("late", (own,), withheld=True)
    rig.publish()
    assert client.get(path, headers=headers).get_json()["sources"] == ["south"]
    assert client.get(path, headers={**headers, "If-None-Match": first.headers["ETag"]}).status_code == 200


def test_rows_of_a_feed_that_is_withheld_since_are_in_no_answer(rig: Rig) -> None:
    """Leave the rows out, although a monthly file contains them until it is rebuilt."""
    start = instant("2026-03-30T00:00:00Z")
    own = feed("late.grid", ("GB",), (Metric.DEMAND,), "5m")
    rig.sources["late"] = source("late", (own,))
    rig.put("late.grid", "GB", "demand", rig.every(start, 300, 12))
    rig.put("south.hourly", "GB", "demand", rig.every(start + HOUR, HOUR, 1), resolution="1h")
    rig.publish()
    path = f"/v1/demand/GB?start={start}&end={start + 2 * HOUR}"
    assert asking(rig)(path)["sources"] == ["south", "late"]
    rig.sources["late"] = source("late", (own,), withheld=True)
    rig.publish()
    ask = asking(rig)
    for more in ("", "&as_of=now", "&limit=1", "&interval=1h", "&order=desc"):
        body = ask(path + more)
        assert (body["count"], body["sources"]) == (1, ["south"]), more
    assert body["gaps"] == [{"start": start, "end": start + HOUR}]


def test_a_feed_without_credentials_owes_nothing_beside_one_that_has_them(rig: Rig) -> None:
    """Use GB's demand, which north publishes every five minutes and south every hour."""
    window = f"/v1/demand/GB?start={rig.now - 5 * HOUR}"
    ends = []
    rig.publish()
    for configured in (("north", "south"), ("south",), ()):
        catalogue.publish(rig.storage, rig.sources, rig.mode, (), configured, rig.now)
        [gap] = asking(rig)(window)["gaps"]
        ends.append(gap["end"])
    assert ends[1] < ends[0] == ends[2]
    [gap] = asking(rig)(f"{window}&interval=1h")["gaps"]
    assert gap["start"] % HOUR == gap["end"] % HOUR == 0, "of whole hours, though the window begins amid one"


def test_samples_are_the_newest_50_rows_of_the_window_free_of_charge(market: Any) -> None:
    client = market.client()
    answer = client.get("/v1/demand/GB?sample=true")
    sample = answer.get_json()
    assert answer.headers["X-Sample"] == "true"
    assert (sample["sample"], sample["count"], sample["truncated"]) == (True, 50, True)
    assert sample["start"] == sample["data"][0]["ts"]
    assert sample["data"][-1]["ts"] == market.now - market.now % 300 - 300
    assert client.get("/v1/demand/GB?sample=true&order=desc").get_json()["data"] == sample["data"][::-1]
    assert client.get("/v1/demand/GB?sample=true&limit=5").get_json()["data"] == sample["data"][:5]


def test_rows_of_another_mode_are_not_served(market: Any) -> None:
    """Use a live warehouse whose mode file says simulated, or has no valid mode."""
    for word in (b"simulated", b"liv", b""):
        market.storage.put("mode", word)
        answer = market.client().get("/v1/price/GB?sample=true")
        assert answer.status_code == 503


def test_a_start_in_the_future_takes_the_day_after_it(ask: Any, market: Any) -> None:
    body = ask("/v1/price/DE-LU?start=2026-03-31")
    assert body["end"] - body["start"] == 24 * HOUR
    assert body["start"] > market.now
    assert body["count"] > 0


def test_a_snapshot_is_narrowed_to_metrics_and_zones(everywhere: Any) -> None:
    client = everywhere.client()
    headers = everywhere.key(client)
    whole = client.get("/v1/map/snapshot", headers=headers).get_json()
    few = client.get("/v1/map/snapshot?metric=price,demand&zones=GB,DE-LU", headers=headers).get_json()
    assert list(few["zones"]) == ["GB", "DE-LU"]
    metrics = whole["zones"]["GB"]["metrics"]
    assert few["zones"]["GB"]["metrics"] == {name: metrics[name] for name in ("price", "demand")}
    assert few["zones"]["GB"]["license"] == whole["zones"]["GB"]["license"]
    sample = client.get("/v1/map/snapshot?sample=true&zones=GB").get_json()
    assert (sample["sample"], list(sample["zones"]["GB"]["metrics"])) == (True, ["price"])
    assert client.get("/v1/map/snapshot?sample=true&metric=demand").status_code == 400
    assert client.get("/v1/map/snapshot?zones=XX").get_json()["errors"][0]["parameter"] == "zones"


def test_rows_name_their_source_where_the_window_mixes_several(ask: Any, market: Any) -> None:
    mixed = ask("/v1/demand/US-NYISO")
    assert mixed["sources"] == ["north", "south"]
    assert {(row["resolution"], row["source"]) for row in mixed["data"]} == {("1h", "south"), ("5m", "north")}
    assert mixed["attribution"] == "© North Market Operator; © South Market Operator"
    pure = ask(f"/v1/demand/US-NYISO?start={market.now - 3 * HOUR}")
    assert pure["sources"] == ["north"]
    assert "source" not in pure["data"][0]


@pytest.mark.parametrize("path", ["/v1/demand/GB?", "/v1/demand?zones=GB&"])
def test_means_name_every_source_of_the_rows_that_they_are_taken_of(rig: Any, path: str) -> None:
    """Include rows after the window's end, in the interval that starts before it."""
    start = instant("2026-03-30T00:00:00Z")
    rig.put("south.hourly", "GB", "demand", rig.every(start, HOUR, 5), "MW", "1h")
    rig.put("north.grid", "GB", "demand", rig.every(start + 5 * HOUR + 1800, 300, 6), "MW", "5m")
    rig.publish()
    client = rig.client()
    headers = rig.key(client)
    for interval, end in (("1h", start + 5 * HOUR + 900), ("1d", start + 4 * HOUR)):
        begin = start - HOUR if interval == "1d" else start + 4 * HOUR  # Europe/London is an hour ahead
        answer = client.get(f"{path}interval={interval}&start={begin}&end={end}", headers=headers).get_json()
        named = {word for row in answer["data"] for word in row.get("source", "").split(", ")}
        assert answer["sources"] == ["north", "south"], interval
        assert interval == "1d" or named == {"north", "south"}
    before = client.get(f"{path}interval=1h&start={start}&end={start + 5 * HOUR}", headers=headers).get_json()
    assert before["sources"] == ["south"]


@pytest.mark.parametrize("path", ["/v1/demand/GB?", "/v1/demand?zones=GB,AU-NSW&"])
def test_sources_are_those_of_the_rows_that_means_leave_out_too(ask: Any, path: str) -> None:
    body = ask(f"{path}interval=1d&start=2026-03-30T00:00:00Z&end=2026-03-30T03:00:00Z")
    assert body["data"] == []
    assert body["sources"] == ask(f"{path}start=2026-03-30T00:00:00Z&end=2026-03-30T03:00:00Z")["sources"] != []


def test_a_page_of_a_sample_names_the_sources_of_all_its_rows(market: Any) -> None:
    client = market.client()
    end = market.now - market.now % HOUR - 15 * HOUR
    path = f"/v1/demand/US-NYISO?sample=true&start={market.now - 200 * HOUR}&end={end}"
    whole, page = (client.get(f"{path}{more}").get_json() for more in ("", "&limit=7"))
    assert whole["sources"] == page["sources"] == ["north", "south"]
    assert page["attribution"] == whole["attribution"]
    assert page["data"] == whole["data"][:7]
    several = client.get(f"/v1/demand?zones=GB,US-NYISO&sample=true&start={market.now - 200 * HOUR}").get_json()
    assert several["sources"] == ["north", "south"], "of the window"
    newest = client.get("/v1/demand/US-NYISO?stats=true&sample=true&start=2026-03-28").get_json()
    assert (newest["sources"], newest["attribution"]) == (["north"], "© North Market Operator")


def reads(*_: object) -> None:
    """Fail instead of reading rows."""
    raise AssertionError("rows were read")


@pytest.mark.parametrize("path", ["/v1/price/DE-LU?", "/v1/price?zones=GB,DE-LU&"])
def test_what_has_not_changed_is_told_without_reading_a_row(
    market: Rig, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = market.client()
    key = market.key(client)
    path += f"start={market.now - 6 * HOUR}&end={market.now}"
    before, again = (client.get(path, headers=key) for _ in range(2))
    assert again.data == before.data
    known = {**key, "If-None-Match": before.headers["ETag"]}
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "rows", reads)
        assert client.get(path, headers=key).data == before.data
        unchanged = client.get(path, headers=known)
        assert (unchanged.status_code, unchanged.data) == (304, b"")
    at = market.now - market.now % HOUR - 2 * HOUR
    market.put("north.price", "DE-LU", "price", [(at, 4321.0)], "EUR/MWh", "15m")
    after = client.get(path, headers=known)
    assert after.headers["ETag"] != before.headers["ETag"]
    assert 4321.0 in {row["value"] for row in after.get_json()["data"]}


@pytest.mark.parametrize("interval", ["1h", "1d"])
@pytest.mark.parametrize("path", ["/v1/demand/GB?", "/v1/demand?zones=AU-SA,GB&"])
def test_a_hole_at_the_end_is_told_once_its_whole_interval_is_due(
    rig: Rig, path: str, interval: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End the window within an interval. The validator changes when the gap appears, after the window's end."""
    start = instant("2026-03-29T23:00:00Z") if interval == "1d" else instant("2026-03-30T09:00:00Z")
    span = 24 * HOUR if interval == "1d" else HOUR
    for zone in ("GB", "AU-SA"):
        rig.put("north.grid", zone, "demand", rig.every(start, 300, span // 300))
    rig.publish()
    client = rig.client()
    key = rig.key(client)
    path += f"start={start}&end={start + span * 3 // 2}&interval={interval}"
    seen = {}
    for hours in (1.55, 2.6, 9.0):
        at = start + int(hours * span)
        monkeypatch.setenv("EMDS_NOW", str(at))
        kept, fresh = client.get(path, headers=key), rig.client().get(path, headers=key)
        assert kept.get_json()["gaps"] == fresh.get_json()["gaps"]
        seen[hours] = kept
    assert not [gap for gap in seen[1.55].get_json()["gaps"] if gap.get("zone", "GB") == "GB"]
    assert [gap for gap in seen[9.0].get_json()["gaps"] if gap.get("zone", "GB") == "GB"]
    assert seen[1.55].headers["ETag"] != seen[9.0].headers["ETag"]
