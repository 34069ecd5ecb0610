"""Explain why intervals have no carbon estimate, by applying the method to stored mix rows."""

from __future__ import annotations

import numpy as np

from warehouse.market import carbon
from warehouse.market.carbon import Estimates, FuelReadings
from warehouse.series.row_columns import RowColumns


def estimate_stored(zone: str, rows: RowColumns) -> Estimates:
    """Return the method's estimates for the stored mix rows of one market day, treated as one response.

    If a refused interval has no reason here, it was refused for something that only the response showed.
    """
    kinds = sorted({(label.fuel or "", label.resolution) for label in rows.labels})
    chosen = {
        kind: np.array([(label.fuel, label.resolution) == kind for label in rows.labels], np.bool_)[rows.label]
        for kind in kinds
    }
    return carbon.estimate(zone, [FuelReadings(*kind, rows.ts[own], rows.value[own]) for kind, own in chosen.items()])
