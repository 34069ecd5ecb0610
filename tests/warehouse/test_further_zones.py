"""Test EMDS_ZONES: which zones each value covers, and that their metrics, borders and names agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from warehouse.errors import StorageError
from warehouse.market import further_zones
from warehouse.market.further_zones import TABLE, choose, require_known
from warehouse.market.zones import ZONES
from warehouse.rows.versions import RowLabels, Versions
from warehouse.series import monthfile

FACTS = """
import json
from assets.simulated import grid
from assets.sources import feeds
from assets.sources.elexon import TIES
from assets.sources.entsoe.areas import BORDERS
from warehouse.market.zones import ZONES

METRICS = ("price", "demand", "interchange", "mix", "capacity")
carried = {zone: set() for zone in ZONES}
for feed in feeds().values():
    for zone in feed.zones:
        carried[zone] |= {*feed.metrics, *feed.optional_metrics}
print(json.dumps({
    "zones": [*ZONES],
    "unequal": [[zone.id, metric] for zone in ZONES.values() for metric in METRICS
                if (metric in zone.metrics) != (metric in carried[zone.id])],
    "borders": {zone: [border.neighbour for border in own] for zone, own in BORDERS.items()},
    "untied": [[b.zone, b.neighbour] for own in BORDERS.values() for b in own
               if b.neighbour not in grid.neighbours(b.zone)],
    "irish": sorted([tie.counterparty, tie.link] for tie in TIES.values() if "IE" in tie.counterparty
                    or "Ireland" in tie.counterparty),
    "omie": feeds()["omie.price"].zones,
    "energinet": feeds()["energinet.price"].zones,
}))
"""


def read_facts(setting: str) -> Any:
    """Return what a process with this value of EMDS_ZONES covers."""
    environ = os.environ | {"EMDS_ZONES": setting}
    done = subprocess.run([sys.executable, "-c", FACTS], env=environ, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_values_of_the_setting() -> None:
    """Check that unset and `spec` add nothing, `europe` adds the whole table, and a list keeps the table's order."""
    assert choose("") == choose("spec") == ()
    assert choose("europe") == TABLE
    assert [zone.id for zone in choose(" DK-2 ,CZ, GB")] == ["CZ", "DK-2"]
    require_known("GB,CZ", {"GB"})
    with pytest.raises(StorageError, match="unknown zones: XX"):
        require_known("GB,XX", {"GB"})
    with pytest.raises(StorageError, match=r"zones: europe\. Set it to only spec, to only europe, or to"):
        require_known("europe,CZ", {"GB"})


def test_an_unknown_zone_ends_every_command_with_a_sentence() -> None:
    """Check that a typing error neither starts with fewer zones nor prints a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "orchestration.cli", "doctor"],
        env=os.environ | {"EMDS_ZONES": "DK2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("emds: EMDS_ZONES names unknown zones: DK2. ")


def test_the_table_repeats_no_name() -> None:
    """Check that ids, EIC codes and outside names belong to one zone each, and to no zone of the default set."""
    assert len({zone.id for zone in TABLE} | ZONES.keys()) == len(TABLE) + len(ZONES)
    assert len({zone.eic for zone in TABLE}) == len({zone.outside for zone in TABLE}) == len(TABLE)


@pytest.mark.parametrize("setting", ["spec", "europe", "IE", "DK-2,SE-4"])
def test_zones_have_their_metrics_and_borders(setting: str) -> None:
    """Check that a zone lists exactly what a feed carries, and that two zones agree on whether they have a border."""
    found = read_facts(setting)
    added = [zone.id for zone in choose(setting)]
    assert found["zones"] == [*ZONES, *added]
    assert not found["unequal"]
    assert not found["untied"]
    borders = found["borders"]
    assert not [(a, b) for a, areas in borders.items() for b in areas if b in borders and a not in borders[b]]
    assert found["omie"] == ["ES", *(["PT"] if "PT" in added else [])]
    assert {"DK-2", "SE-4"} & {*found["energinet"]} == {"DK-2", "SE-4"} & {*added}


def test_zones_of_the_default_set_keep_their_borders() -> None:
    """Check that EMDS_ZONES renames the areas beyond a border without changing the borders, so that nets stay equal."""
    before, after = read_facts("spec"), read_facts("europe")
    ids = {name: zone.id for zone in TABLE for name in zone.outside_names}
    assert (
        after["borders"].items()
        >= {zone: [ids.get(area, area) for area in areas] for zone, areas in before["borders"].items()}.items()
    )
    assert before["irish"] == [["Ireland", "INTEW"], ["Ireland", "INTGRNL"], ["Northern Ireland", "INTIRL"]]
    assert after["irish"] == [["IE", "INTEW"], ["IE", "INTGRNL"], ["IE", "INTIRL"]]


def test_stored_rows_of_a_new_zone_are_read_under_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that borders keep their order: GB's interconnectors to Ireland belong to IE and come before those to NL."""
    monkeypatch.setattr(monthfile, "ID_OF_OUTSIDE", {"Northern Ireland": "IE", "Sweden SE4": "SE-4"})
    areas = (None, "NL", "Northern Ireland", "Norway NO1")
    labels = tuple(RowLabels(None, area, None, "MW", "1h", "s", "s.f", None, None) for area in areas)
    numbers = np.arange(4)
    never = np.zeros(4, np.int64)
    stored = Versions(labels, numbers, np.full(4, 3600), numbers * 1.0, never, never, never)
    read = monthfile._rename_areas(stored)
    assert [read.labels[number].counterparty for number in read.label] == [None, "IE", "NL", "Norway NO1"]
    assert [*read.value] == [0, 2, 1, 3]
    assert further_zones.name_area("SE-4") == "Sweden SE4"


def test_tools_describe_the_default_set_alone() -> None:
    """Check that MCP descriptions stay short: the response of list_zones has the ids of further zones."""
    code = "from api.mcp.tools import TOOLS; print([tool.listed for tool in TOOLS.values()])"
    environ = os.environ | {"EMDS_ZONES": "europe"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert f"AT, CH, and {len(TABLE)} more in the response of list_zones" in done.stdout
    assert not [zone.id for zone in TABLE if f" {zone.id}," in done.stdout or f" {zone.id}." in done.stdout]


def test_a_name_that_resembles_a_zone_of_another_country_leads_nowhere() -> None:
    """Check Iceland, which differs from Ireland by one letter."""
    code = "from warehouse.market.zones import _unknown\nprint(_unknown('Iceland'))\nprint(_unknown('Irelnd'))"
    environ = os.environ | {"EMDS_ZONES": "europe"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Zone 'Iceland' does not exist.",
        "Zone 'Irelnd' does not exist. Did you mean IE?",
    ]
