"""The paths that answer with market data: zones, status, the present, series and geography."""

from __future__ import annotations

from dataclasses import replace

from api.documents.catalogue import SERIES
from api.endpoints.endpoint import Endpoint, named
from api.endpoints.query_parameters import (
    ABOVE,
    AS_OF,
    BELOW,
    BULK_METRIC,
    BULK_ZONE,
    BY,
    CHANGED_METRIC,
    CHANGED_ZONES,
    CURSOR,
    END,
    ENTRIES,
    FEED,
    FORMAT,
    HOURS,
    INTERVAL,
    KIND,
    LIMIT,
    MARKET,
    MONTH,
    ORDER,
    SAMPLE,
    SINCE,
    SNAPSHOT_METRIC,
    SNAPSHOT_ZONES,
    SOURCE,
    START,
    STATS,
    TIME,
    WINDOW_METRIC,
    WITHIN,
    ZONES_CURSOR,
    zones_of,
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
    "interval has no row; `gaps` lists the holes of the answer's window against the feeds' own calendars."
)


def _series(name: str, metric: Metric) -> Endpoint:
    own = {Metric.PRICE: (MARKET,), Metric.INTERCHANGE: (BY,)}.get(metric, ())
    interval = () if metric is Metric.CAPACITY else (INTERVAL, STATS, ABOVE, BELOW)
    title, words = _WORDS[metric]
    return Endpoint(
        name,
        f"/v1/{name}/{{zone}}",
        title,
        words + _ROWS,
        "Series",
        "Series" if metric is Metric.CAPACITY else "SeriesAnswer",
        named((START, END, LIMIT, ORDER, *interval, *own, AS_OF, TIME, CURSOR, FORMAT, SAMPLE)),
        zones_with(metric),
        paid=True,
        media=tuple(formats.MEDIA.values()),
        statuses=(400, 401, 402, 406, 409, 416, 503),
    )


def _series_of_zones(name: str, metric: Metric) -> Endpoint:
    """The same for several zones in one call."""
    one = _series(name, metric)
    only = {p: parameter for p, parameter in one.parameters.items() if p not in ("stats", "above", "below", "cursor")}
    return replace(
        one,
        id=f"{name}-zones",
        path=f"/v1/{name}",
        summary=f"{one.summary} of several zones",
        description=f"{_WORDS[metric][1]} Rows carry `zone` and ascend by `ts`, then `zone`; window, pages, formats, "
        "gaps are as for one zone, licence and attribution by zone. It counts as one answer of a key; paid for, it "
        "costs the price of a zone for each. A date as `start` or `end` takes one zone alone.",
        answer="SeriesOfZones",
        parameters={"zones": zones_of(metric), **only, "cursor": ZONES_CURSOR},
        zones=(),
        statuses=tuple(sorted({*one.statuses, 404})),  # a zone without the metric, or withheld by its terms
    )


_LAYERS = {
    "zones": (
        "Zone boundaries",
        "Boundaries of the 25 zones, at two levels of detail; `at` finds the zone of a point. As `pmtiles`: vector "
        "tiles in one file (layer `zones`, `promoteId: id`), which MapLibre reads by ranges.",
    ),
    "interconnectors": ("Interconnectors", "Lines between zones, each with the zone ids at its ends."),
    "plants": ("Power plants of 250 MW and above", "Points with capacity, fuel and zone."),
    "live": (
        "Zones with their newest figures, rounded",
        "Each zone with its latest price, demand, net import and carbon intensity and each one's band among the zone's "
        "own last 30 days; `flows` holds the newest flow of each border. Rounded to whole currency units, 100 MW and "
        "10 g (`rounded: true`): exact figures are the snapshot's. One document a publication.",
    ),
}


def _geo(layer: str) -> tuple[Endpoint, ...]:
    """A layer's path, and one with the suffix of each of its formats."""
    title, words = _LAYERS[layer]
    own, media = geo_parameters.PARAMETERS[layer], geo_parameters.MEDIA
    plain = {name: parameter for name, parameter in own.items() if name != "format"}
    formats = geo_parameters.FORMATS[layer]
    schema = "Live" if layer == "live" else "Features"
    whole = Endpoint(
        f"geo-{layer}",
        f"/v1/geo/{layer}",
        title,
        words,
        "Free",
        schema,
        own,
        media=tuple(media[name] for name in formats),
        statuses=(400, 404, 406, 416, 503) if "at" in own else (400, 406, 416, 503),
    )
    return (
        whole,
        *(
            replace(
                whole,
                id=f"geo-{layer}-{'file' if name == 'geojson' else name}",
                path=f"/v1/geo/{layer}.{name}",
                summary=f"{title} as {name}",
                answer="Document" if name in geo_parameters.UNCUT else schema,
                parameters={"detail": plain["detail"]} if name in geo_parameters.UNCUT else plain,
                media=(media[name],),
                statuses=tuple(
                    status
                    for status in whole.statuses
                    if status != 406 and not (status == 404 and name in geo_parameters.UNCUT)
                ),
            )
            for name in formats
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
        "publishers",
        "/v1/publishers",
        "Measured publishers",
        "By feed and UTC month, of the last 13 months: how late rows came (median, 95th percentile, worst), how many "
        "were revised, when and by how much, intervals due and missing, and failures by kind. Measured once a day. "
        "Definitions: /docs/publishers.",
        "Free",
        "Publishers",
        named([SOURCE, FEED, MONTH, SAMPLE]),
        statuses=(400, 503),
    ),
    Endpoint(
        "changes",
        "/v1/changes",
        "What changed",
        "Every change of the rows served, in order: which zone and metric, from which to which `ts`, how many rows "
        "were added, changed and withdrawn. Who follows `next` and reads those spans again misses no row. Kept 30 "
        "days; an older or unknown cursor is 410. How to follow: /docs/changes.",
        "Free",
        "Changes",
        named([SINCE, CHANGED_ZONES, CHANGED_METRIC, FEED, ENTRIES, SAMPLE]),
        statuses=(400, 410, 503),
    ),
    Endpoint(
        "snapshot",
        "/v1/map/snapshot",
        "Snapshot",
        "The latest values of every zone.",
        "Now",
        "Snapshot",
        named([SNAPSHOT_METRIC, SNAPSHOT_ZONES, SAMPLE]),
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
    Endpoint(
        "windows",
        "/v1/windows/{zone}",
        "Cheapest or dearest hours",
        "The best contiguous block of hours among prices that are already published (nothing is forecast): its mean, "
        "rank, the next best blocks, and whether it is now. Method: /docs/windows. Where no prices are known ahead, "
        "`available` is false and nothing is charged.",
        "Now",
        "Windows",
        named((HOURS, WITHIN, KIND, WINDOW_METRIC, SAMPLE)),
        _ALL_ZONES,
        paid=True,
        statuses=_PAID,
    ),
    Endpoint(
        "bulk",
        "/v1/bulk",
        "Month files",
        "Every month file that may be passed on: one a zone, metric and UTC month, with address, rows, span, bytes, "
        "SHA-256, licence and attribution, and whether it is final. `price-day-ahead` is the day-ahead auction where "
        "it is a series of its own. How to read them: /docs/bulk.",
        "Free",
        "Bulk",
        named((BULK_ZONE, BULK_METRIC, SAMPLE)),
        statuses=(400, 503),
    ),
    Endpoint(
        "bulk-file",
        "/v1/bulk/{metric}/{zone}/{month}.parquet",
        "A month file",
        "All rows of one zone's metric in one UTC month, as Parquet. `ETag` is the SHA-256 of the bytes. `Range` is "
        "honoured, and each answer counts as one; a payment buys the whole file. A sample keeps the newest 50 rows.",
        "Bulk",
        "Document",
        named([SAMPLE]),
        _ALL_ZONES,
        paid=True,
        media=(formats.MEDIA["parquet"],),
        statuses=(*_PAID, 416),
    ),
    *(_series(name, metric) for name, metric in SERIES.items()),
    *(_series_of_zones(name, metric) for name, metric in SERIES.items()),
    *(endpoint for layer in geo_parameters.PARAMETERS for endpoint in _geo(layer)),
    Endpoint(
        "live-hours",
        "/v1/geo/live/hours",
        "The last 48 hours of every zone, rounded",
        "Hourly means of price, demand, net import and carbon intensity, rounded as `/v1/geo/live`: from `start` on, "
        "one value a `step`, null where less than half an hour is covered.",
        "Free",
        "LiveHours",
        named([SAMPLE]),
        statuses=(400, 503),
    ),
    Endpoint(
        "live-zone",
        "/v1/geo/live/{zone}",
        "Recent history of a zone, rounded",
        "Hourly means of the last 7 days and of what the auction has fixed, 6-hour means of the last 30 days, and "
        "hours of the generation mix and of each border over 48 hours. Rounded as `/v1/geo/live`.",
        "Free",
        "LiveZone",
        named([SAMPLE]),
        _ALL_ZONES,
        statuses=(400, 503),
    ),
)
