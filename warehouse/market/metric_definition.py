"""Define a metric as a value: its units and bounds, what is due, and how the API and briefs present it.

The table of the metrics is `warehouse.market.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from warehouse.market.zones import Limits, Zone


class Tolerance(NamedTuple):
    """How far a day's level may be from those of the days before.

    A multiple of their spread, at least a share of their usual size and an amount in the series' own unit.
    """

    spreads: float
    share: float
    amount: float


class Agreement(NamedTuple):
    """How far apart the hourly means of two feeds may be on average: a share of the mean, at least an amount.

    Publishers define demand and interchange slightly differently (losses, pumping, small interconnectors).
    """

    share: float
    amount: float


@dataclass(frozen=True, slots=True)
class Path:
    """How the API offers a metric under `/v1/<word>/{zone}`."""

    word: str
    sentence: str
    """The description of its rows in the API."""
    offer: str
    """What a buyer gets, before "of one zone"."""
    example: float
    """A plausible value, for examples."""
    price: str = "0.01"
    """USD per call."""
    other_words: tuple[str, ...] = ()
    """Other words that people use for this metric: only for "Did you mean"."""


@dataclass(frozen=True, slots=True)
class BriefWords:
    """How briefs describe a metric with one current value per zone."""

    subject: str
    """The subject of the summary's sentences, at the start of a sentence."""
    headline: str = ""
    """The headline's word for it; if empty, the subject in lower case."""
    decimals: int = 0
    by_hour: bool = False
    """Whether it follows the clock: its rank among the same hours of the day leads."""
    is_awaited: bool = True
    """Whether `valid_until`, staleness and the charge depend on it."""


@dataclass(frozen=True, slots=True)
class CurrentMix:
    """How documents of the present contain the newest interval of a metric by fuel."""

    member: str
    """The field with the values by fuel, beside `<member>_unit` and `<member>_ts`; no other field's name starts so.
    """
    subject: str = ""
    """The brief's word for it; empty if no sentence mentions it."""
    is_awaited: bool = False
    """Whether `valid_until`, staleness and the charge depend on it.

    Briefs then report when it is due or why it is absent, and `latest` contains it as one object.
    """
    is_whole: bool = False
    """Whether it is the newest interval in which every fuel of the interval 24 hours earlier has a row."""

    def names(self, member: str) -> bool:
        """Return whether a field of a document belongs to it."""
        return member == self.member or member.startswith(f"{self.member}_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of a metric, as readers of its data, checks and endpoints need it."""

    title: str
    definition: str
    units: str
    """Its units, in words."""
    unit: Callable[[Zone], str]
    """The unit of a zone's rows, in the spelling of rows."""
    sign: str
    interval: str
    """What a row's value describes."""
    limits: Callable[[Zone, str, str | None], Limits]
    """By zone, unit of the row, and fuel."""
    level: Callable[[Zone], Tolerance | None] | None
    """None if days are not compared; returns None for zones whose days are not compared."""
    agreement: Agreement | None
    """None if feeds are not compared."""
    frozen_hours: float | None
    """Hours for which a series may repeat a value; None for no limit."""
    path: Path | None
    """None if the API does not offer it under its own path."""
    brief: BriefWords | None
    """None if it is not among the current values of a zone."""
    mix: CurrentMix | None = None
    """None if latest, brief and snapshot contain no values by fuel of it."""
    in_windows: bool = False
    """Whether `/v1/windows` compares blocks of hours by it."""
    by_fuel: bool = False
    ahead: bool = False
    """Whether rows of tomorrow are published today."""
    due: Literal["intervals", "years", "vintages"] = "intervals"
    """What publishers are expected to publish: every interval, a row per year, or vintages at irregular times.
    """
    merge: Literal["corrections", "vintages"] = "corrections"
    """The meaning of an interval's later value: a correction, which replaces it, or a vintage, which is added to it."""

    @property
    def yearly(self) -> bool:
        """Return whether its rows are years, which have no means."""
        return self.due == "years"
