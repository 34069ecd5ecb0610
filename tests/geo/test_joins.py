"""Check that ids agree across the project: each publisher's tie id becomes the link of its line on the map."""

from __future__ import annotations

import pytest

from assets.sources import elexon, ercot, isone, nyiso
from assets.sources.aemo import rows as aemo
from assets.sources.entsoe.areas import BORDERS
from geo_data import table_rows
from warehouse.market.vocabulary import Fuel

LINES = {line.id: line for line in table_rows.interconnectors()}
TIES = {
    "elexon_name": {name: tie.link for name, tie in elexon.TIES.items()},
    "aemo_id": {name: link for name, (_, _, link) in aemo.TIES.items()},
    "nyiso_id": {point: tie.link for point, tie in nyiso.TIES.items()},
    "isone_id": {location: tie.link for location, tie in isone.TIES.items()},
    "ercot_id": {name: link for name, (_, link) in ercot.TIES.items()},
}
"""The link of each tie by the publisher's id for it, as the sources write it."""


@pytest.mark.parametrize("column", TIES)
def test_a_publishers_tie_is_the_line_that_its_flow_names(column: str) -> None:
    assert {getattr(line, column): line.id for line in LINES.values() if getattr(line, column)} == TIES[column]


def links() -> dict[str, tuple[str, str]]:
    """Return every link that a flow of any feed can carry, with both ends of the flow."""
    found = {tie.link: ("GB", tie.counterparty) for tie in elexon.TIES.values()}
    found |= {link: (origin, target) for origin, target, link in aemo.TIES.values()}
    found |= {border.link: (zone, border.neighbour) for zone, own in BORDERS.items() for border in own if border.link}
    found |= {link: ("US-ERCOT", other) for other, link in ercot.TIES.values()}
    found |= {tie.link: ("US-ISONE", tie.counterparty) for tie in isone.TIES.values()}
    return found | {tie.link: ("US-NYISO", tie.counterparty) for tie in nyiso.TIES.values()}


def test_every_link_of_a_flow_is_a_line_between_the_same_two_ends() -> None:
    for link, ends in links().items():
        line = LINES[link]
        assert {line.from_zone, line.to_zone or line.neighbour} == set(ends), link


def test_a_line_that_leads_outside_is_one_that_a_flow_can_carry() -> None:
    assert {line.id for line in LINES.values() if line.to_zone is None} <= set(links())


def test_pairs_join_flows_that_are_published_by_border() -> None:
    for line in LINES.values():
        assert line.pair == ("_".join(sorted((line.from_zone, line.to_zone))) if line.to_zone else None)


def test_plants_speak_the_fuels_of_generation_and_capacity() -> None:
    used = {fuel for plant in table_rows.plants() for fuel, _ in plant.shares()}
    assert used <= {str(fuel) for fuel in Fuel} - {"imports"}
    assert {plant.zone for plant in table_rows.plants()} == {zone.id for zone in table_rows.zones()}
