"""The net rows of a month file, read without a Parquet reader: a day out of a month costs a tenth of decoding it.

The net's values lie in the file as plain little-endian doubles (Parquet's PLAIN encoding, uncompressed, one page), and
the footer says at which offset, and when: a month is a few runs of rows that follow each other at their resolution. Any
Parquet reader reads the same rows from the same bytes. A file whose net is no such series (generation by fuel) says
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.clock import RESOLUTIONS, Window
from warehouse.versions import Floats, Ints, RowLabels, Versions

MOST_RUNS = 200
"""A month with more gaps or changes of feed is read as Parquet."""


class Run(NamedTuple):
    """`length` rows of one label, the first at `start`, each `step` seconds after the one before."""

    label: int
    start: int
    length: int
    step: int

    def within(self, window: Window | None) -> tuple[int, int]:
        """The first row whose `ts` lies in a window, and the first behind it; None is all of time."""
        if window is None:
            return 0, self.length
        first = min(max(0, -((self.start - window.start) // self.step)), self.length)
        return first, min(max(first, -((self.start - window.end) // self.step)), self.length)


@dataclass(frozen=True, slots=True)
class NetRows:
    """Values of rows ascending by `ts`; what else is to say of them stands in the runs. `Run.label` indexes `labels`.

    Eight bytes a row; the columns of a window are made when it is asked for.
    """

    labels: tuple[RowLabels, ...]
    runs: tuple[Run, ...]
    value: Floats

    def columns(self, window: Window | None = None) -> tuple[NDArray[np.int32], Ints, Floats, bool]:
        """Label, `ts` and value of the rows in a window, and whether those are of one run; None is all of time.

        The values of one run are not copied.
        """
        label, ts, value = [], [], []
        at = 0
        for run in self.runs:
            first, last = run.within(window)
            if first < last:
                ts.append(
                    np.arange(run.start + first * run.step, run.start + last * run.step, run.step, dtype=np.int64)
                )
                value.append(self.value[at + first : at + last])
                label.append(codes := np.zeros(last - first, np.int32))
                if run.label:
                    codes += run.label
            at += run.length
        if len(ts) == 1:
            return label[0], ts[0], value[0], True
        return (
            np.concatenate([np.empty(0, np.int32), *label]),
            np.concatenate([np.empty(0, np.int64), *ts]),
            np.concatenate([np.empty(0, np.float64), *value]),
            False,
        )

    def labels_in(self, window: Window) -> set[RowLabels]:
        """The labels of the rows in a window."""
        spans = ((run, run.within(window)) for run in self.runs)
        return {self.labels[run.label] for run, (first, last) in spans if first < last}

    @property
    def nbytes(self) -> int:
        return self.value.nbytes + 400 * len(self.labels) + 150 * len(self.runs) + 500


def described(net: Versions, body: bytes) -> dict[str, Any] | None:
    """What the footer says of net rows, in the file's order, whose values stand in `body`; None where nothing."""
    if not len(net):
        return None
    offset = body.find(net.value.astype("<f8").tobytes())
    starts = np.flatnonzero(_breaks(net))
    if offset < 0 or len(starts) > MOST_RUNS:
        return None
    counts = np.diff([*starts, len(net)])
    runs = zip(net.label[starts].tolist(), net.ts[starts].tolist(), counts.tolist(), strict=True)
    return {"offset": offset, "labels": [list(label) for label in net.labels], "runs": [list(run) for run in runs]}


def _breaks(net: Versions) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Per row, whether it begins a run: another label, or not one interval after the row before."""
    breaks = np.ones(len(net), np.bool_)
    breaks[1:] = (np.diff(net.label) != 0) | (np.diff(net.ts) != net.seconds()[:-1])
    return breaks


def read(body: bytes, stated: Mapping[str, Any]) -> NetRows:
    """The rows that `described` describes, out of checked bytes. The values are a copy: they keep no file in memory."""
    labels = tuple(RowLabels(*label) for label in stated["labels"])
    steps = [RESOLUTIONS[label.resolution] for label in labels]
    runs = tuple(Run(code, start, count, steps[code]) for code, start, count in stated["runs"])
    value = np.frombuffer(body, "<f8", sum(run.length for run in runs), stated["offset"]).astype(np.float64)
    return NetRows(labels, runs, value)
