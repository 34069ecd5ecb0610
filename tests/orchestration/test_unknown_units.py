"""Run `aemo.mix`: SCADA and rooftop solar are served together, and the doctor reports the effect of unknown units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assets.sources.aemo.mix import NO_MIX
from assets.sources.aemo.units import known_units
from orchestration.cli import main
from tests.orchestration.conftest import in_simulated
from warehouse.market.vocabulary import Fuel

Served = Callable[[], set[tuple[str, str]]]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Return a function that fetches 21 November's first hour and returns New South Wales's fuels and resolutions."""
    in_simulated(monkeypatch, tmp_path)
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T15:20:00Z")

    def fetched() -> set[tuple[str, str]]:
        main(["backfill", "--feed", "aemo.mix", "--start", "2026-11-21", "--end", "2026-11-21"])
        rows = pq.ParquetFile(tmp_path / "series/metric=mix/zone=AU-NSW/2026-11.parquet").read().to_pylist()
        return {(row["fuel"], row["resolution"]) for row in rows}

    return fetched


def test_scada_and_rooftop_solar_do_not_hide_each_other(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    fuels = served()
    assert fuels >= {(fuel, "5m") for fuel in ("coal", "gas", "hydro", "solar", "wind")}
    assert ("solar_rooftop", "30m") in fuels
    main(["doctor"])
    assert "unknown to this service" not in capsys.readouterr().out


def test_the_doctor_reports_that_unknown_units_cost_the_mix(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_coal = {duid: unit for duid, unit in known_units().items() if unit.fuel is not Fuel.COAL}
    monkeypatch.setattr("assets.sources.aemo.mix.known_units", lambda: without_coal)
    assert served() == {("solar_rooftop", "30m")}
    capsys.readouterr()
    assert main(["doctor"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "unknown to this service" in line]
    assert NO_MIX in line
    assert "unit 'BW01'" in line
