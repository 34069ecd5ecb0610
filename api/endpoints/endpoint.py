"""Define a row of the table of endpoints, and the rows of series: two for each metric that has a path."""

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
    " Rows are sorted by `ts` (the start of the interval), then by `fuel`. The window is half-open: `start` is "
    "included, `end` is not. If more rows match than `limit` allows, `truncated` is true, `start` and `end` give the "
    "window that "
    'the returned rows cover, and `Link: rel="next"` leads to the next page. If `limit` is smaller than the number of '
    "rows at one instant, `cursor_only` is true and only the cursor in `Link` can continue. A missing interval has no "
    "row; `gaps` lists the intervals of the window that the feeds should have published."
)
_OWN_PARAMETERS = {Metric.PRICE: (query.MARKET,), Metric.INTERCHANGE: (query.BY,), Metric.CARBON: (query.BASIS,)}
_OF_FORECASTS = (query.FORECAST, query.PUBLISHED_BEFORE, query.LEAD, query.VINTAGES)
FORECAST = frozenset(map(actual_of, Forecast))
"""The metrics that publishers forecast."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of a path."""

    id: str
    """The operationId, and the key of the price."""
    path: str
    tag: str
    answer: str
    """The schema of a successful response, by its name in OpenAPI's components; empty without a body."""
    summary: str
    description: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    """The zones that `{zone}` accepts."""
    price: str = ""
    """USD per call, or per zone if a call takes several zones; empty for a free path."""
    offer: str = ""
    """The text of the offer to a buyer; facilitators reject more than 500 characters."""
    media: tuple[str, ...] = ("application/json",)
    method: str = "GET"
    body: str = ""
    """The schema of the request body; empty without a body."""
    code: int = 200
    """The status of a successful response."""
    more_statuses: tuple[int, ...] = ()
    """Refusals besides those that follow from the type of endpoint."""
    keyed: bool = False
    """Whether only a key's holder may call it, about the key itself."""
    token: bool = False
    """Whether only the operator may call it, with EMDS_METRICS_TOKEN."""

    @property
    def paid(self) -> bool:
        return bool(self.price)

    @property
    def access(self) -> str:
        """The access class: `free`, `paid` (key, payment or sample), `key` (about the key itself) or `token`."""
        return "token" if self.token else "paid" if self.paid else "key" if self.keyed else "free"

    @property
    def statuses(self) -> frozenset[int]:
        """The statuses of its refusals, besides those of every path."""
        kinds = (
            ((401, 402, 409), self.paid),
            ((401,), self.keyed or self.token),
            ((404,), "{" in self.path),
            ((406,), len(self.media) > 1),
            ((413, 415), self.body),
        )
        return frozenset(status for statuses, fits in kinds if fits for status in statuses) | {*self.more_statuses}


def takes(*parameters: Parameter) -> dict[str, Parameter]:
    """Return the parameters by name, in their order."""
    return {parameter.name: parameter for parameter in parameters}


def of_one_zone(metric: Metric) -> Endpoint:
    """Return the endpoint for the rows of a metric with a path in a single zone."""
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
    """Return the endpoint for the rows of a metric with a path in several zones."""
    path, one = METRICS[metric].path, of_one_zone(metric)
    assert path is not None, metric
    not_here = ("stats", "above", "below", "cursor")
    return replace(
        one,
        id=f"{path.word}-zones",
        path=f"/v1/{path.word}",
        answer="SeriesOrForecastOfZones" if metric in FORECAST else "SeriesOfZones",
        summary=f"{one.summary} of several zones",
        description=f"{path.sentence} Each row has a `zone`; rows are sorted by `ts`, then by `zone`. Windows, paging, "
        "formats and `gaps` work as they do for one zone; `license` and `attribution` are given per zone. The request "
        "counts once against a key's quota. Paid per call, it costs the single-zone price for each zone. With an "
        "`interval` of a day or more, a date in `start` or `end` means each zone's own day. The window in the response "
        "is then that of the zone whose day starts first. Otherwise a date is accepted only if all requested zones "
        "share its civil time; add an offset if they do not.",
        parameters={
            "zones": query.zones_of(metric),
            **{name: parameter for name, parameter in one.parameters.items() if name not in not_here},
            "cursor": query.ZONES_CURSOR,
        },
        zones=(),
        offer=f"{path.offer} of several zones at once; the price is per zone",
        more_statuses=(404, 416),  # 404: a zone lacks the metric, or its terms withhold it
    )


def _parameters(metric: Metric) -> tuple[Parameter, ...]:
    """Return the parameters that only some metrics take. Yearly rows have neither means nor statistics."""
    if METRICS[metric].yearly:
        return ()
    own = (*_OWN_PARAMETERS.get(metric, ()), *(_OF_FORECASTS if metric in FORECAST else ()))
    return (query.INTERVAL, query.STATS, query.ABOVE, query.BELOW, *own)
