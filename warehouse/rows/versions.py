"""Represent versions of rows as parallel numpy columns: the decoded contents of a monthly file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.market.clock import RESOLUTIONS

LIVE = np.int64(-1)
"""`superseded_at` of a version that has not been replaced. It is null in the file."""
NEVER = np.int64(-1)
"""`published_at` of a row that is not a forecast. It is null in the file."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = tuple[int, int, int, int]
"""The numbers of rows that were added, changed, evicted and unchanged."""


class RowLabels(NamedTuple):
    """The text columns that many versions share. Zone and metric are those of the file."""

    fuel: str | None
    counterparty: str | None
    link: str | None
    unit: str
    resolution: str
    source: str
    feed: str
    basis: str | None = None
    factors: str | None = None

    @property
    def border(self) -> bool:
        """Return whether the rows belong to a border or an interconnector, not to the zone itself."""
        return self.counterparty is not None or self.link is not None


@dataclass(frozen=True, slots=True)
class Versions:
    """Parallel columns of the versions of one (zone, metric, month). `label` indexes `labels`.

    `bounds` has low and high of each estimate, NaN for other versions. It is None if there are no estimates.
    """

    labels: tuple[RowLabels, ...]
    label: Ints
    ts: Ints
    value: Floats
    known_at: Ints
    superseded_at: Ints
    published_at: Ints
    bounds: Floats | None = None

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, chosen: Flags | Ints) -> Versions:
        """Return the chosen versions under the same labels."""
        bounds = None if self.bounds is None else self.bounds[chosen]
        return Versions(self.labels, *[*(getattr(self, name)[chosen] for name in _COLUMNS), bounds])

    def equal(self, these: Flags | Ints, those: Flags | Ints) -> Flags:
        """Return, per pair of chosen versions, whether both have the same value and the same bounds."""
        same: Flags = self.value[these] == self.value[those]
        if self.bounds is not None:
            one, other = self.bounds[these], self.bounds[those]
            same &= ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
        return same

    def codes(self, *fields: str) -> Ints:
        """Return a number per version, equal if these text columns are equal."""
        numbers: dict[tuple[str | None, ...], int] = {}
        keys = (tuple(getattr(labels, field) for field in fields) for labels in self.labels)
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys] or [0], np.int64)[self.label]

    def where(self, predicate: Callable[[RowLabels], bool]) -> Flags:
        """Return, per version, whether its text columns fulfil a predicate."""
        return np.array([predicate(labels) for labels in self.labels] or [False], np.bool_)[self.label]

    def having(self, column: str, value: str | None) -> Flags:
        """Return, per version, whether a text column has a value."""
        return self.where(lambda labels: getattr(labels, column) == value)

    def seconds(self) -> Ints:
        """Return the length of each version's interval in seconds. A year counts as its nominal length."""
        return np.array([RESOLUTIONS[labels.resolution] for labels in self.labels] or [0], np.int64)[self.label]

    def order(self) -> Ints:
        """Return the indexes in canonical order: ts, fuel, counterparty, link, then published_at and known_at."""
        place = np.array([*_places(self.labels)] or [0], np.int64)
        return np.lexsort((self.known_at, self.published_at, place[self.label], self.ts))

    def compact(self) -> Versions:
        """Return the versions with only the labels in use, in order: unused labels must not change a file's bytes."""
        used, code = np.unique(self.label, return_inverse=True)
        labels = [self.labels[number] for number in used]
        places = _places(labels)
        ordered = tuple(label for _, label in sorted(zip(places, labels, strict=True), key=lambda pair: pair[0]))
        return replace(self, labels=ordered, label=np.array(places or [0], np.int64)[code])


_COLUMNS = ("label", "ts", "value", "known_at", "superseded_at", "published_at")


def _places(labels: Sequence[RowLabels]) -> list[int]:
    """Return the rank of each label in canonical order."""
    ranked = sorted(range(len(labels)), key=lambda number: tuple(part or "" for part in labels[number]))
    places = [0] * len(labels)
    for place, number in enumerate(ranked):
        places[number] = place
    return places


def empty() -> Versions:
    """Return versions without rows."""
    none = np.empty(0, np.int64)
    return Versions((), none, none, np.empty(0, np.float64), none, none, none)


def concat(parts: list[Versions]) -> Versions:
    """Return all versions of several tables under one list of labels."""
    labels: dict[RowLabels, int] = {}
    codes = []
    for part in parts:
        own = np.array([labels.setdefault(each, len(labels)) for each in part.labels] or [0], np.int64)
        codes.append(own[part.label])
    columns: list[Any] = [np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS[1:]]
    return Versions(tuple(labels), np.concatenate(codes), *[*columns, _bounds(parts)])


def _bounds(parts: list[Versions]) -> Floats | None:
    """Return the bounds of the versions of several tables."""
    if all(part.bounds is None for part in parts):
        return None
    return np.concatenate([np.full((len(part), 2), np.nan) if part.bounds is None else part.bounds for part in parts])
