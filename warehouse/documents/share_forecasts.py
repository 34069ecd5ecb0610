"""Read the forecasts behind the share of wind and solar in demand, by the feeds that the catalogue lists."""

from __future__ import annotations

from collections.abc import Mapping

from warehouse.documents.catalogue_entries import CatalogueFeed, CatalogueZone
from warehouse.figures import horizon
from warehouse.figures.wind_solar import shares
from warehouse.market.clock import DAY, Window
from warehouse.market.vocabulary import Forecast
from warehouse.rows.forecasts import Pick
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import RowColumns, joined

Forecasts = Mapping[Forecast, tuple[RowColumns, int]]
"""The newest rows of each forecast, and the seconds from one publication to the next."""


@read_again
def read_forecasts(reader: Reader, zone: CatalogueZone, feeds: Mapping[str, CatalogueFeed], now: int) -> Forecasts:
    """Return a publisher's forecasts of a zone's mix and demand, from `now` (Unix seconds).

    The mix includes the previous day, whose fuels are expected again. Empty if no publisher has both forecasts, or if
    one may not be redistributed. Raises StorageError.
    """
    window, found = horizon.window(now), {}
    for forecast, carrying in zone.feeds_of_share.items():
        steps = {feed.id: feeds[feed.id].step_s for feed in carrying if not feed.withheld}
        if not steps:
            return {}
        start = window.start - DAY if forecast is Forecast.MIX else window.start
        files, ranks = reader.files(zone.id, forecast, Window(start, window.end)), dict.fromkeys(steps, 1)
        rows = joined(reader.past(file, Pick(), None, ranks)["net"] for file in files)
        found[forecast] = rows.take(slice(*rows.between(Window(start, window.end)))), max(steps.values())
    return found


def forecast_shares(zone: str, forecasts: Forecasts) -> RowColumns:
    """Return the shares for some forecasts, empty without forecasts."""
    return shares(zone, forecasts[Forecast.MIX][0], forecasts[Forecast.DEMAND][0]) if forecasts else joined(())
