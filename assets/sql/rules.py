"""List the rules that compare feeds with each other. A rule's SQL file, which has its name, selects the violations.

Each file reads only the views of `assets.sql.views` and selects `zone`, `day` (a civil or market day) and `detail`, a
sentence. To add a rule, add a file and a line here. No Dagster here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection


class SqlFinding(NamedTuple):
    """A day of a zone that violates a rule."""

    zone: str
    day: date
    detail: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The meaning of a pass, and the query that finds violations."""

    name: str
    sentence: str

    @property
    def sql(self) -> str:
        """Return the query, from the file of the rule's name."""
        return Path(__file__).with_name(f"{self.name}.sql").read_text()

    def find(self, connection: DuckDBPyConnection) -> list[SqlFinding]:
        """Return every finding, the newest day first. Raises duckdb.Error if a file cannot be read."""
        query = f"SELECT zone, day, detail FROM ({self.sql}) ORDER BY day DESC, zone, detail"  # noqa: S608
        return [SqlFinding(*row) for row in connection.execute(query).fetchall()]


RULES = (
    Rule("borders_mirror", "The two zones of a border report the same flow with opposite signs."),
    Rule("days_differ", "No series repeats all values of the previous day."),
    Rule(
        "volumes_agree",
        "Two feeds of a zone's demand or interchange agree, for example those of an ISO and of EIA-930.",
    ),
    Rule("prices_agree", "Two feeds of one price agree. Auction prices agree to the cent."),
    Rule("day_ahead_whole", "A day of day-ahead prices has 23, 24 or 25 hours, or 92, 96 or 100 quarter hours."),
    Rule("carbon_follows_mix", "Great Britain's carbon intensity is consistent with its generation mix."),
    Rule(
        "british_carbon_follows_mix",
        "Great Britain's carbon intensity is consistent with Elexon's mix and the imports.",
    ),
    Rule("british_shares_agree", "NESO's shares of Great Britain's generation agree with Elexon's mix."),
    Rule("french_carbon_follows_mix", "France's carbon intensity equals its mix with RTE's own factors, within 1 g."),
    Rule("california_agrees", "EIA's and CAISO's generation of California agree by fuel."),
    Rule("mix_covers_demand", "The mix of a zone is 0.85 to 1.15 times its demand minus its net import."),
)
