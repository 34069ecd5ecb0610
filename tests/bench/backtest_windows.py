"""Compare the realised cost of the best block by an operator's forecast with that of perfect foresight.

    python -m tests.bench.backtest_windows EMDS_HOME [HOURS]

Each stored vintage gives its best block of HOURS (3), as `/v1/windows` would have done when it arrived: the lowest, or
the highest for `wind_solar`. The block's realised mean is compared with the best and with the average of all blocks of
the same horizon.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from warehouse.figures.forecast_scores import means
from warehouse.figures.horizon import Interval, KnownAhead, WindowQuery, find
from warehouse.figures.wind_solar import WIND_SOLAR, shares
from warehouse.market.clock import DAY, HOUR, Window
from warehouse.market.metrics import METRICS
from warehouse.market.vocabulary import Forecast, actual_of
from warehouse.market.zones import ZONES
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import Versions, concat
from warehouse.series import folding, month_versions
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns, sides_of
from warehouse.store.storage import Folder, Storage


class Case(NamedTuple):
    """A series of one zone that windows search, and its actual values."""

    zone: str
    name: str
    issues: list[int]
    """The publication times of its vintages, in Unix seconds."""
    newest: Callable[[int], RowColumns]
    """A function that returns the newest rows published by a time."""
    actual: RowColumns
    find: Literal["lowest", "highest"]


def cases(storage: Storage) -> Iterator[Case]:
    """Yield every series with forecasts: those of one metric, and the shares of wind and solar."""
    for zone in ZONES:
        forecasts = {metric: versions for metric in Forecast if (versions := _versions(storage, zone, metric))}
        for metric, versions in forecasts.items():
            if METRICS[actual_of(metric)].in_windows:
                newest, actual = _newest(versions), _actual(storage, zone, metric, versions)
                yield Case(zone, actual_of(metric), _issues(versions), newest, actual, "lowest")
        mix, demand = forecasts.get(Forecast.MIX), forecasts.get(Forecast.DEMAND)
        if mix and demand:
            source = mix.labels[0].source
            demand = demand.take(demand.where(lambda label, source=source: label.source == source))  # type: ignore[misc]
            parts = _newest(mix), _newest(demand)
            came = [_actual(storage, zone, metric, mix) for metric in (Forecast.MIX, Forecast.DEMAND)]
            yield Case(
                zone,
                WIND_SOLAR,
                _issues(mix),
                lambda issue, zone=zone, parts=parts: shares(zone, *(newest(issue) for newest in parts)),  # type: ignore[misc]
                shares(zone, came[0], came[1]),
                "highest",
            )


def _versions(storage: Storage, zone: str, metric: Forecast) -> Versions | None:
    months = [month for _, _, month in folding.places(storage, metric, zone)]
    return concat([month_versions.read(storage, Month(metric, zone, month)) for month in months]) if months else None


def _newest(versions: Versions) -> Callable[[int], RowColumns]:
    ranks = {label.feed: 1 for label in versions.labels}
    return lambda issue: sides_of(Pick(published_before=issue).choose(versions, ranks))["net"]


def _issues(versions: Versions) -> list[int]:
    issues: list[int] = np.unique(versions.published_at).tolist()
    return issues


def _actual(storage: Storage, zone: str, metric: Forecast, versions: Versions) -> RowColumns:
    window = Window(int(versions.ts.min()), int(versions.ts.max()) + DAY)
    return Reader(storage, 0).read(zone, actual_of(metric), "net", window)


def outcome(case: Case, published: int, seconds: int) -> tuple[float, ...] | None:
    """Return the realised, best and average mean of a vintage's blocks, or None if a block lacks actual values."""
    rows = case.newest(published)
    rows = rows.take(rows.ts + rows.seconds() > published)
    ends = (rows.ts + rows.seconds()).tolist()
    known = tuple(map(Interval, rows.ts.tolist(), ends, rows.value.tolist()))
    if not known or known[0].start > published:
        return None
    found = find(KnownAhead(known, "", ()), WindowQuery(case.find, seconds), ZONES[case.zone].tz)
    starts = np.array([one.start for one in known if one.start + seconds <= found.until], np.int64)
    # Blocks overlap, but `means` needs intervals that do not, so each block is computed separately.
    came = np.array([means(case.actual, starts[place : place + 1], seconds)[0] for place in range(len(starts))])
    if found.members is None or np.isnan(came).any():
        return None
    best = came.min() if case.find == "lowest" else came.max()
    return float(came[starts == found.members["start"]][0]), float(best), float(came.mean())


def main() -> None:
    """Print a line per series: vintages, realised, perfect and average mean, and the share of the possible gain."""
    seconds = int(float(sys.argv[2]) * HOUR) if len(sys.argv) > 2 else 3 * HOUR
    sys.stdout.write("| zone | metric | vintages | realised | perfect | average | of the possible gain |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for case in cases(Folder(Path(sys.argv[1]))):
        outcomes = [outcome(case, issue, seconds) for issue in case.issues]
        known = np.array([one for one in outcomes if one is not None])
        line = "0 | | | |"
        if len(known):
            realised, perfect, average = known.mean(axis=0)
            gain = (average - realised) / (average - perfect) if average != perfect else float("nan")
            line = f"{len(known)} | {realised:.2f} | {perfect:.2f} | {average:.2f} | {gain:.0%}"
        sys.stdout.write(f"| {case.zone} | {case.name} | {line} |\n")


if __name__ == "__main__":
    main()
