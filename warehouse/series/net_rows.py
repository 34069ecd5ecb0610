"""Read the net rows of a monthly file without a Parquet reader: a day of a month costs a tenth of decoding it.

The file contains the net values as plain little-endian doubles (Parquet's PLAIN encoding, uncompressed, one page). The
footer states their offset and their times: a month is a few runs of rows that follow each other at their resolution.
Parts of the values have their own checksums, so that a window can be read and checked without the rest of the file. Any
Parquet reader reads the same rows from the same bytes. The footer of a file whose net is not such a series (generation
by fuel) does not describe it.
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
"""Three and a half days of 5-minute values, or 8 kB. A window of a day needs one or two such parts."""
_WIDTH = 8


class Run(NamedTuple):
    """`length` rows of one label. The first is at `start`, and each is `step` seconds after the previous one."""

    label: int
    start: int
    length: int
    step: int


class Piece(NamedTuple):
    """The rows of a run from `first` to before `last`. Their values begin at index `at` of the file's values."""

    run: Run
    first: int
    last: int
    at: int


@dataclass(frozen=True, slots=True)
class NetLayout:
    """The location and the times of the net rows in a file, without their values. `Run.label` indexes `labels`.

    Values are counted from the first one of the file and read in parts of PART_ROWS.
    """

    labels: tuple[RowLabels, ...]
    runs: tuple[Run, ...]
    offset: int
    """The position of the first value in bytes."""
    checksums: str
    """The concatenated checksums of the parts (`seal.short`)."""

    def within(self, window: Window | None) -> list[Piece]:
        """Return the rows in a window, or all rows if it is None. Their values are adjacent because rows ascend."""
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
        """Return the labels of the rows in a window."""
        return {self.labels[piece.run.label] for piece in self.within(window)}

    def place(self, parts: range) -> tuple[int, int]:
        """Return the position and the maximum size of some parts in bytes."""
        return self.offset + parts.start * PART_ROWS * _WIDTH, len(parts) * PART_ROWS * _WIDTH

    def checked(self, body: bytes, parts: range) -> list[Floats] | None:
        """Return the values of some parts from their bytes, read-only, None if the checksums differ."""
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
    """Return the parts of a file's values that contain the values of some rows."""
    if not pieces:
        return range(0)
    *_, (_, first, last, at) = pieces
    return range(pieces[0].at // PART_ROWS, (at + last - first - 1) // PART_ROWS + 1)


def columns_of(pieces: Sequence[Piece], value: Floats, begin: int) -> tuple[NDArray[np.int32], Ints, Floats, bool]:
    """Return label, `ts` and value of some rows, and whether they belong to a single run.

    `value` has the file's values from index `begin`, including those of these rows. Those of a single run are not
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
    """Return the footer's description of net rows in the file's order with values in `body`, None if impossible."""
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
    """Return, per row, whether it begins a run: a new label, or not one interval after the previous row."""
    breaks = np.ones(len(net), np.bool_)
    breaks[1:] = (np.diff(net.label) != 0) | (np.diff(net.ts) != net.seconds()[:-1])
    return breaks


def layout(description: Mapping[str, Any]) -> NetLayout:
    """Return the layout that a description by `described` states."""
    labels = _shared(tuple([RowLabels(*label) for label in description["labels"]]))
    steps = [RESOLUTIONS[label.resolution] for label in labels]
    runs = tuple(Run(code, start, count, steps[code]) for code, start, count in description["runs"])
    return NetLayout(labels, runs, description["offset"], description.get("parts", ""))


@lru_cache(maxsize=4096)
def _shared(labels: tuple[RowLabels, ...]) -> tuple[RowLabels, ...]:
    """Return the labels, shared by all months that have them."""
    return labels
