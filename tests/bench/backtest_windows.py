"""How good windows by an operator's forecast were: what the best block cost in the end, against perfect foresight.

    python -m tests.bench.backtest_windows EMDS_HOME [HOURS]

Each vintage that is held is asked for its best block of HOURS (3), as `/v1/windows` would have been when it came. The
block's realised mean is compared with the best and with the average of all blocks of the same horizon.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from warehouse.figures.forecast_scores import means
from warehouse.figures.horizon import Interval, KnownAhead, WindowQuery, find
from warehouse.market.clock import HOUR, Window, month_window
from warehouse.market.metrics import METRICS
from warehouse.market.vocabulary import Forecast, actual_of
from warehouse.market.zones import ZONES
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import Versions, concat
from warehouse.series import folding, month_versions
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns
from warehouse.store.storage import Folder


def outcome(versions: Versions, actual: RowColumns, published: int, seconds: int, tz: str) -> tuple[float, ...] | None:
    """The realised, the best and the average mean of a vintage's blocks; None where not every block came true."""
    ranks = {label.feed: 1 for label in versions.labels}
    rows = Pick(published_before=published).choose(versions, ranks)
    rows = rows.take(rows.ts + rows.seconds() > published)
    ends = (rows.ts + rows.seconds()).tolist()
    known = tuple(map(Interval, rows.ts.tolist(), ends, rows.value.tolist()))
    if not known or known[0].start > published:
        return None
    found = find(KnownAhead(known, "", ()), WindowQuery("lowest", seconds), tz)
    starts = np.array([one.start for one in known if one.start + seconds <= found.until], np.int64)
    # Blocks overlap, and means are of intervals that do not: one at a time.
    came = np.array([means(actual, starts[place : place + 1], seconds)[0] for place in range(len(starts))])
    if found.members is None or np.isnan(came).any():
        return None
    return float(came[starts == found.members["start"]][0]), float(came.min()), float(came.mean())


def main() -> None:
    """One line a zone: vintages, realised, perfect and average mean, and the share of the possible saving."""
    storage = Folder(Path(sys.argv[1]))
    seconds = int(float(sys.argv[2]) * HOUR) if len(sys.argv) > 2 else 3 * HOUR
    sys.stdout.write("| zone | metric | vintages | realised | perfect | average | of the saving |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for metric in (metric for metric in Forecast if METRICS[actual_of(metric)].in_windows):
        for zone in ZONES:
            months = [month for _, _, month in folding.places(storage, metric, zone)]
            if not months:
                continue
            versions = concat([month_versions.read(storage, Month(metric, zone, month)) for month in months])
            window = Window(month_window(months[0]).start, month_window(months[-1]).end)
            actual = Reader(storage, 0).read(zone, actual_of(metric), "net", window)
            issues = np.unique(versions.published_at).tolist()
            outcomes = [outcome(versions, actual, issue, seconds, ZONES[zone].tz) for issue in issues]
            known = np.array([one for one in outcomes if one is not None])
            if not len(known):
                sys.stdout.write(f"| {zone} | {actual_of(metric)} | 0 | | | | |\n")
                continue
            realised, perfect, average = known.mean(axis=0)
            share = (average - realised) / (average - perfect) if average > perfect else float("nan")
            line = f"{len(known)} | {realised:.2f} | {perfect:.2f} | {average:.2f} | {share:.0%}"
            sys.stdout.write(f"| {zone} | {actual_of(metric)} | {line} |\n")


if __name__ == "__main__":
    main()
