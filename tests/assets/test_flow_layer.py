"""Check the layer of flows: a line runs in the direction of its flow, and names the source of its value."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from assets.documents import flow_layer
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

CATALOGUE: Any = SimpleNamespace(sources={"elexon": SimpleNamespace(license="BMRS", attribution="Elexon")})
HEAD = {"generated": 1, "valid_until": 2, "rounded": True, "simulated": True}


def flow(mw: int, link: str | None = "gb-fr-ifa", zone: str = "GB", ts: int = 1000, **more: object) -> dict[str, Any]:
    """Return a newest flow as the history of the map contains it."""
    other = "FR" if zone == "GB" else "GB"
    return {"zone": zone, "counterparty": other, "link": link, "mw": mw, "ts": ts, "source": "elexon", **more}


def published(folder: Folder, *flows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Publish `flows`, and return the features by ID."""
    flow_layer.publish(folder, CATALOGUE, HEAD, flows)
    return {feature["id"]: feature for feature in artefact.load(folder, layout.FLOWS)["features"]}


def test_a_line_runs_with_its_flow(tmp_path: Path) -> None:
    out = published(Folder(tmp_path), flow(-600))["gb-fr-ifa"]
    into = published(Folder(tmp_path), flow(900))["gb-fr-ifa"]
    for feature, ends, mw in ((out, ("GB", "FR"), 600), (into, ("FR", "GB"), 900)):
        own = feature["properties"]
        assert (own["from"], own["to"], own["mw"], own["border_mw"]) == (*ends, mw, None)
        assert (own["mw_ts"], own["source"], own["license"]) == (1000, "elexon", "BMRS")
    assert out["geometry"]["coordinates"] == into["geometry"]["coordinates"][::-1]
    assert out["geometry"]["coordinates"][0][1] > 51, "from Kent"


def test_a_line_without_a_value_of_its_own_has_that_of_its_border(tmp_path: Path) -> None:
    features = published(Folder(tmp_path), flow(-600, None, "FR"))
    own = features["gb-fr-ifa"]["properties"]
    assert (own["from"], own["to"], own["mw"], own["border_mw"]) == ("FR", "GB", None, 600)
    unknown = features["gb-dk1-viking"]["properties"]
    assert (unknown["mw"], unknown["border_mw"], unknown["mw_ts"], unknown["source"]) == (None,) * 4


def test_of_two_zones_the_newest_row_counts(tmp_path: Path) -> None:
    features = published(Folder(tmp_path), flow(500, ts=1000), flow(-700, zone="FR", ts=1300))
    own = features["gb-fr-ifa"]["properties"]
    assert (own["from"], own["to"], own["mw"], own["mw_ts"]) == ("FR", "GB", 700, 1300)


def test_a_flow_that_was_published_before_keeps_its_source(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    published(folder, flow(500))
    again = {name: value for name, value in flow(500).items() if name != "source"}
    assert published(folder, again)["gb-fr-ifa"]["properties"]["source"] == "elexon"
    newer = {**again, "ts": 2000}
    assert published(folder, newer)["gb-fr-ifa"]["properties"]["source"] is None


def test_a_line_to_an_area_outside_names_it(tmp_path: Path) -> None:
    features = published(Folder(tmp_path), {**flow(200, "INTIRL"), "counterparty": "Northern Ireland"})
    own = features["INTIRL"]["properties"]
    assert (own["from"], own["to"], own["mw"]) == ("Northern Ireland", "GB", 200)


def test_of_two_rows_at_one_time_neither_takes_the_source_of_the_other(tmp_path: Path) -> None:
    """If a single zone is published, its flows have a source, but those of the other zones have none."""
    folder = Folder(tmp_path)
    here, there = flow(500), flow(-700, zone="FR", source="entsoe")
    bare = [{name: value for name, value in one.items() if name != "source"} for one in (there, here)]
    for flows in ((here, there), (bare[0], here), bare, bare[::-1]):
        own = published(folder, *flows)["gb-fr-ifa"]["properties"]
        assert (own["mw"], own["source"]) == (500, "elexon")
    own = published(Folder(tmp_path / "other"), *bare)["gb-fr-ifa"]["properties"]
    assert own["source"] is None
