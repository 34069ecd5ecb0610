"""Check geo_data/README.md against the tables and the code: counts, files, commands, attribution."""

from __future__ import annotations

import re
from pathlib import Path

import geo_data
from geo_data import table_rows

README = (Path(geo_data.__file__).parent / "README.md").read_text()


def test_counts_are_those_of_the_tables() -> None:
    plants = table_rows.plants()
    assert f"{len(plants):,} plants of 250 MW and above" in README
    for source, heading in (
        ("EIA-860M", "U.S. EIA Form 860M"),
        ("powerplantmatching", "powerplantmatching"),
        ("OpenNEM", "OpenElectricity"),
    ):
        [row] = [line for line in README.splitlines() if line.startswith(f"| {heading}")]
        assert int(re.findall(r"\d+", row)[-1]) == sum(plant.source.startswith(source) for plant in plants)
    assert f"{len(table_rows.mends())} corrections" in README
    assert f"{len(table_rows.outside())} plants are outside their zone's footprint" in README
    lines = table_rows.interconnectors()
    inside = [line for line in lines if line.pair]
    assert f"{len(lines)} interconnectors: {len(inside)} of {len({line.pair for line in inside})} zone pairs" in README
    assert f"{len(lines) - len(inside)} to areas outside" in README
    assert f"{sum(line.geometry_quality == 'approximate' for line in lines)} point-to-point links" in README
