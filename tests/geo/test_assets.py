"""The layers as Dagster assets: what is declared, what a run publishes, and that a faulty layer is not published."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from assets import geo
from warehouse import artefact
from warehouse.storage import Folder


def run(storage: Folder, assets: list[dg.AssetsDefinition]) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            assets, resources={"warehouse": SimpleNamespace(storage=storage)}, instance=instance, raise_on_error=False
        )


def test_one_asset_a_layer_in_the_geo_group() -> None:
    assets = geo.geo_assets()
    assert [a.key.to_user_string() for a in assets] == ["geo/zones", "geo/interconnectors", "geo/plants"]
    for asset in assets:
        spec = asset.specs_by_key[asset.key]
        assert (spec.group_name, spec.owners) == ("geo", [geo.OWNER])


@pytest.mark.parametrize("layer", geo.LAYERS, ids=lambda layer: layer.name)
def test_every_finding_is_a_declared_check(layer: geo.Layer) -> None:
    assert set(layer.judge()) == set(layer.checks)


def test_a_run_publishes_its_layer_alone(tmp_path: Path) -> None:
    result = run(Folder(tmp_path), [geo.geo_assets()[1]])
    assert result.success
    assert all(check.passed for check in result.get_asset_check_evaluations())
    formats = ("csv", "fgb", "geojson", "parquet", "rows.fgb")
    keys = Folder(tmp_path).keys("published/")
    assert {f"published/geo/interconnectors.{name}" for name in formats} <= set(keys)
    assert all(key.startswith("published/geo/interconnectors.") for key in keys)


def test_a_faulty_layer_is_not_published(tmp_path: Path) -> None:
    faulty = geo.Layer("plants", "plants", lambda: {"ids": ["eia-1 comes 2 times"]}, {"ids": "once"})
    result = run(Folder(tmp_path), [geo._asset(faulty)])
    assert not result.success
    assert [(c.check_name, c.passed) for c in result.get_asset_check_evaluations()] == [("ids", False)]
    assert artefact.get(Folder(tmp_path), "geo/plants.geojson") is None
