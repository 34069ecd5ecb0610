"""Decide which zones have a share of wind and solar in `/v1/windows`, and which of its forecasts is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api.documents.catalogue_reader import Catalogue
from warehouse.documents.catalogue_entries import CarryingFeed
from warehouse.documents.share_forecasts import Forecasts
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.figures.wind_solar import SOLAR_ADDED, WIND_SOLAR
from warehouse.market.vocabulary import Forecast, Fuel
from warehouse.market.zones import ZONES, zone
from warehouse.series.row_columns import RowColumns


def require_forecasts(catalogue: Catalogue, zone_id: str) -> None:
    """Raise UnknownZone, MetricNotAvailable or Withheld if a zone has no share of wind and solar."""
    feeds = _feeds(catalogue, zone(zone_id).id)
    if not feeds:
        raise MetricNotAvailable(zone_id, WIND_SOLAR, tuple(z for z in ZONES if _feeds(catalogue, z)))
    if any(all(feed.withheld for feed in own) for own in feeds.values()):
        raise Withheld(zone_id, WIND_SOLAR, tuple({feed.source: "" for own in feeds.values() for feed in own}))


def missing_forecast(zone_id: str, forecasts: Forecasts, at: int) -> Forecast | None:
    """Return the forecast that lacks a value at a time, if the other forecast has its values there."""
    missing = []
    for forecast, (rows, _) in forecasts.items():
        there = rows.take((rows.ts <= at) & (at < rows.ts + rows.seconds()))
        needed = _fuels(rows) | ({Fuel.SOLAR} if forecast is Forecast.MIX and zone_id in SOLAR_ADDED else set())
        if not len(there) or _fuels(there) != needed:
            missing.append(forecast)
    return missing[0] if len(missing) == 1 and len(forecasts) > 1 else None


def _fuels(rows: RowColumns) -> set[str | None]:
    return {rows.labels[code].fuel for code in rows.label.tolist()}


def _feeds(catalogue: Catalogue, zone_id: str) -> Mapping[Forecast, Sequence[CarryingFeed]]:
    of_zone = catalogue.zones.get(zone_id)
    return {} if of_zone is None else of_zone.feeds_of_share
