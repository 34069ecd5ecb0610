"""Compute the forecast share of wind and solar in demand for the brief and the map (docs/windows.md)."""

from __future__ import annotations

from typing import NamedTuple

from warehouse.documents.catalogue_entries import PublishedCatalogue
from warehouse.documents.share_forecasts import forecast_shares, read_forecasts
from warehouse.figures import horizon
from warehouse.market.clock import HOUR
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns

_HOURS = 3


class GreenestHours(NamedTuple):
    """The three hours with the highest share, Unix seconds, and their mean in percent."""

    start: int
    end: int
    share: float


def shares_ahead(reader: Reader, catalogue: PublishedCatalogue, zone: str, now: int) -> RowColumns:
    """Return the shares after `now` (Unix seconds); empty if a forecast is missing or too old.

    Raises StorageError.
    """
    forecasts = read_forecasts(reader, catalogue.zones[zone], catalogue.feeds, now)
    is_too_old = any(horizon.is_too_old(*forecast, now) for forecast in forecasts.values())
    return forecast_shares(zone, {} if is_too_old else forecasts)


def find_greenest(rows: RowColumns, tz: str, now: int) -> GreenestHours | None:
    """Return the three hours with the highest share since the current interval; None if fewer are known."""
    ahead = horizon.known_ahead(rows, now)
    found = None if ahead is None else horizon.find(ahead, horizon.WindowQuery("highest", _HOURS * HOUR), tz).members
    return None if found is None else GreenestHours(found["start"], found["end"], found["mean"])
