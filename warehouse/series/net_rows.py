"""The net rows of a month file, read without a Parquet reader: a day out of a month costs a tenth of decoding it.

The net's values lie in the file as plain little-endian doubles (Parquet's PLAIN encoding, uncompressed, one page), and
the footer says at which offset, and when: a month is a few runs of rows that follow each other at their resolution.
Parts of the values have checksums of their own, so that a window is read, and checked, without the rest of the file.
Any Parquet reader reads the same rows from the same bytes. A file whose net is no such series (generation by fuel) says
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.market.clock import RESOLUTIONS, Window
from warehouse.rows.versions import Floats, Ints, RowLabels, Versions
from warehouse.store import seal

MOST_RUNS = 200
"""A month with more gaps or changes of feed is read as Parquet."""
PART_ROWS = 1024
"""Three and a half days of 5-minute values, 8 kB: what a window of a day lies in, or in two of them."""
_WIDTH = 8


class Run(NamedTuple):
    """`length` rows of one label, the first at `start`, each `step` seconds after the one before."""

    label: int
    start: int
    length: int
    step: int


class Piece(NamedTuple):
    """Rows `first` up to `last` of a run, whose values begin with number `at` of the file's."""

    run: Run
    first: int
    last: int
    at: int


@dataclass(frozen=True, slots=True)
class NetLayout:
    """Where net rows lie in a file, and when they are; not their values. `Run.label` indexes `labels`.

    Values are counted from the file's first on, and read by parts of PART_ROWS.
    """

    labels: tuple[RowLabels, ...]
    runs: tuple[Run, ...]
    offset: int
    """Of the first value's bytes."""
    checksums: str
    """Of each part, one behind the other (`seal.short`)."""

    def within(self, window: Window | None) -> list[Piece]:
        """The rows in a window, whose values are neighbours, since rows ascend; None is all of time."""
        pieces, at = [], 0
        for run in self.runs:
            first, last = 0, run.length
            if window is not None:
                first = max(0, -((run.start - window.start) // run.step))
                last = min(-((run.start - window.end) // run.step), run.length)
            if first < last:
                pieces.append(Piece(run, first, last, at + first))
            at += run.length
        return pieces

    def labels_in(self, window: Window) -> set[RowLabels]:
        """The labels of the rows in a window."""
        return {self.labels[piece.run.label] for piece in self.within(window)}

    def place(self, parts: range) -> tuple[int, int]:
        """The first byte of some parts, and how many there are at most."""
        return self.offset + parts.start * PART_ROWS * _WIDTH, len(parts) * PART_ROWS * _WIDTH

    def checked(self, body: bytes, parts: range) -> list[Floats] | None:
        """The values of some parts, out of their bytes, read-only; None where those are not what was written."""
        left = (sum(run.length for run in self.runs) - parts.start * PART_ROWS) * _WIDTH
        values = []
        for place, part in enumerate(parts):
            begin = place * PART_ROWS * _WIDTH
            piece = body[begin : min(begin + PART_ROWS * _WIDTH, left)]
            if seal.short(piece) != self.checksums[part * seal.SHORT_DIGITS : (part + 1) * seal.SHORT_DIGITS]:
                return None
            values.append(np.frombuffer(piece, "<f8").astype(np.float64, copy=False))
        return values

    @property
    def nbytes(self) -> int:
        return len(self.checksums) + 150 * len(self.runs) + 700


def parts_of(pieces: Sequence[Piece]) -> range:
    """The parts of a file's values that hold those of some rows."""
    if not pieces:
        return range(0)
    *_, (_, first, last, at) = pieces
    return range(pieces[0].at // PART_ROWS, (at + last - first - 1) // PART_ROWS + 1)


def columns_of(pieces: Sequence[Piece], value: Floats, begin: int) -> tuple[NDArray[np.int32], Ints, Floats, bool]:
    """Label, `ts` and value of some rows, and whether they are of one run.

    `value` holds the file's values from number `begin` on, all of these rows' among them. Those of one run are not
    copied.
    """
    label, ts, values = [], [], []
    for run, first, last, at in pieces:
        ts.append(np.arange(run.start + first * run.step, run.start + last * run.step, run.step, dtype=np.int64))
        values.append(value[at - begin : at - begin + last - first])
        label.append(codes := np.zeros(last - first, np.int32))
        if run.label:
            codes += run.label
    if len(ts) == 1:
        return label[0], ts[0], values[0], True
    return (
        np.concatenate([np.empty(0, np.int32), *label]),
        np.concatenate([np.empty(0, np.int64), *ts]),
        np.concatenate([np.empty(0, np.float64), *values]),
        False,
    )


def described(net: Versions, body: bytes) -> dict[str, Any] | None:
    """What the footer says of net rows, in the file's order, whose values stand in `body`; None where nothing."""
    if not len(net):
        return None
    values = net.value.astype("<f8").tobytes()
    offset = body.find(values)
    starts = np.flatnonzero(_breaks(net))
    if offset < 0 or len(starts) > MOST_RUNS:
        return None
    counts = np.diff([*starts, len(net)])
    runs = zip(net.label[starts].tolist(), net.ts[starts].tolist(), counts.tolist(), strict=True)
    parts = [values[at : at + PART_ROWS * _WIDTH] for at in range(0, len(values), PART_ROWS * _WIDTH)]
    return {
        "offset": offset,
        "labels": [list(label) for label in net.labels],
        "runs": [list(run) for run in runs],
        "parts": "".join(map(seal.short, parts)),
    }


def _breaks(net: Versions) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Per row, whether it begins a run: another label, or not one interval after the row before."""
    breaks = np.ones(len(net), np.bool_)
    breaks[1:] = (np.diff(net.label) != 0) | (np.diff(net.ts) != net.seconds()[:-1])
    return breaks


def layout(description: Mapping[str, Any]) -> NetLayout:
    """Where the rows that `described` describes lie."""
    labels = _shared(tuple([RowLabels(*label) for label in description["labels"]]))
    steps = [RESOLUTIONS[label.resolution] for label in labels]
    runs = tuple(Run(code, start, count, steps[code]) for code, start, count in description["runs"])
    return NetLayout(labels, runs, description["offset"], description.get("parts", ""))


@lru_cache(maxsize=4096)
def _shared(labels: tuple[RowLabels, ...]) -> tuple[RowLabels, ...]:
    """The labels themselves, once for all the months that have them."""
    return labels
