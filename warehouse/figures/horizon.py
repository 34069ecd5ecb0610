"""What is known ahead of a zone's prices at an instant, and the best blocks of it: from rows to plain members.

Everything counts from the running interval's start and holds for as long as that interval runs: docs/windows.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from warehouse.figures.windows import Interval, Kind, horizon, search
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, Window
from warehouse.series.reader import RowColumns

AHEAD = 4 * DAY
"""No auction is for later days."""
_LONGEST = HOUR
"""No price lasts longer."""


@dataclass(frozen=True, slots=True)
class KnownPrices:
    """A zone's prices from the running interval on, behind a gap too."""

    rows: tuple[Interval, ...]
    """Ascending; the first is the running one."""
    unit: str
    feeds: tuple[str, ...]
    sources: tuple[str, ...]
    """Ids of the feeds and codes of the sources of these rows, sorted."""

    @property
    def valid_until(self) -> int:
        """The end of the running interval, Unix seconds; until then every clock since its start finds these rows."""
        return min(self.rows[0].end, self.rows[0].start + _LONGEST)


@dataclass(frozen=True, slots=True)
class BestBlocks:
    """The horizon of one question and its best blocks. Instants are Unix seconds."""

    start: int
    until: int
    complete: bool
    """Whether the horizon reaches as far as it was asked to."""
    last: int
    """The end of the last row that is known, behind a gap or not."""
    valid_until: int
    unit: str
    sources: tuple[str, ...]
    blocks: Mapping[str, Any] | None
    """The best block, its alternatives, `now` and the horizon's `mean`; None where no block of the length fits."""


def window(now: int) -> Window:
    """Where every row begins that a question at an instant is answered from."""
    return Window(now - _LONGEST, now + AHEAD)


def intervals(rows: RowColumns) -> list[Interval]:
    """Rows as intervals."""
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels]
    return [
        Interval(ts, ts + steps[label], value)
        for ts, value, label in zip(rows.ts.tolist(), rows.value.tolist(), rows.label.tolist(), strict=True)
    ]


def known_prices(rows: RowColumns, now: int) -> KnownPrices | None:
    """The prices from the running interval on, of all rows of `window(now)`; None where none is running."""
    known = intervals(rows)
    first = next((place for place, row in enumerate(known) if row.start <= now < row.end), None)
    if first is None:
        return None
    _, last = rows.between(Window(known[first].start, known[first].start + AHEAD))
    labels = [rows.labels[code] for code in np.unique(rows.label[first:last])]
    return KnownPrices(
        tuple(known[first:last]),
        rows.labels[rows.label[first]].unit,
        tuple(sorted({label.feed for label in labels})),
        tuple(sorted({code for label in labels for code in label.source.split(", ")})),
    )


def best_blocks(prices: KnownPrices, seconds: int, within: int | None, kind: Kind) -> BestBlocks:
    """The best blocks of `seconds` within so many seconds of the running interval's start; None: as far as known."""
    start = prices.rows[0].start
    last = prices.rows[-1].end
    known = horizon(prices.rows, start, start + AHEAD if within is None else start + within)
    result = search(known, start, seconds, kind)
    return BestBlocks(
        start,
        known[-1].end,
        known[-1].end >= (last if within is None else start + within),
        last,
        prices.valid_until,
        prices.unit,
        prices.sources,
        None
        if result is None
        else {
            **asdict(result.best),
            "blocks": result.blocks,
            "alternatives": [asdict(block) for block in result.alternatives],
            "now": asdict(result.now),
            "mean_of_horizon": result.mean,
        },
    )
