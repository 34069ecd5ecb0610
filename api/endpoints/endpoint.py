"""One row of the table of endpoints, and the rows of series: two for each metric that has a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from api.endpoints import query_parameters as query
from api.http.parameters import Parameter
from api.series import formats
from warehouse.market.metrics import METRICS
from warehouse.market.vocabulary import Forecast, Metric, actual_of
from warehouse.market.zones import zones_with

_ROWS = (
    " Rows ascend by `ts` (start of the interval), then `fuel`; the window is half-open. Where rows were left out, "
    '`truncated` is true, `end` is the `ts` of the first row left out, and `Link: rel="next"` goes on exactly there; '
    "where `limit` is below the rows of one instant, `cursor_only` says that no window does. A "
    "missing interval has no row; `gaps` lists the holes of the answer's window against the feeds' own calendars."
)
_OWN_PARAMETERS = {Metric.PRICE: (query.MARKET,), Metric.INTERCHANGE: (query.BY,), Metric.CARBON: (query.BASIS,)}
_OF_FORECASTS = (query.FORECAST, query.PUBLISHED_BEFORE, query.LEAD, query.VINTAGES)
FORECAST = frozenset(map(actual_of, Forecast))
"""The metrics that publishers forecast."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    id: str
    """Its operationId, and the key of its price."""
    path: str
    tag: str
    answer: str
    """The schema of a good answer, by its name in OpenAPI's components; empty where there is no body."""
    summary: str
    description: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    """What `{zone}` may be."""
    price: str = ""
    """USD a call; empty for what is free. Several zones in one call: USD a zone."""
    offer: str = ""
    """What a buyer gets, in one line; facilitators refuse more than 500 characters."""
    media: tuple[str, ...] = ("application/json",)
    method: str = "GET"
    body: str = ""
    """The schema of the request body; empty where it takes none."""
    code: int = 200
    """The status of a good answer."""
    more_statuses: tuple[int, ...] = ()
    """Refusals beyond those that follow from its kind."""
    keyed: bool = False
    """Only for holders of a key: about the key itself."""
    token: bool = False
    """Only for the operator, by EMDS_METRICS_TOKEN."""

    @property
    def paid(self) -> bool:
        return bool(self.price)

    @property
    def access(self) -> str:
        """Who may call it: `free`, `paid` (key, payment or sample), `key` (about the key itself) or `token`."""
        return "token" if self.token else "paid" if self.paid else "key" if self.keyed else "free"

    @property
    def statuses(self) -> frozenset[int]:
        """Its refusals, besides those that any path may answer."""
        kinds = (
            ((401, 402, 409), self.paid),
            ((401,), self.keyed or self.token),
            ((404,), "{" in self.path),
            ((406,), len(self.media) > 1),
            ((413, 415), self.body),
        )
        return frozenset(status for statuses, fits in kinds if fits for status in statuses) | {*self.more_statuses}


def takes(*parameters: Parameter) -> dict[str, Parameter]:
    """Parameters by name, in this order."""
    return {parameter.name: parameter for parameter in parameters}


def of_one_zone(metric: Metric) -> Endpoint:
    """Return the endpoint of one zone's rows of a metric that has a path."""
    of = METRICS[metric]
    path = of.path
    assert path is not None, metric
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
    """Return the endpoint of several zones' rows of a metric that has a path."""
    path, one = METRICS[metric].path, of_one_zone(metric)
    assert path is not None, metric
    not_here = ("stats", "above", "below", "cursor")
    return replace(
        one,
        id=f"{path.word}-zones",
        path=f"/v1/{path.word}",
        answer="SeriesOrForecastOfZones" if metric in FORECAST else "SeriesOfZones",
        summary=f"{one.summary} of several zones",
        description=f"{path.sentence} Rows carry `zone` and ascend by `ts`, then `zone`; window, pages, formats, "
        "gaps are as for one zone, licence and attribution by zone. It counts as one answer of a key; paid for, it "
        "costs the price of a zone for each. With an `interval` of a day or more, a date as `start` or `end` means "
        "each zone's own day, and the answer's window is that of the zone whose day begins first; otherwise zones of "
        "different clocks need an offset.",
        parameters={
            "zones": query.zones_of(metric),
            **{name: parameter for name, parameter in one.parameters.items() if name not in not_here},
            "cursor": query.ZONES_CURSOR,
        },
        zones=(),
        offer=f"{path.offer} of several zones at once; the price is that of a zone",
        more_statuses=(404, 416),  # 404: a zone without the metric, or withheld by its terms
    )


def _parameters(metric: Metric) -> tuple[Parameter, ...]:
    """Return what only some metrics take: yearly rows have no means and no statistics."""
    if METRICS[metric].yearly:
        return ()
    own = (*_OWN_PARAMETERS.get(metric, ()), *(_OF_FORECASTS if metric in FORECAST else ()))
    return (query.INTERVAL, query.STATS, query.ABOVE, query.BELOW, *own)
