"""Parse AEMO's pre-dispatch: half-hourly price and demand of five regions to the end of the next trading day.

Each half hour has a run. Its file appears 26 to 29 minutes before the run's nominal time, which is the end of its first
period. Runs reach to 04:00 today, and from about 13:00 to 04:00 tomorrow. Only the file's name gives its publication
time, and a bundle contains the files of a week.
"""

from __future__ import annotations

import numpy as np

from assets.parsing.body import is_zip, unzipped
from assets.parsing.members import require_known
from assets.parsing.stamps import wall_stamp
from assets.sources.aemo.csv_tables import Table, tables
from assets.sources.aemo.files import AHEAD_OF_UTC, Report, published_at
from assets.sources.aemo.rows import HALF_HOUR, REGIONS_KNOWN
from warehouse.errors import FeedChanged
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Forecast
from warehouse.rows.schema import Rows, SeriesKey

REPORT = Report("aemo.predispatch", "Predispatch_Reports", "PUBLIC_PREDISPATCH", True, ())
_TABLE = "PDREGION"
_MEASURES = {"RRP": (Forecast.PRICE, "AUD/MWh"), "TOTALDEMAND": (Forecast.DEMAND, "MW")}


def parse(body: bytes, request: Request) -> Rows:
    """Return `price_forecast` and `demand_forecast` rows of every run in a file or bundle.

    Raises FeedChanged, NotPublished.
    """
    rows = Rows()
    named = list(unzipped(body)) if is_zip(body) else [(request.url, body)]
    for name, content in named:
        found = tables(content, (_TABLE,))
        published = published_at(name) or published_at(request.url)
        if published is None:
            raise FeedChanged(f"the file name has no publication time: {name[-60:]!r}")
        for table in found:
            _put(rows, table, published)
    require_known(rows)
    return rows


def _put(rows: Rows, table: Table, published: int) -> None:
    columns = table.columns(("REGIONID", "PERIODID"), tuple(_MEASURES))
    regions = columns["REGIONID"].to_pylist()
    starts = [wall_stamp(end) - HALF_HOUR - AHEAD_OF_UTC for end in columns["PERIODID"].to_pylist()]
    if any(start % HALF_HOUR for start in starts):
        raise FeedChanged("a period does not end on a half hour")
    for region in dict.fromkeys(regions):
        own = np.array([name == region for name in regions])
        zone = REGIONS_KNOWN.find(rows, region, np.array(starts)[own].tolist())
        if zone is None:
            continue
        for column, (metric, unit) in _MEASURES.items():
            filled = np.flatnonzero(own & columns[column].is_valid().to_numpy())
            values = columns[column].to_numpy()[filled].tolist()
            key = SeriesKey(zone, metric, unit, "30m")
            rows.extend_vintage(key, published, "name", [starts[i] for i in filled], values)
