"""Lists to which the world adds members: ties, fuels, regions, providers, balancing authorities, load zones, borders.

One rule holds for all of them: a total is kept if it is correct without the name of a member that is not in its table,
and the missing name is reported. Each list states in `costs` what such a member costs:

- its name: the row states a number and a sign that belong to the total. It is stored under the publisher's code;
- its rows: no total here is their sum, because the publisher states the total itself or there is none;
- the total: the member may repeat another one under a new name, or its sign is not known. Its rows are left out, and
  its instants have no total.

The rest of the body is kept. The name is an error finding, which status, `emds doctor`, the check `plausible` and the
alerts show for as long as the publisher's responses hold it. An unknown column, unit or currency is a FeedChanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from warehouse.errors import FeedChanged
from warehouse.rows.schema import Member, Rows

LONGEST_NAME = 40
T = TypeVar("T")


class Tie(NamedTuple):
    """What lies beyond a tie, and its line in the geographic layer (else the publisher's own name for it)."""

    counterparty: str
    link: str
    since: int = 0
    """From when on there is no net without it, Unix seconds: the first instant at which it is known to have flowed.

    Readings from before count too: it is a part of the net from its first one on.
    """


@dataclass(frozen=True, slots=True)
class Members(Generic[T]):
    """A list that grows: what its members are called, and what is known of each by the publisher's name."""

    kind: str
    """One of them, in words: `interface`, `fuel`."""
    metric: str
    known: Mapping[str, T]
    zone: str = ""
    """Whose members they are, where all of them are one zone's."""
    costs: Literal["name", "rows", "total"] = "rows"
    """What an unknown one costs. The rows of `name` are stored by the parser, under the publisher's code."""

    def find(
        self, rows: Rows, name: str, instants: Iterable[int], zone: str = "", key: str = "", note: str = ""
    ) -> T | None:
        """What is known of a member that has readings at these instants; None for an unknown one, which `rows` notes.

        `key`: what it is looked up by, where that is not its name. `note` follows the name in the finding.
        """
        key = key or name
        if key in self.known:
            return self.known[key]
        if stamps := set(instants):
            zone = zone or self.zone
            rows.note_unknown(Member(zone, self.metric, f"{self.kind} {name[:LONGEST_NAME]!r}{note}"), stamps)
            if self.costs == "total":
                rows.refuse(zone, self.metric, stamps)
        return None


def require_known(rows: Rows) -> None:
    """Raises FeedChanged for a body that has readings, all of them of unknown members."""
    if rows.unknown and not len(rows):
        raise FeedChanged(f"unknown {', '.join(sorted(member.name for member in rows.unknown))}"[:300])
