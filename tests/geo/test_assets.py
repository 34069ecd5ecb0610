"""Test the layers as Dagster assets: their declarations, what a run publishes, and that damaged layers stay out."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from assets import document_assets
from assets.documents import geo_layers
from geo_data.terms import SHIPPED
from warehouse.errors import DamagedFile
from warehouse.market.further_zones import SPEC
from warehouse.store import artefact
from warehouse.store.storage import Folder


def run(storage: Folder, assets: list[dg.AssetsDefinition]) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            assets, resources={"warehouse": SimpleNamespace(storage=storage)}, instance=instance, raise_on_error=False
        )


def test_a_run_publishes_its_layer_alone(tmp_path: Path) -> None:
    result = run(Folder(tmp_path), [document_assets.geo_assets()[1]])
    assert result.success
    assert [check.passed for check in result.get_asset_check_evaluations()] == [True]
    formats = ("csv", "fgb", "geojson", "parquet", "rows.fgb")
    keys = Folder(tmp_path).keys("published/")
    assert {f"published/geo/interconnectors.{name}" for name in formats} <= set(keys)
    assert all(key.startswith("published/geo/interconnectors.") for key in keys)


def test_a_damaged_file_keeps_its_layer_from_publication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = shutil.copytree(SHIPPED[SPEC], tmp_path / "shipped")
    body = bytearray((shipped / "plants.csv").read_bytes())
    body[1000] ^= 1
    (shipped / "plants.csv").write_bytes(body)
    with pytest.raises(DamagedFile):
        geo_layers.document("geo/plants.csv", shipped)
    monkeypatch.setattr(geo_layers.document, "__defaults__", (shipped,))
    result = run(Folder(tmp_path / "home"), [document_assets.geo_assets()[2]])
    assert not result.success
    assert [(c.check_name, c.passed) for c in result.get_asset_check_evaluations()] == [("intact", False)]
    assert artefact.get(Folder(tmp_path / "home"), "geo/plants.geojson") is None
