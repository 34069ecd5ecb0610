"""The paths that answer with market data: zones, status, the present, series and geography."""

from __future__ import annotations

from api.documents.catalogue import SERIES
from api.endpoints.endpoint import Endpoint, named
from api.endpoints.query_parameters import (
    AS_OF,
    BY,
    CURSOR,
    END,
    FORMAT,
    INTERVAL,
    LIMIT,
    MARKET,
    ORDER,
    SAMPLE,
    SNAPSHOT_METRIC,
    START,
)
from api.geo import parameters as geo_parameters
from api.series import formats
from warehouse.market import Metric
from warehouse.zones import ZONES, zones_with

_WORDS = {
    Metric.DEMAND: ("Demand", "Electricity demand, MW."),
    Metric.GENERATION: ("Generation mix", "Generation by fuel, MW (US-CAISO) or % of the total (GB)."),
    Metric.PRICE: (
        "Wholesale price",
        "The zone's headline price in local currency per MWh: real-time at one hub for US zones, market index for GB, "
        "5-minute dispatch for AU, day-ahead auction for Europe. `/catalog` names hub and market.",
    ),
    Metric.CARBON_INTENSITY: ("Carbon intensity", "Carbon intensity of generation, gCO2/kWh, actual."),
    Metric.INTERCHANGE: ("Interchange", "Cross-border flow, MW: net import of the zone, + = into it."),
    Metric.CAPACITY: (
        "Installed capacity",
        "Installed capacity by fuel, MW, one row a year and fuel; it belongs to the window if its year overlaps it.",
    ),
}
_ROWS = (
    " Rows ascend by `ts` (start of the interval), then `fuel`; the window is half-open. Where rows were left out, "
    "`truncated` is "
    'true, `end` is the `ts` of the first row left out, and `Link: rel="next"` goes on exactly there. A missing '
    "interval has no row."
)


def _series(name: str, metric: Metric) -> Endpoint:
    own = {Metric.PRICE: (MARKET,), Metric.INTERCHANGE: (BY,)}.get(metric, ())
    interval = () if metric is Metric.CAPACITY else (INTERVAL,)
    title, words = _WORDS[metric]
    return Endpoint(
        name,
        f"/v1/{name}/{{zone}}",
        title,
        words + _ROWS,
        "Series",
        "Series",
        named((START, END, LIMIT, ORDER, *interval, *own, AS_OF, CURSOR, FORMAT, SAMPLE)),
        zones_with(metric),
        paid=True,
        media=tuple(formats.MEDIA.values()),
        statuses=(400, 401, 402, 406, 409, 503),
    )


def _geo(layer: str) -> tuple[Endpoint, Endpoint]:
    """A layer's path, and the same with a suffix by which QGIS and GDAL know what they get."""
    titles = {
        "zones": "Zone boundaries",
        "interconnectors": "Interconnectors",
        "plants": "Power plants of 250 MW and above",
    }
    words = {
        "zones": "Boundaries of the 25 zones, at two levels of detail.",
        "interconnectors": "Lines between zones, each with the zone ids at its ends.",
        "plants": "Points with capacity, fuel and zone.",
    }[layer]
    own, media = (
        geo_parameters.PARAMETERS[layer],
        tuple(geo_parameters.MEDIA[name] for name in geo_parameters.FORMATS[layer]),
    )
    plain = {name: parameter for name, parameter in own.items() if name != "format"}
    return (
        Endpoint(
            f"geo-{layer}",
            f"/v1/geo/{layer}",
            titles[layer],
            words,
            "Free",
            "Features",
            own,
            media=media,
            statuses=(400, 406, 503),
        ),
        Endpoint(
            f"geo-{layer}-file",
            f"/v1/geo/{layer}.geojson",
            f"{titles[layer]} as a file",
            words,
            "Free",
            "Features",
            plain,
            media=media[:1],
            statuses=(400, 503),
        ),
    )


_PAID = (400, 401, 402, 409, 503)
_ALL_ZONES = tuple(ZONES)

MARKET_DATA: tuple[Endpoint, ...] = (
    Endpoint(
        "zones",
        "/v1/zones",
        "Zones",
        "The 25 zones with their clocks, currency, licence and attribution.",
        "Free",
        "Zones",
        named([SAMPLE]),
        statuses=(400, 503),
    ),
    Endpoint(
        "status",
        "/v1/status",
        "Ingestion freshness",
        "When each source last gave figures for each zone, what went wrong, and its state against its own schedule.",
        "Free",
        "Status",
        named([SAMPLE]),
        statuses=(400, 503),
    ),
    Endpoint(
        "snapshot",
        "/v1/map/snapshot",
        "Snapshot",
        "The latest values of every zone.",
        "Now",
        "Snapshot",
        named([SNAPSHOT_METRIC, SAMPLE]),
        paid=True,
        statuses=_PAID,
    ),
    Endpoint(
        "brief",
        "/v1/brief/{zone}",
        "Brief",
        "Current values ranked against the zone's own trailing 30 days, a 24-hour trend and a plain-language summary.",
        "Now",
        "Brief",
        named([SAMPLE]),
        _ALL_ZONES,
        paid=True,
        statuses=_PAID,
    ),
    Endpoint(
        "latest",
        "/v1/latest/{zone}",
        "Latest values",
        "Of each metric the newest row whose interval has begun.",
        "Now",
        "Latest",
        named([SAMPLE]),
        _ALL_ZONES,
        paid=True,
        statuses=_PAID,
    ),
    *(_series(name, metric) for name, metric in SERIES.items()),
    *(endpoint for layer in geo_parameters.PARAMETERS for endpoint in _geo(layer)),
)
