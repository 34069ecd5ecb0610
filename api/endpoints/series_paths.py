"""The paths of rows, for one zone and for several: a pair for each metric that has a path."""

from __future__ import annotations

from dataclasses import replace

from api.endpoints import query_parameters as query
from api.endpoints.endpoint import Endpoint, takes
from api.http.parameters import Parameter
from api.series import formats
from warehouse.market.metrics import METRICS, Forecast, Metric, Path, actual_of
from warehouse.market.zones import zones_with

_ROWS = (
    " Rows ascend by `ts` (start of the interval), then `fuel`; the window is half-open. Where rows were left out, "
    '`truncated` is true, `end` is the `ts` of the first row left out, and `Link: rel="next"` goes on exactly there; '
    "where `limit` is below the rows of one instant, `cursor_only` says that no window does. A "
    "missing interval has no row; `gaps` lists the holes of the answer's window against the feeds' own calendars."
)
_OWN_PARAMETERS = {Metric.PRICE: (query.MARKET,), Metric.INTERCHANGE: (query.BY,)}
_OF_FORECASTS = (query.FORECAST, query.PUBLISHED_BEFORE, query.LEAD, query.VINTAGES)
FORECAST = frozenset(map(actual_of, Forecast))
"""The metrics that publishers forecast."""


def of_one_zone(metric: Metric) -> Endpoint:
    """Return the endpoint of one zone's rows. Raises ValueError for a metric without a path."""
    path, of = _path_of(metric), METRICS[metric]
    return Endpoint(
        path.word,
        f"/v1/{path.word}/{{zone}}",
        "Series",
        "Series" if of.yearly else "SeriesOrForecast" if metric in FORECAST else "SeriesAnswer",
        of.title,
        path.sentence + _ROWS,
        takes(query.START, query.END, query.LIMIT, query.ORDER, *_parameters(metric), query.AS_OF, query.TIME,
              query.CURSOR, query.FORMAT, query.SAMPLE),
        zones_with(metric),
        path.price,
        f"{path.offer} of one zone, in {of.units}",
        tuple(formats.MEDIA.values()),
        more_statuses=(416,),
    )  # fmt: skip


def of_several_zones(metric: Metric) -> Endpoint:
    """Return the endpoint of several zones' rows. Raises ValueError for a metric without a path."""
    path, one = _path_of(metric), of_one_zone(metric)
    not_here = ("stats", "above", "below", "cursor")
    return replace(
        one,
        id=f"{path.word}-zones",
        path=f"/v1/{path.word}",
        answer="SeriesOrForecastOfZones" if metric in FORECAST else "SeriesOfZones",
        summary=f"{one.summary} of several zones",
        description=f"{path.sentence} Rows carry `zone` and ascend by `ts`, then `zone`; window, pages, formats, "
        "gaps are as for one zone, licence and attribution by zone. It counts as one answer of a key; paid for, it "
        "costs the price of a zone for each. A date as `start` or `end` takes one zone alone.",
        parameters={
            "zones": query.zones_of(metric),
            **{name: parameter for name, parameter in one.parameters.items() if name not in not_here},
            "cursor": query.ZONES_CURSOR,
        },
        zones=(),
        offer=f"{path.offer} of several zones at once; the price is that of a zone",
        more_statuses=(404, 416),  # 404: a zone without the metric, or withheld by its terms
    )


def _path_of(metric: Metric) -> Path:
    path = METRICS[metric].path
    if path is None:
        raise ValueError(f"{metric} has no path")
    return path


def _parameters(metric: Metric) -> tuple[Parameter, ...]:
    """Return what only some metrics take: yearly rows have no means and no statistics."""
    if METRICS[metric].yearly:
        return ()
    own = (*_OWN_PARAMETERS.get(metric, ()), *(_OF_FORECASTS if metric in FORECAST else ()))
    return (query.INTERVAL, query.STATS, query.ABOVE, query.BELOW, *own)
