"""Check the rules that compare a mix with other data: a simulated mix passes them, and each finds its own fault."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import duckdb
import pytest

from assets.ingest.runs import ingest_days
from assets.sources import feeds
from assets.sql.rules import RULES
from assets.sql.views import patterns, statements
from orchestration.work.environment import open_context
from tests.orchestration.conftest import in_simulated
from warehouse.market.clock import market_days

FEEDS = (
    *("elexon.mix", "elexon.interconnectors", "neso.generation", "neso.carbon_intensity", "rte.eco2mix"),
    *("caiso.fuelsource", "eia.generation"),
)
TABLES = ("mix", "versions", "demand", "interchange", "borders", "generation", "carbon", "carbon_intensity")
OWN = {rule.name: rule for rule in RULES[-5:]}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to two simulated days of these feeds. The views are tables, whose values a test can change."""
    home = tmp_path_factory.mktemp("mixes") / "home"
    with pytest.MonkeyPatch.context() as patch:
        in_simulated(patch, home)
        pipeline = open_context()
        for feed in map(feeds().__getitem__, FEEDS):
            ingest_days(pipeline, feed, market_days(date(2026, 11, 18), date(2026, 11, 19), feed.tz))
    with duckdb.connect() as opened:
        opened.execute(f"SET file_search_path = '{home}'")
        for statement in statements(patterns(home)):
            opened.execute(statement)
        for view in TABLES:
            opened.execute(f"CREATE TABLE filled AS FROM {view}")
            opened.execute(f"DROP VIEW {view}")
            opened.execute(f"ALTER TABLE filled RENAME TO {view}")
        yield opened


def test_a_simulated_mix_passes(connection: duckdb.DuckDBPyConnection) -> None:
    assert {name: rule.find(connection) for name, rule in OWN.items()} == {name: [] for name in OWN}


@pytest.mark.parametrize(
    ("rule", "fault", "zone", "detail"),
    [
        ("british_carbon_follows_mix", "carbon_intensity SET value = 1.5 * value", "GB", "where mix and imports give"),
        ("british_shares_agree", "mix SET value = 1.5 * value WHERE zone = 'GB' AND fuel = 'gas'", "GB", "gas:"),
        ("french_carbon_follows_mix", "carbon SET value = value + 2", "FR", "where the mix gives"),
        ("california_agrees", "versions SET value = 1.2 * value WHERE feed = 'eia.generation' AND fuel = 'gas'",
         "US-CAISO", "gas: EIA and CAISO are"),
        ("mix_covers_demand", "demand SET value = 1.3 * value WHERE zone = 'FR'", "FR", "of demand less net import"),
    ],
)  # fmt: skip
def test_each_rule_finds_its_own_fault(
    connection: duckdb.DuckDBPyConnection, rule: str, fault: str, zone: str, detail: str
) -> None:
    connection.execute("BEGIN")
    connection.execute(f"UPDATE {fault}")
    found = OWN[rule].find(connection)
    connection.execute("ROLLBACK")
    assert {finding.zone for finding in found} == {zone}
    assert detail in found[0].detail


def test_a_zone_with_a_known_hole_is_named_with_its_reason(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN")
    for view in ("mix", "demand", "interchange"):
        connection.execute(f"UPDATE {view} SET zone = 'NL' WHERE zone = 'FR'")
    connection.execute("UPDATE mix SET value = 0.6 * value WHERE zone = 'NL'")
    found = OWN["mix_covers_demand"].find(connection)
    connection.execute("ROLLBACK")
    assert {finding.zone for finding in found} == {"NL"}
    assert found[0].detail.endswith("as is known: solar power of the distribution grids is not in its mix")
