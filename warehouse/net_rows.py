"""The net rows of a month file, read without a Parquet reader: a day out of a month costs a tenth of decoding it.

The net's values lie in the file as plain little-endian doubles (Parquet's PLAIN encoding, uncompressed, one page), and
the footer says at which offset, and when: a month is a few runs of rows that follow each other at their resolution. Any
Parquet reader reads the same rows from the same bytes. A file whose net is no such series (generation by fuel) says
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warehouse.clock import RESOLUTIONS
from warehouse.versions import Floats, Ints, RowLabels, Versions

MOST_RUNS = 200
"""A month with more gaps or changes of feed is read as Parquet."""


@dataclass(frozen=True, slots=True)
class NetRows:
    """Rows ascending by `ts` as parallel columns; `label` indexes `labels`."""

    labels: tuple[RowLabels, ...]
    label: Ints
    ts: Ints
    value: Floats


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
    runs = stated["runs"]
    total = sum(count for _, _, count in runs)
    value = np.frombuffer(body, "<f8", total, stated["offset"]).astype(np.float64)
    steps = [RESOLUTIONS[label.resolution] for label in labels]
    ts = [np.arange(count, dtype=np.int64) * steps[code] + start for code, start, count in runs]
    label = np.repeat([code for code, _, _ in runs], [count for _, _, count in runs])
    return NetRows(labels, label, ts[0] if len(ts) == 1 else np.concatenate(ts), value)
