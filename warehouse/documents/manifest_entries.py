"""Define the manifest as typed documents: the contents of each monthly file, and the summary of each series."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

Place = tuple[str, str]
"""A metric and a zone."""


class NetRows(Struct, frozen=True, array_like=True):
    """The extent of a monthly file's net rows: those of the zone without borders."""

    rows: int = 0
    first: int | None = None
    last: int | None = None


class CountedFile(Struct, frozen=True):
    """The contents of a monthly file."""

    stamp: str
    file: str
    """`monthfile.digest` of its bytes."""
    bytes: int
    sha256: str
    rows: int
    first: int | None
    last: int | None
    feeds: tuple[str, ...]
    net: NetRows
    borders: Mapping[str, int]
    """The newest `ts` of the rows of each neighbour."""
    changed_at: int
    """When these bytes were first counted, in Unix seconds."""


class CountedMonths(Struct, frozen=True):
    """The monthly files of a metric and zone, by month."""

    months: Mapping[str, CountedFile]


class Summary(Struct, frozen=True):
    """The months of a metric and zone together."""

    mark: str
    """A hash of the files' stamps: equal marks mean equal files. Empty if a file could not be read."""
    months: int
    rows: int
    first: int | None
    last: int | None
    borders: Mapping[str, int]
    """The newest `ts` of the rows of each neighbour."""
    final_after_days: int
    """The number of days after its end from which a month is no longer requested by any schedule."""
    first_month: str
    """The month (`2026-10`) of the earliest file."""


class Manifest(Struct, frozen=True):
    """The summaries of all series."""

    as_of: int
    logged_until: int
    """The number up to which the change log was compared with the files."""
    series: Mapping[str, Summary]
    """The summaries by metric and zone: `price/GB`."""

    @property
    def summaries(self) -> dict[Place, Summary]:
        """Return the summaries by metric and zone."""
        places = ((name.partition("/"), summary) for name, summary in self.series.items())
        return {(metric, zone): summary for (metric, _, zone), summary in places}
