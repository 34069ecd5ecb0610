"""The published documents: their fields, their times, and what concurrent, killed and late publishers leave behind."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import numpy as np
import orjson
import pytest

import assets.documents.publish
from assets.documents.publish import publish
from warehouse import artefact, layout
from warehouse.errors import StorageError, UnknownZone
from warehouse.layout import SNAPSHOT
from warehouse.zones import ZONES

HOUR, DAY = 3600, 86400
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR
ALL_OF_FRANCE = ["brief/FR.json", "latest/FR.json", SNAPSHOT, "windows/FR.json"]
"""Its documents and the snapshot, sorted."""


def document(world, name):
    return artefact.load(world.storage, name)


def fill(world, zone="FR", until=NOW + HOUR):
    hours = (until - START) // HOUR
    world.fold(zone, "price", START, [40 + i % 24 + i / 100 for i in range(hours)])
    world.fold(zone, "demand", START, [20000 + i % 24 for i in range(hours)])


# --- fields ---------------------------------------------------------------------------------------------------------

ZONE_FIELDS = {"attribution": str, "license": str}
VALUE = {"value": float, "unit": str, "ts": int, "resolution": str}
LATEST = {"zone": str, "metrics": dict, "attribution": str, "license": str, "updated": int}
CURRENT = {"value": float, "unit": str, "ts": int}
BRIEF = {
    "zone": str,
    "zone_name": str,
    "as_of": int,
    "current": dict,
    "context": dict,
    "context_window_requested_days": int,
    "trend_24h": dict,
    "generation_mix": dict,
    "generation_mix_unit": str,
    "summary": str,
    "coverage_note": str,
    "attribution": str,
    "license": str,
}
CONTEXT = {
    "percentile": int,
    "vs_median_pct": float,
    "median": float,
    "min": float,
    "max": float,
    "sample_count": int,
    "window_days_actual": float,
    "unit": str,
}
TREND = {"direction": str, "change_pct": float, "from_value": float}


def check(member, fields):
    assert {name: type(member.get(name)) for name in fields} == fields


def test_the_specifications_fields_and_types(world):
    fill(world)
    fill(world, "GB")
    for fuel in ("gas", "wind"):
        world.fold("GB", "generation", NOW - HOUR, [30.5, 31], "30m", fuel=fuel)
    publish(world.storage, NOW + 60)
    for zone in ("FR", "GB"):
        latest, brief = document(world, f"latest/{zone}.json"), document(world, f"brief/{zone}.json")
        check(latest, LATEST)
        check(brief, BRIEF)
        assert sorted(latest["metrics"]) == sorted(brief["current"]) == ["demand", "price"]
        for metric in ("demand", "price"):
            check(latest["metrics"][metric], VALUE | {"expected_by": int, "percentile": int, "source": str})
            check(brief["current"][metric], CURRENT)
            check(brief["context"][metric], CONTEXT)
            check(brief["trend_24h"][metric], TREND)
        assert brief["context_window_requested_days"] == 30
        assert brief["method"] == "brief/1"
    assert document(world, "latest/GB.json")["generation_mix"]["fuels"] == {"gas": 31, "wind": 31}
    assert document(world, "brief/GB.json")["generation_mix"] == {"gas": 31, "wind": 31}
    assert (
        document(world, "brief/FR.json")["generation_mix"],
        document(world, "brief/FR.json")["generation_mix_unit"],
    ) == ({}, "")
    snapshot = document(world, SNAPSHOT)
    check(snapshot, {"generated": int, "zones": dict})
    assert list(snapshot["zones"]) == list(ZONES)
    for zone, member in snapshot["zones"].items():
        check(member, ZONE_FIELDS | {"metrics": dict, "updated": int})
        latest = document(world, f"latest/{zone}.json")
        assert member["metrics"] == ({} if latest is None else latest["metrics"])


def test_a_zone_says_why_a_metric_is_missing(world):
    fill(world)
    publish(world.storage, NOW + 60, ["FR"])
    brief = document(world, "brief/FR.json")
    assert brief["context_omitted"] == brief["trend_omitted"] == {"interchange": "no_rows"}
    assert "No interchange is known." in brief["summary"]
    assert "No context for interchange: no value is known." in brief["coverage_note"]


def test_bodies_are_static_between_two_publications(world):
    fill(world)
    publish(world.storage, NOW + 60)
    before = {key: world.storage.get(key) for key in world.storage.keys("published/")}
    done = publish(world.storage, NOW + 60)
    assert {key: world.storage.get(key) for key in world.storage.keys("published/")} == before
    assert sorted(done.put) == ALL_OF_FRANCE


# --- times ----------------------------------------------------------------------------------------------------------


def test_a_day_ahead_hour_turns_without_any_new_row(world):
    fill(world, until=NOW + 12 * HOUR)
    for now, ts in ((NOW + HOUR - 1, NOW), (NOW + HOUR, NOW + HOUR)):
        publish(world.storage, now)
        latest = document(world, "latest/FR.json")
        assert latest["metrics"]["price"]["ts"] == ts
        assert latest["metrics"]["price"]["expected_by"] == latest["valid_until"] == ts + HOUR
        assert latest["updated"] == now


def test_expected_by_of_a_rolling_feed_is_lag_and_grace_after_the_next_interval(world):
    fill(world)
    publish(world.storage, NOW + 60)
    # the row of 12:00 ends at 13:00; the next ends at 14:00, and is out ten minutes later, twenty of grace
    assert document(world, "latest/FR.json")["metrics"]["demand"]["expected_by"] == NOW + 2 * HOUR + 30 * 60


def test_expected_by_of_an_auction_that_has_not_come(world):
    fill(world, until=NOW + 11 * HOUR)  # to midnight in Brussels, nothing of tomorrow
    publish(world.storage, NOW + 10 * HOUR)
    # Tomorrow's prices were due at 12:57 + 0:30 in Brussels; the last price still holds until its own interval ends.
    assert document(world, "latest/FR.json")["metrics"]["price"]["expected_by"] == NOW + 11 * HOUR
    publish(world.storage, NOW + 12 * HOUR)
    brief = document(world, "brief/FR.json")
    assert brief["current"]["price"]["ts"] == NOW + 10 * HOUR
    assert brief["valid_until"] == NOW + 11 * HOUR
    assert "The price was" in brief["summary"]
    assert "A newer value was due by 2026-11-21 00:00 CET (2026-11-20 23:00 UTC) and had not come." in brief["summary"]


def test_a_zone_whose_rows_stopped_long_ago_still_tells_them_with_their_time(world):
    fill(world)
    late = NOW + 400 * DAY
    publish(world.storage, late)
    latest, brief = document(world, "latest/FR.json"), document(world, "brief/FR.json")
    assert latest["metrics"]["demand"]["ts"] == NOW
    assert latest["valid_until"] < late == latest["updated"]
    assert brief["context"]["demand"]["sample_count"] == 720


# --- what may be served ---------------------------------------------------------------------------------------------


def test_without_a_catalogue_nothing_is_published(world):
    world.storage.delete(layout.published(layout.CATALOGUE))
    with pytest.raises(StorageError, match="no catalogue"):
        publish(world.storage, NOW)


def test_an_unknown_zone_is_refused(world):
    with pytest.raises(UnknownZone):
        publish(world.storage, NOW, ["XX"])


def test_an_empty_warehouse_has_no_documents(world):
    assert publish(world.storage, NOW).put == []
    assert artefact.identity(world.storage, SNAPSHOT) is None


def test_rights_taken_back_withdraw_the_documents_at_once(world):
    """Before the months are resolved anew."""
    fill(world)
    publish(world.storage, NOW + 60)
    world.withhold()
    world.catalogue()
    assert sorted(publish(world.storage, NOW + 120).withdrawn) == ALL_OF_FRANCE


def test_rights_taken_back_stay_taken_back_from_a_publisher_that_read_before(world, monkeypatch):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    read = assets.documents.publish.figures

    def overtaken(*args):
        figures = read(*args)
        monkeypatch.setattr(assets.documents.publish, "figures", read)
        world.withhold()
        world.catalogue()
        publish(world.storage, NOW)
        return figures

    monkeypatch.setattr(assets.documents.publish, "figures", overtaken)
    done = publish(world.storage, NOW)
    assert "latest/FR.json" not in done.put
    assert artefact.load(world.storage, "latest/FR.json") is None
    assert artefact.load(world.storage, "brief/FR.json") is None


def test_the_newer_of_two_publishers_never_tells_of_an_earlier_hour(world, monkeypatch):
    """`now` is read with the version: it cannot be taken before another publisher's and used after it."""
    fill(world)
    monkeypatch.delenv("EMDS_NOW", raising=False)
    monkeypatch.setattr(assets.documents.publish.artefact, "new_version", lambda: (NOW + 3600) * 10**9)
    publish(world.storage, zones=["FR"])
    assert document(world, "latest/FR.json")["updated"] == NOW + 3600


def test_a_zone_without_rows_is_withdrawn(world):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW + 60)
    for metric in ("price", "demand"):
        for month in ("2026-10", "2026-11"):
            world.storage.delete(layout.series(metric, "FR", month))
    done = publish(world.storage, NOW + 120, ["FR"])
    assert sorted(done.withdrawn) == ["brief/FR.json", "latest/FR.json", "windows/FR.json"]
    assert artefact.identity(world.storage, "latest/FR.json") is None
    snapshot = document(world, SNAPSHOT)
    assert snapshot["zones"]["FR"]["metrics"] == {}
    assert snapshot["zones"]["GB"]["metrics"] != {}


def test_the_last_zone_withdrawn_takes_the_snapshot_away(world):
    fill(world)
    publish(world.storage, NOW + 60)
    for key in world.storage.keys("series/"):
        world.storage.delete(key)
    assert sorted(publish(world.storage, NOW + 120).withdrawn) == ALL_OF_FRANCE


def test_a_lost_snapshot_is_put_together_from_the_latests(world):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW + 60)
    world.storage.delete(layout.published(SNAPSHOT))
    publish(world.storage, NOW + 120, ["GB"])
    zones = document(world, SNAPSHOT)["zones"]
    assert zones["FR"]["updated"] == NOW + 60
    assert zones["GB"]["updated"] == NOW + 120


# --- words and numbers ----------------------------------------------------------------------------------------------


def numbers_in(node) -> set[float]:
    if isinstance(node, dict):
        return set().union(*(numbers_in(v) for v in node.values()))
    return {float(node)} if isinstance(node, int | float) else set()


def texts_in(node) -> list[str]:
    if isinstance(node, dict):
        return [text for v in node.values() for text in texts_in(v)]
    return [node] if isinstance(node, str) and node else []


def said_only(brief) -> set[float]:
    """Sizes that the summary tells and that stand nowhere else; times and units are kept verbatim elsewhere."""
    summary = brief["summary"]
    others = {k: v for k, v in brief.items() if k not in ("summary", "summary_parts", "coverage_note")}
    kept = texts_in(others)
    clocks = [text[11:] for text in kept if re.match(r"\d{4}-\d\d-\d\d ", text)]
    for text in sorted(kept, key=len, reverse=True) + clocks:
        summary = summary.replace(text, " ")
    summary = re.sub(r"(?<=\d),(?=\d{3})", "", summary)
    return {float(n) for n in re.findall(r"\d+(?:\.\d+)?", summary)} - {abs(n) for n in numbers_in(others)}


def sign(number) -> int:
    return (number > 0) - (number < 0)


def flow_sentence(value, before) -> str:
    """The words for a flow that changed within a day."""
    if value * before < 0:
        earlier = "balanced" if abs(before) < 25 else "net import" if before > 0 else "net export"
        return f"A day earlier it was {earlier}: "
    flow, more = "export" if min(value, before) < 0 else "import", abs(value) > abs(before)
    return f"{'more' if more else 'less'} {flow} than a day earlier: "


def contradictions(brief, now) -> list[str]:
    """What disagrees in a brief: ranks with extremes, directions with changes, words with numbers."""
    agree = {"as_of": brief["as_of"] == now, "parts": brief["summary"] == " ".join(brief["summary_parts"].values())}
    for metric, figures in brief["summary_figures"].items():
        if "vs_median" in figures:
            agree[f"{metric} sum"] = abs(figures["value"] - figures["median"] - figures["vs_median"]) < 1e-9
    for metric, block in brief["context"].items():
        value, percentile = brief["current"][metric]["value"], block["percentile"]
        agree |= {
            f"{metric} percentile": 0 <= percentile <= 100,
            f"{metric} lowest": (percentile == 0) == (value < block["min"]),
            f"{metric} highest": (percentile == 100) == (value > block["max"]),
            f"{metric} order": block["min"] <= block["p10"] <= block["median"] <= block["p90"] <= block["max"],
            f"{metric} median": sign(block["vs_median"]) == sign(value - block["median"]),
            f"{metric} reason": (block["vs_median_pct"] is None) == ("vs_median_pct_reason" in block),
        }
    for metric, trend in brief["trend_24h"].items():
        flat = abs(trend["change"]) <= trend["flat_threshold"]
        agree |= {
            f"{metric} direction": trend["direction"]
            == ("flat" if flat else "rising" if trend["change"] > 0 else "falling"),
            f"{metric} share": trend["change_pct"] is None or sign(trend["change_pct"]) == sign(trend["change"]),
            f"{metric} change": sign(trend["change"]) == sign(brief["current"][metric]["value"] - trend["from_value"]),
        }
    agree |= {f"{metric} ahead": value["ts"] <= now for metric, value in brief["current"].items()}
    directions = [t["direction"] for t in brief["trend_24h"].values()]
    agree["flat"] = brief["summary"].count("about the same as a day earlier") == directions.count("flat")
    flow = brief["trend_24h"].get("interchange", {"direction": "flat"})
    if flow["direction"] != "flat":
        directions.remove(flow["direction"])
        agree["flow"] = flow_sentence(brief["current"]["interchange"]["value"], flow["from_value"]) in brief["summary"]
    agree["rising"] = brief["summary"].count(" up ") == directions.count("rising")
    agree["falling"] = brief["summary"].count(" down ") == directions.count("falling")
    agree["negative"] = (brief["current"].get("price", {"value": 0})["value"] < 0) == ("negative" in brief["summary"])
    agree["blocks"] = not brief["context"].keys() & brief["context_omitted"].keys()
    agree["trends"] = not brief["trend_24h"].keys() & brief["trend_omitted"].keys()
    return [name for name, holds in agree.items() if not holds]


def rough(random, count):
    """Values with plateaus, zeros, negatives, spikes and holes."""
    values = np.round(random.normal(20, 60, count).cumsum() / 8 % 220 - 60, int(random.integers(0, 6)))
    values[random.random(count) < 0.15] = 0
    values[random.random(count) < 0.01] *= 1000
    holes = random.random(count) < random.choice([0.0, 0.05, 0.45])
    if random.random() < 0.3:
        holes[count // 3 : count // 2] = True
    return [None if hole else float(v) for v, hole in zip(values, holes, strict=True)]


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_instants_without_contradiction(world, monkeypatch, count):
    random = np.random.default_rng(20261120)
    hours = 24 * 75
    for zone in ("FR", "AU-SA", "GB"):
        for metric in ("price", "demand", "interchange"):
            world.fold(zone, metric, START, rough(random, hours))
    world.fold("GB", "carbon_intensity", START, rough(random, hours * 2), "30m")
    for fuel in ("gas", "wind", "imports"):
        world.fold("GB", "generation", START, rough(random, hours * 2), "30m", fuel=fuel)
    read = []
    monkeypatch.setattr(artefact, "put", lambda storage, name, body, version: read.append((name, body)) or True)
    for instant in random.integers(START - HOUR, START + 80 * DAY, count).tolist():
        read.clear()
        publish(world.storage, instant, [("FR", "AU-SA", "GB")[instant % 3]])
        for name, whole in read:
            body = whole
            assert b"NaN" not in body
            assert b"Infinity" not in body
            # Of the windows: no block of so many seconds fits into what is known.
            for stated in (b'_pct":null', b'percentile":null', b'hour":null', b'00":null'):
                body = body.replace(stated, b"")
            assert b"null" not in body
            if name.startswith("brief"):
                brief = orjson.loads(whole)
                assert said_only(brief) == set(), brief["summary"]
                assert contradictions(brief, instant) == [], brief
    assert read


# --- at the same time -----------------------------------------------------------------------------------------------


def test_a_publisher_that_read_less_never_sets_a_zone_back(world, monkeypatch):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    read, resume = threading.Event(), threading.Event()
    real = assets.documents.publish.figures

    def slow(*args):
        figures = real(*args)
        read.set()
        resume.wait(30)
        return figures

    done = []
    monkeypatch.setattr(assets.documents.publish, "figures", slow)
    late = threading.Thread(target=lambda: done.append(publish(world.storage, NOW + 60, ["FR"])))
    late.start()
    assert read.wait(30)
    monkeypatch.setattr(assets.documents.publish, "figures", real)
    world.fold("FR", "demand", NOW, [31000])
    publish(world.storage, NOW + 61, ["FR"])
    publish(world.storage, NOW + 62, ["GB"])
    resume.set()
    late.join(30)
    assert sorted(done[0].newer) == ["brief/FR.json", "latest/FR.json", "windows/FR.json"]
    assert document(world, "latest/FR.json")["metrics"]["demand"]["value"] == 31000
    assert document(world, SNAPSHOT)["zones"]["FR"] == {
        k: v for k, v in document(world, "latest/FR.json").items() if k != "zone"
    }
    assert document(world, SNAPSHOT)["zones"]["GB"]["updated"] == NOW + 62


def test_a_clock_set_back_does_not_freeze_a_document(world):
    fill(world)
    publish(world.storage, NOW)
    for name in ("latest/FR.json", SNAPSHOT):
        world.storage.touch(layout.published(name), time.time_ns() + 10**15)
    publish(world.storage, NOW + 60)
    assert document(world, "latest/FR.json")["updated"] == NOW + 60
    assert document(world, SNAPSHOT)["zones"]["FR"]["updated"] == NOW + 60


def coherent(world, old, new):
    """Every document is the old or the new one, and the snapshot no older than any latest."""
    latest, brief, snapshot = (document(world, name) for name in ("latest/FR.json", "brief/FR.json", SNAPSHOT))
    assert {latest["updated"], brief["as_of"], snapshot["zones"]["FR"]["updated"]} <= {old, new}
    assert snapshot["generated"] >= snapshot["zones"]["FR"]["updated"] >= latest["updated"]
    assert snapshot["zones"]["GB"]["updated"] == NOW


def test_a_kill_at_any_point_leaves_the_old_or_the_new(world, killed_at):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    new, killed = NOW, True
    while killed:
        old, new = new, new + 1
        killed = killed_at(lambda new=new: publish(world.storage, new, ["FR"]), new - NOW)
        coherent(world, old, new)
        if killed:
            publish(world.storage, new, ["FR"])  # the rerun heals
        coherent(world, new, new)
    assert new - NOW > 15


def test_readers_and_publishers_together(world):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    pids = []
    for zones in (["FR"], ["GB"], ["FR", "GB"], None):
        pid = os.fork()
        if pid == 0:
            try:
                for second in range(20):
                    publish(world.storage, NOW + second, zones)
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    seen, reads = {}, 0
    statuses = {}
    while len(statuses) < len(pids):
        # By rounds, not by time: a busy machine publishes and reads as often as an idle one.
        ended = (os.waitpid(pid, os.WNOHANG) for pid in pids if pid not in statuses)
        statuses |= {pid: status for pid, status in ended if pid}
        for name in ("latest/FR.json", "latest/GB.json", "brief/FR.json", SNAPSHOT):
            stored = artefact.get(world.storage, name)
            body = orjson.loads(stored.body)
            instant = body.get("updated", body.get("as_of", body.get("generated")))
            version, before = seen.get(name, (0, 0))
            assert stored.identity.version >= version
            seen[name] = (stored.identity.version, instant)
            reads += before != instant
    assert list(statuses.values()) == [0] * 4
    assert reads > 4
    for zone in ("FR", "GB"):
        assert document(world, SNAPSHOT)["zones"][zone]["metrics"] == document(world, f"latest/{zone}.json")["metrics"]


def test_the_method_page_names_every_member(world):
    fill(world)
    publish(world.storage, NOW + 60, ["FR"])
    brief = document(world, "brief/FR.json")
    page = (Path(__file__).parents[2] / "docs" / "brief.md").read_text()
    blocks = [*brief["context"]["price"], *brief["trend_24h"]["price"], "vs_median_pct_reason", "change_pct_reason"]
    codes = {
        "too_few_samples",
        "coverage_below_50_pct",
        "no_rows",
        "withheld_by_terms",
        "no_value_24h_ago",
        brief["method"],
    }
    assert [
        name for name in (*blocks, *codes, "summary_figures", "summary_parts", "valid_until") if f"`{name}`" not in page
    ] == []


# --- damage ---------------------------------------------------------------------------------------------------------


def damage(world, zone, metric="demand"):
    """The newest month file of a zone's metric becomes empty; its key."""
    key = [k for k in world.storage.keys(layout.series_prefix()) if f"{zone}/" in k and metric in k.split("/")[1]][-1]
    world.storage.put(key, b"")
    return key


def test_an_unreadable_file_costs_its_zone_and_metric_and_is_named(world, caplog):
    for zone in ("FR", "GB", "AU-SA"):
        fill(world, zone)
    publish(world.storage, NOW)
    key = damage(world, "FR")
    done = publish(world.storage, NOW + 60)
    assert len(done.failures) == 1
    assert key in done.failures[0]
    assert any(key in record.getMessage() for record in caplog.records)
    for zone in ("FR", "GB", "AU-SA"):
        assert document(world, f"latest/{zone}.json")["updated"] == NOW + 60, "the others are renewed"
    brief = document(world, "brief/FR.json")
    assert list(brief["current"]) == ["price"]
    assert brief["context_omitted"]["demand"] == brief["trend_omitted"]["demand"] == "unreadable"
    assert "No context for demand: its stored rows cannot be read at present." in brief["coverage_note"]
    assert "Demand cannot be read at present." in brief["summary"]
    assert set(document(world, SNAPSHOT)["zones"]["FR"]["metrics"]) == {"price"}
    assert set(document(world, SNAPSHOT)["zones"]["GB"]["metrics"]) == {"price", "demand"}


def test_a_zone_of_which_nothing_can_be_read_keeps_its_documents(world):
    for zone in ("FR", "GB"):
        fill(world, zone)
    publish(world.storage, NOW)
    before = document(world, "brief/FR.json")
    damage(world, "FR"), damage(world, "FR", "price")
    done = publish(world.storage, NOW + 60)
    assert len(done.failures) == 2
    assert done.withdrawn == []
    assert document(world, "brief/FR.json") == before
    assert document(world, SNAPSHOT)["zones"]["FR"]["updated"] == NOW
    assert document(world, SNAPSHOT)["zones"]["GB"]["updated"] == NOW + 60


@pytest.mark.parametrize("name", [SNAPSHOT, "latest/GB.json", "brief/GB.json"])
@pytest.mark.parametrize("size", [1, 200])
def test_a_cut_document_is_made_anew(world, name, size):
    for zone in ("FR", "GB"):
        fill(world, zone)
    publish(world.storage, NOW)
    whole = document(world, name)
    world.storage.put(layout.published(name), world.storage.get(layout.published(name))[:size])
    publish(world.storage, NOW + 60, ["FR"])
    assert set(document(world, SNAPSHOT)["zones"]) == set(ZONES)
    assert document(world, SNAPSHOT)["zones"]["GB"]["metrics"] or name == "latest/GB.json"
    assert publish(world.storage, NOW + 60).failures == []
    assert type(document(world, name)) is type(whole)
    assert document(world, SNAPSHOT)["zones"]["GB"]["metrics"]


def test_one_document_that_cannot_be_put_costs_no_other(world, monkeypatch):
    for zone in ("FR", "GB"):
        fill(world, zone)
    put = artefact.put

    def full(storage, name, body, version):
        if name == "latest/FR.json":
            raise OSError(28, "No space left on device", name)
        return put(storage, name, body, version)

    monkeypatch.setattr(artefact, "put", full)
    done = publish(world.storage, NOW)
    assert sorted(done.put) == ["brief/FR.json", "brief/GB.json", "latest/GB.json", SNAPSHOT, "windows/FR.json"]
    assert len(done.failures) == 1
    assert "latest/FR.json" in done.failures[0]
