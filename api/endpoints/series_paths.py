"""The paths of rows, for one zone and for several."""

from __future__ import annotations

from dataclasses import dataclass, replace

from api.endpoints import query_parameters as query
from api.endpoints.endpoint import Endpoint, takes
from api.http.parameters import Parameter
from api.series import formats
from warehouse.market import Metric
from warehouse.zones import zones_with


@dataclass(frozen=True, slots=True)
class _Series:
    """What differs between the paths of two metrics."""

    title: str
    description: str
    offer: str
    offer_of_zones: str
    parameters: tuple[Parameter, ...] = (query.INTERVAL, query.STATS, query.ABOVE, query.BELOW)
    answer: str = "SeriesAnswer"


# fmt: off
_SERIES = {
    Metric.DEMAND: _Series(
        "Demand", "Electricity demand, MW.", "Electricity demand of one zone, in MW", "Electricity demand"),
    Metric.GENERATION: _Series(
        "Generation mix", "Generation by fuel, MW (US-CAISO) or % of the total (GB).",
        "Electricity generation of one zone by fuel", "Electricity generation by fuel"),
    Metric.PRICE: _Series(
        "Wholesale price",
        "The zone's headline price in local currency per MWh: real-time at one hub for US zones, market index for GB, "
        "5-minute dispatch for AU, day-ahead auction for Europe. `/catalog` names hub and market.",
        "Wholesale electricity price of one zone, in local currency per MWh", "Wholesale electricity price",
        (query.INTERVAL, query.STATS, query.ABOVE, query.BELOW, query.MARKET)),
    Metric.CARBON_INTENSITY: _Series(
        "Carbon intensity", "Carbon intensity of generation, gCO2/kWh, actual.",
        "Carbon intensity of one zone's electricity, in gCO2/kWh", "Carbon intensity of electricity"),
    Metric.INTERCHANGE: _Series(
        "Interchange", "Cross-border flow, MW: net import of the zone, + = into it.",
        "Net electricity import of one zone, in MW", "Net electricity import",
        (query.INTERVAL, query.STATS, query.ABOVE, query.BELOW, query.BY)),
    Metric.CAPACITY: _Series(
        "Installed capacity",
        "Installed capacity by fuel, MW, one row a year and fuel; it belongs to the window if its year overlaps it.",
        "Installed capacity of one zone by fuel and year, in MW", "Installed capacity by fuel and year", (), "Series"),
}
# fmt: on
_ROWS = (
    " Rows ascend by `ts` (start of the interval), then `fuel`; the window is half-open. Where rows were left out, "
    '`truncated` is true, `end` is the `ts` of the first row left out, and `Link: rel="next"` goes on exactly there. A '
    "missing interval has no row; `gaps` lists the holes of the answer's window against the feeds' own calendars."
)


def of_one_zone(name: str, metric: Metric) -> Endpoint:
    """Rows of one zone."""
    of = _SERIES[metric]
    window = (query.START, query.END, query.LIMIT, query.ORDER)
    return Endpoint(
        name,
        f"/v1/{name}/{{zone}}",
        "Series",
        of.answer,
        of.title,
        of.description + _ROWS,
        takes(*window, *of.parameters, query.AS_OF, query.TIME, query.CURSOR, query.FORMAT, query.SAMPLE),
        zones_with(metric),
        "0.01",
        of.offer,
        tuple(formats.MEDIA.values()),
        more_statuses=(416,),
    )


def of_several_zones(name: str, metric: Metric) -> Endpoint:
    """Rows of several zones in one call."""
    one, of = of_one_zone(name, metric), _SERIES[metric]
    not_here = ("stats", "above", "below", "cursor")
    return replace(
        one,
        id=f"{name}-zones",
        path=f"/v1/{name}",
        answer="SeriesOfZones",
        summary=f"{of.title} of several zones",
        description=f"{of.description} Rows carry `zone` and ascend by `ts`, then `zone`; window, pages, formats, "
        "gaps are as for one zone, licence and attribution by zone. It counts as one answer of a key; paid for, it "
        "costs the price of a zone for each. A date as `start` or `end` takes one zone alone.",
        parameters={
            "zones": query.zones_of(metric),
            **{known: parameter for known, parameter in one.parameters.items() if known not in not_here},
            "cursor": query.ZONES_CURSOR,
        },
        zones=(),
        offer=f"{of.offer_of_zones} of several zones at once; the price is that of a zone",
        more_statuses=(404, 416),  # 404: a zone without the metric, or withheld by its terms
    )
