"""Every path of this service in one table: routes, checks of parameters, OpenAPI, `/catalog`, llms.txt and the docs follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from api.documents.catalogue import SERIES
from api.geo import parameters as geo_parameters
from api.http.parameters import Parameter, choice, moment, text, whole, yes_no
from api.series import formats
from api.series.paging import Cursor
from api.series.query import DEFAULT_LIMIT, MOST_ROWS
from warehouse.market import Metric
from warehouse.zones import ZONES, zones_with

SAMPLE = yes_no(
    "sample", "A free, truncated answer without credentials: at most 50 rows or features, one block of a brief."
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    id: str
    """Its operationId; the key of its price where it has one."""
    path: str
    summary: str
    description: str
    tag: str
    answer: str
    """The name of the 200's schema in OpenAPI's components."""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    """What `{zone}` may be."""
    method: str = "GET"
    paid: bool = False
    media: tuple[str, ...] = ("application/json",)
    body: str = ""
    """The name of the request body's schema; empty where it takes none."""
    statuses: tuple[int, ...] = ()
    """Statuses besides the answer's own, 304, 404 for a zone, and those that come anywhere (`api.openapi.document`)."""
    code: int = 200
    """The status of its answer."""
    keyed: bool = False
    """Only for holders of a key: about the key itself."""
    token: bool = False
    """Only for the operator, by EMDS_METRICS_TOKEN."""


def _named(parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in parameters}


START = moment(
    "start", "First instant of the window: Unix seconds, or RFC 3339 with an offset. Default: 24 hours before `end`."
)
END = moment("end", "End of the window, exclusive. Default: now.")
LIMIT = whole(
    "limit", "Most rows in the answer: the first ones of the window, in `order`.", 1, MOST_ROWS, DEFAULT_LIMIT
)
ORDER = choice("order", "`asc`: oldest first; `desc`: newest first.", ("asc", "desc"), "asc")
AS_OF = moment("as_of", "The rows as this service knew them at that instant. Default: the newest knowledge.")
INTERVAL = choice(
    "interval",
    "Time-weighted means over UTC hours (`1h`) or the zone's civil days (`1d`), each row with `samples` and `coverage`. "
    "An interval of which less than half is covered is left out.",
    ("1h", "1d"),
)
# Any text is taken here: one that names no format is a 406, not a 400.
FORMAT = Parameter(
    "format",
    "The answer's format; goes before Accept.",
    str,
    {"type": "string", "enum": list(formats.MEDIA)},
    example="csv",
)
MARKET = choice(
    "market",
    "`day_ahead`: the day-ahead auction instead of the zone's headline price; 404 for GB and AU.",
    ("day_ahead",),
)
BY = choice("by", "`border`: one row for each border or tie instead of the zone's net.", ("border",))
CURSOR = text(
    "cursor",
    'Where a page goes on: from the `Link: rel="next"` of the page before. Opaque.',
    "^[A-Za-z0-9_-]{1,400}$",
    Cursor.from_text,
)
SNAPSHOT_METRIC = choice(
    "metric",
    "Which metric a sample keeps; only with `sample=true`. Default: price.",
    [metric.value for metric in SERIES.values() if metric is not Metric.CAPACITY],
)

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
    " Rows ascend by `ts` (start of the interval), then `fuel`; the window is half-open. Where rows were left out, `truncated` is "
    'true, `end` is the `ts` of the first row left out, and `Link: rel="next"` goes on exactly there. A missing interval has no row.'
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
        _named((START, END, LIMIT, ORDER, *interval, *own, AS_OF, CURSOR, FORMAT, SAMPLE)),
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

ENDPOINTS: dict[str, Endpoint] = {
    endpoint.id: replace(endpoint, parameters=endpoint.parameters | {"sample": SAMPLE})  # every path takes it
    for endpoint in (
        Endpoint(
            "zones",
            "/v1/zones",
            "Zones",
            "The 25 zones with their clocks, currency, licence and attribution.",
            "Free",
            "Zones",
            _named([SAMPLE]),
            statuses=(400, 503),
        ),
        Endpoint(
            "status",
            "/v1/status",
            "Ingestion freshness",
            "When each source last gave figures for each zone, what went wrong, and its state against its own schedule.",
            "Free",
            "Status",
            _named([SAMPLE]),
            statuses=(400, 503),
        ),
        Endpoint(
            "snapshot",
            "/v1/map/snapshot",
            "Snapshot",
            "The latest values of every zone.",
            "Now",
            "Snapshot",
            _named([SNAPSHOT_METRIC, SAMPLE]),
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
            _named([SAMPLE]),
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
            _named([SAMPLE]),
            _ALL_ZONES,
            paid=True,
            statuses=_PAID,
        ),
        *(_series(name, metric) for name, metric in SERIES.items()),
        *(endpoint for layer in geo_parameters.PARAMETERS for endpoint in _geo(layer)),
        Endpoint(
            "sign-up",
            "/v1/keys/signup",
            "Sign up for a free key",
            "A key for 500 answers of the paid paths a UTC day, shown once. At most three live keys an address.",
            "Keys",
            "Key",
            method="POST",
            body="SignUp",
            statuses=(400, 409, 413, 415, 422),
            code=201,
        ),
        Endpoint(
            "usage",
            "/v1/usage",
            "A key's own count",
            "What is left of the day of the key in Authorization.",
            "Keys",
            "Usage",
            statuses=(401,),
            keyed=True,
        ),
        Endpoint(
            "revoke",
            "/v1/keys/current",
            "Revoke a key",
            "Ends the key in Authorization.",
            "Keys",
            "",
            method="DELETE",
            statuses=(401,),
            code=204,
            keyed=True,
        ),
        Endpoint(
            "catalogue",
            "/catalog",
            "Catalogue",
            "What is held: zones and metrics with unit, resolution, market, feeds in rank order, licence, span and row count; every "
            "path with its price.",
            "Discovery",
            "Catalogue",
            statuses=(503,),
        ),
        Endpoint(
            "openapi",
            "/openapi.json",
            "This description",
            "OpenAPI 3.1 of every path.",
            "Discovery",
            "Document",
            statuses=(503,),
        ),
        *(
            Endpoint(
                f"{name}{place}",
                f"/{folder}{name}.txt",
                f"{name}.txt",
                words,
                "Discovery",
                "Text",
                media=("text/plain",),
            )
            for name, words in (
                ("llms", "What this service is, for language models."),
                ("agents", "How agents may use it."),
            )
            for place, folder in (("", ""), ("-well-known", ".well-known/"))
        ),
        Endpoint(
            "x402-json",
            "/.well-known/x402.json",
            "Payable paths",
            "Every paid path with its price (x402).",
            "Discovery",
            "Document",
        ),
        Endpoint(
            "x402", "/.well-known/x402", "Payable paths", "The same at the older address.", "Discovery", "Document"
        ),
        Endpoint(
            "api-catalog",
            "/.well-known/api-catalog",
            "API catalogue",
            "Where this API is described (RFC 9727).",
            "Discovery",
            "Document",
            media=("application/linkset+json",),
        ),
        Endpoint(
            "security-txt",
            "/.well-known/security.txt",
            "security.txt",
            "Whom to tell of a weakness (RFC 9116).",
            "Discovery",
            "Text",
            media=("text/plain",),
        ),
        Endpoint(
            "robots",
            "/robots.txt",
            "robots.txt",
            "What crawlers may fetch.",
            "Discovery",
            "Text",
            media=("text/plain",),
        ),
        Endpoint(
            "docs",
            "/docs",
            "Reference",
            "This description as a page.",
            "Discovery",
            "Text",
            media=("text/html",),
            statuses=(503,),
        ),
        Endpoint(
            "problem",
            "/problems/{kind}",
            "A kind of problem",
            "What a problem's `type` means.",
            "Discovery",
            "Text",
            media=("text/html",),
        ),
        Endpoint(
            "healthz", "/healthz", "Process", "Whether the process runs; nothing else is looked at.", "Service", "Alive"
        ),
        Endpoint(
            "readyz",
            "/readyz",
            "Readiness",
            "Whether the catalogue can be read, however old.",
            "Service",
            "Ready",
            statuses=(503,),
        ),
        Endpoint(
            "metrics",
            "/metrics",
            "Metrics",
            "Counts for Prometheus, by the bearer token of EMDS_METRICS_TOKEN.",
            "Service",
            "Text",
            media=("text/plain",),
            statuses=(401,),
            token=True,
        ),
    )
}
"""By operationId."""
