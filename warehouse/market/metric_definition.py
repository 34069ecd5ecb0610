"""What a metric is, as a value: its units and bounds, what its publishers owe, and how the API and briefs offer it.

The table of the metrics is `warehouse.market.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from warehouse.market.zones import Limits, Zone


class Tolerance(NamedTuple):
    """How far a day's level may lie from those of the days before.

    A multiple of their spread, at least a share of their usual size and an amount in the series' own unit.
    """

    spreads: float
    share: float
    amount: float


class Agreement(NamedTuple):
    """How far the hourly means of two feeds may lie apart on average: a share of the mean, at least an amount.

    Publishers define demand and interchange a little differently (losses, pumping, small ties).
    """

    share: float
    amount: float


@dataclass(frozen=True, slots=True)
class Path:
    """How the API offers a metric under `/v1/<word>/{zone}`."""

    word: str
    sentence: str
    """What its rows are, in the API's description."""
    offer: str
    """What a buyer gets, before "of one zone"."""
    example: float
    """A value that can be a reading, for examples."""
    price: str = "0.01"
    """USD a call."""
    other_words: tuple[str, ...] = ()
    """What people ask for and mean this metric: only for "Did you mean"."""


@dataclass(frozen=True, slots=True)
class BriefWords:
    """How briefs speak of a metric with one current value a zone."""

    subject: str
    """The subject of the summary's sentences, at the start of a sentence."""
    headline: str = ""
    """What the headline calls it; if empty, the subject in lower case."""
    decimals: int = 0
    by_hour: bool = False
    """Whether it follows the clock: its rank among the same hours of the day leads."""
    is_awaited: bool = True
    """Whether `valid_until`, staleness and the charge depend on it."""


@dataclass(frozen=True, slots=True)
class CurrentMix:
    """How documents of the present carry the newest interval of a metric by fuel."""

    member: str
    """The member that holds the values by fuel, beside `<member>_unit` and `<member>_ts`; it begins no other's name."""
    subject: str = ""
    """What sentences of the brief call it; empty where none speaks of it."""
    is_awaited: bool = False
    """Whether `valid_until`, staleness and the charge depend on it. Then briefs say when it is due or why it is absent,
    and `latest` holds it as one object."""
    is_whole: bool = False
    """Whether it is the newest interval in which every fuel that the same time of the day before had has a row."""

    def names(self, member: str) -> bool:
        """Whether a member of a document is one of its own."""
        return member == self.member or member.startswith(f"{self.member}_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One metric: what a reader of its figures, a check and an endpoint need to know of it."""

    title: str
    definition: str
    units: str
    """Its units, in words."""
    unit: Callable[[Zone], str]
    """The unit of a zone's rows, as rows spell it."""
    sign: str
    interval: str
    """What one row's `ts` and `resolution` span."""
    limits: Callable[[Zone, str, str | None], Limits]
    """By zone, the row's unit and its fuel."""
    level: Callable[[Zone], Tolerance | None] | None
    """None if days are not compared, or those of some zones are not."""
    agreement: Agreement | None
    """None where feeds are not compared."""
    frozen_hours: float | None
    """Hours that a series may repeat one value; None where it may for ever."""
    path: Path | None
    """None where the API offers it under no path of its own."""
    brief: BriefWords | None
    """None where it has no place among the current values of a zone."""
    mix: CurrentMix | None = None
    """None where latest, brief and snapshot carry no values by fuel of it."""
    in_windows: bool = False
    """Whether `/v1/windows` compares blocks of hours by it."""
    by_fuel: bool = False
    ahead: bool = False
    """Whether rows of tomorrow are published today."""
    due: Literal["intervals", "years", "vintages"] = "intervals"
    """What its publishers owe: every interval, a row a year, or from time to time a vintage, whatever it holds."""
    merge: Literal["corrections", "vintages"] = "corrections"
    """What a later value of an interval is: a correction, which replaces it, or a vintage, which stands beside it."""

    @property
    def yearly(self) -> bool:
        """Whether its rows are years, which have no means."""
        return self.due == "years"
