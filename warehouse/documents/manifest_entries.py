"""The manifest as typed documents: what is in each monthly file, and the summary of each series."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

Place = tuple[str, str]
"""Metric and zone."""


class NetRows(Struct, frozen=True, array_like=True):
    """The rows of a monthly file that are of its zone alone."""

    rows: int = 0
    first: int | None = None
    last: int | None = None


class CountedFile(Struct, frozen=True):
    """What is in one monthly file."""

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
    """Neighbour -> the newest `ts` of its rows."""
    changed_at: int
    """When these bytes were first counted, Unix seconds."""


class CountedMonths(Struct, frozen=True):
    """The monthly files of one metric and zone, by month."""

    months: Mapping[str, CountedFile]


class Summary(Struct, frozen=True):
    """The months of one metric and zone together."""

    mark: str
    """Of the files' stamps: equal marks mean equal files. Empty where a file could not be read."""
    months: int
    rows: int
    first: int | None
    last: int | None
    borders: Mapping[str, int]
    """Neighbour -> the newest `ts` of its rows."""
    final_after_days: int
    """So many days after its end no schedule asks a publisher about a month any more."""
    first_month: str
    """The month (`2026-10`) of the earliest file."""


class Manifest(Struct, frozen=True):
    """The summaries of all series."""

    as_of: int
    logged_until: int
    """The number up to which the log of changes was compared with the files."""
    series: Mapping[str, Summary]
    """By metric and zone: `price/GB`."""

    @property
    def summaries(self) -> dict[Place, Summary]:
        """The summaries by metric and zone."""
        places = ((name.partition("/"), summary) for name, summary in self.series.items())
        return {(metric, zone): summary for (metric, _, zone), summary in places}
