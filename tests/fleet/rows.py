"""The rows that a warehouse serves, against those of a line that nobody disturbed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.stand_ins import stored_rows
from warehouse.market.clock import DAY, Window, instant
from warehouse.series import series
from warehouse.store.storage import Storage

Row = tuple[str, str, str, str, str, int]
"""Zone, metric, fuel, border, tie and start."""


@dataclass(frozen=True)
class Difference:
    """Between what is served and what should be."""

    rows: int
    """Served."""
    lost: int
    """Not served, though the undisturbed line has them."""
    doubled: int
    """Served more than once."""
    wrong: int
    """Served with another value, or that the undisturbed line has not."""


def served(storage: Storage) -> tuple[dict[Row, float], int]:
    """Every row that is served, and how many of them stand there twice."""
    values: dict[Row, float] = {}
    count: Counter[Row] = Counter()
    for metric, zone, month in series.places(storage):
        start = instant(f"{month}-01T00:00:00Z")
        for row in stored_rows.read(storage, zone, metric, Window(start, start + 31 * DAY)).to_pylist():
            if month != _month(row["ts"]):
                continue  # of the next month's file, which is read by itself
            identity = zone, metric, row["fuel"] or "", row["counterparty"] or "", row["link"] or "", row["ts"]
            values[identity] = row["value"]
            count[identity] += 1
    return values, sum(number - 1 for number in count.values())


def difference(found: Storage, wanted: Storage) -> Difference:
    """How the rows of one warehouse differ from another's."""
    (rows, doubled), (truth, _) = served(found), served(wanted)
    wrong = sum(truth.get(identity) != value for identity, value in rows.items())
    return Difference(len(rows), len(truth.keys() - rows.keys()), doubled, wrong)


def _month(ts: int) -> str:
    return f"{datetime.fromtimestamp(ts, UTC):%Y-%m}"
