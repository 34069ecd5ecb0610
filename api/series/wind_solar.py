"""Reads what `/v1/windows?metric=wind_solar` searches: the forecasts of the mix and of demand by one publisher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api.documents.catalogue_reader import Catalogue
from api.series.page import whole_window
from api.series.query import SeriesRequest
from warehouse.documents.catalogue_entries import CarryingFeed
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.figures import horizon
from warehouse.figures.wind_solar import WIND_SOLAR
from warehouse.market.clock import DAY
from warehouse.market.vocabulary import Forecast, actual_of
from warehouse.market.zones import ZONES, zone
from warehouse.rows.forecasts import Pick
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns

Forecasts = Mapping[Forecast, tuple[RowColumns, int]]
"""The newest rows of each forecast, and the seconds from one publication to the next."""


def require_forecasts(catalogue: Catalogue, zone_id: str) -> None:
    """Raise UnknownZone, MetricNotAvailable or Withheld if a zone has no share of wind and solar."""
    feeds = _feeds(catalogue, zone(zone_id).id)
    if not feeds:
        raise MetricNotAvailable(zone_id, WIND_SOLAR, tuple(z for z in ZONES if _feeds(catalogue, z)))
    if any(all(feed.withheld for feed in own) for own in feeds.values()):
        raise Withheld(zone_id, WIND_SOLAR, tuple({feed.source: "" for own in feeds.values() for feed in own}))


def read_forecasts(reader: Reader, catalogue: Catalogue, zone_id: str, now: int) -> Forecasts:
    """Return the forecasts ahead of `now`, of the mix from the day before on: its fuels are expected again.

    Raises StorageError.
    """
    window, found = horizon.window(now), {}
    for forecast, feeds in _feeds(catalogue, zone_id).items():
        start = window.start - DAY if forecast is Forecast.MIX else window.start
        request = SeriesRequest(actual_of(forecast), (zone_id,), (forecast.value,), start, window.end, pick=Pick())
        own = [feed.id for feed in feeds]
        rows = whole_window(reader, catalogue, request).of_feeds(own.__contains__)
        found[forecast] = rows, max(catalogue.feeds[feed].step_s for feed in own)
    return found


def missing_forecast(forecasts: Forecasts, at: int) -> Forecast | None:
    """Return the forecast of which a value at a time is missing, if the other one has its values there."""
    missing = []
    for forecast, (rows, _) in forecasts.items():
        there = rows.take((rows.ts <= at) & (at < rows.ts + rows.seconds()))
        if not len(there) or _fuels(there) != _fuels(rows):
            missing.append(forecast)
    return missing[0] if len(missing) == 1 and len(forecasts) > 1 else None


def _fuels(rows: RowColumns) -> set[str | None]:
    return {rows.labels[code].fuel for code in rows.label.tolist()}


def _feeds(catalogue: Catalogue, zone_id: str) -> Mapping[Forecast, Sequence[CarryingFeed]]:
    of_zone = catalogue.zones.get(zone_id)
    return {} if of_zone is None else of_zone.feeds_of_share
