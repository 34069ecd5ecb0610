"""Look up the members of lists that grow: interconnectors, fuels, regions, providers, balancing authorities, borders.

One rule applies to all of them. A total is kept if it is correct without the name of a member that is missing in its
table. The missing name is reported. Each list states in `costs` what such a member costs:

- its name: the row states a number and a sign that belong to the total. It is stored under the publisher's code.
- its rows: no total here is their sum, because the publisher states the total itself or there is none.
- the total: the member may repeat another one under a new name, or its sign is not known. Its rows are left out, and
  its intervals have no total.

The rest of the body is kept. The name is an error finding. Status, `emds doctor`, the check `plausible` and the alerts
show it for as long as the publisher's responses contain it. An unknown column, unit or currency is a FeedChanged.
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
    """The area beyond an interconnector, and its line in the geographic layer (else the publisher's name for it)."""

    counterparty: str
    link: str
    since: int = 0
    """The net needs it from this time on (Unix seconds): the first time at which a flow is known.

    Earlier readings count too: it is a part of the net from its first reading on.
    """


@dataclass(frozen=True, slots=True)
class Members(Generic[T]):
    """A list that grows: the word for its members, and the known facts by the publisher's name."""

    kind: str
    """The word for one member: `interface`, `fuel`."""
    metric: str
    known: Mapping[str, T]
    zone: str = ""
    """The zone of the members, if all of them belong to one zone."""
    costs: Literal["name", "rows", "total"] = "rows"
    """What an unknown member costs. The parser stores the rows of `name` under the publisher's code."""

    def find(
        self, rows: Rows, name: str, instants: Iterable[int], zone: str = "", key: str = "", note: str = ""
    ) -> T | None:
        """Return the facts of a member with readings at `instants`, or None for an unknown one, which `rows` notes.

        `key` is the key of the look-up if it is not the name. `note` follows the name in the finding.
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
    """Raise FeedChanged for a body that has readings, all of them of unknown members."""
    if rows.unknown and not len(rows):
        raise FeedChanged(f"unknown {', '.join(sorted(member.name for member in rows.unknown))}"[:300])
