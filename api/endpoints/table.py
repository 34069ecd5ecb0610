"""Every path of this service, one row each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from api.documents.catalogue_reader import Catalogue
from api.endpoints import query_parameters as query
from api.endpoints.endpoint import Endpoint, of_one_zone, of_several_zones, takes
from api.geo import parameters as geo
from api.series import formats
from warehouse.market.further_zones import NAME_OF_SET, SPEC
from warehouse.market.metrics import PUBLIC
from warehouse.market.zones import ZONES

_ALL = tuple(ZONES)
_PARQUET = (formats.MEDIA["parquet"],)
_GEOJSON, _TEXT, _HTML = (geo.MEDIA["geojson"],), ("text/plain",), ("text/html",)
_SVG = ("image/svg+xml",)


# fmt: off
_PRESENT = (
    Endpoint("zones", "/v1/zones", "Free", "Zones", "Zones",
             f"The {len(ZONES)} zones with their clocks, currency, licence and attribution."),
    Endpoint("status", "/v1/status", "Free", "Status", "Ingestion freshness",
             "When each source last gave figures for each zone, what went wrong, and its state against its own "
             "schedule."),
    Endpoint("publishers", "/v1/publishers", "Free", "Publishers", "Measured publishers",
             "By feed and UTC month, of the last 13 months: how late rows came (median, 95th percentile, worst), how "
             "many were revised, when and by how much, intervals due and missing, and failures by kind; and how well "
             "publishers' own forecasts foresaw the last 30 days. Measured once a day. Definitions: /docs/publishers.",
             takes(query.SOURCE, query.FEED, query.MONTH)),
    Endpoint("changes", "/v1/changes", "Free", "Changes", "What changed",
             "Every change of the rows served, in order: which zone and metric, from which to which `ts`, how many "
             "rows were added, changed and withdrawn. Who follows `next` and reads those spans again misses no row. "
             "Kept 30 days; an older or unknown cursor is 410. How to follow: /docs/changes.",
             takes(query.SINCE, query.CHANGED_ZONES, query.CHANGED_METRIC, query.FEED, query.ENTRIES),
             more_statuses=(410,)),
    Endpoint("snapshot", "/v1/map/snapshot", "Now", "Snapshot", "Snapshot", "The latest values of every zone.",
             takes(query.SNAPSHOT_METRIC, query.SNAPSHOT_ZONES),
             price="0.002", offer=f"Latest electricity market values of all {len(ZONES)} zones"),
    Endpoint("brief", "/v1/brief/{zone}", "Now", "Brief", "Brief",
             "Current values ranked against the zone's own trailing 30 days, a 24-hour trend and a plain-language "
             "summary.", {}, _ALL,
             "0.02", "One zone's market now, ranked against its last 30 days, with trend and summary"),
    Endpoint("latest", "/v1/latest/{zone}", "Now", "Latest", "Latest values",
             "Of each metric the newest row whose interval has begun.", {}, _ALL,
             "0.001", "One zone's latest electricity market values"),
    Endpoint("windows", "/v1/windows/{zone}", "Now", "Windows", "Cheapest or dearest hours",
             "The best contiguous block of hours among published day-ahead prices, else by the operator's own "
             "forecast (`basis`): its mean, rank, the next best blocks, and whether it is now; with `slots` the best "
             "intervals, with `kwh` and `kw` also the cost. Method: /docs/windows. Where nothing is known ahead, "
             "`available` is false and nothing is charged.",
             takes(query.HOURS, query.SLOTS, query.KWH, query.KW, query.FROM, query.TO, query.WITHIN, query.BETWEEN,
                   query.FIND, query.WINDOW_METRIC), _ALL,
             "0.005", "The cheapest or dearest hours of one zone's known prices ahead"),
    Endpoint("records", "/v1/records/{zone}", "Now", "Records", "Records of a series",
             "The highest and the lowest value and the longest run of negative prices, of all time and of each "
             "calendar year, each with when it was and since when there is history. Made once a day: a record that a "
             "publisher corrects is withdrawn with the next run. Method: /docs/records.",
             takes(query.RECORDS_METRIC), _ALL,
             "0.002", "Highest, lowest and longest negative run of one zone's series, ever and by year"),
    Endpoint("all-records", "/v1/records", "Now", "AllRecords", "Records of all zones",
             "Returns, for every zone and calendar year, the hours below zero and the sum of their prices, the longest "
             "run of negative prices, and the highest and the lowest value; for the running year also the same span of "
             "the year before. It counts as one answer of a key; paid for, it costs the price of a zone for each. A "
             "sample has the first five zones. Method: /docs/records.",
             takes(query.RECORDS_METRIC), (),
             "0.002", "Records by year of all zones at once; the price is that of a zone"),
    Endpoint("bulk", "/v1/bulk", "Free", "Bulk", "Month files",
             "Every month file that may be passed on: one a zone, metric and UTC month, with address, rows, span, "
             "bytes, SHA-256, licence and attribution, and whether it is final. `price-day-ahead` is the day-ahead "
             "auction where it is a series of its own. Asked with a key, its addresses open without one for an hour. "
             "How to read them: /docs/bulk.",
             takes(query.BULK_ZONE, query.BULK_METRIC, query.BULK_SINCE), more_statuses=(401,)),
    Endpoint("bulk-datapackage", "/v1/bulk/datapackage.json", "Free", "DataPackage", "Month files as a Data Package",
             "Every file of `/v1/bulk` as a resource of a Frictionless Data Package, with hash, schema and licences."),
    Endpoint("bulk-croissant", "/v1/bulk/croissant.json", "Free", "Croissant", "Month files as a Croissant dataset",
             "Every file of `/v1/bulk` in a Croissant dataset, with a record set for each metric."),
    Endpoint("bulk-file", "/v1/bulk/{metric}/{zone}/{month}.parquet", "Bulk", "Document", "A month file",
             "All rows of one zone's metric in one UTC month, as Parquet. `ETag` is the SHA-256 of the bytes. `Range` "
             "is honoured. The final files of one zone, metric and calendar year count as one answer per key and day; "
             "any other file counts once, by its hash; HEAD counts nothing. A payment buys all of "
             "it. A sample keeps the newest 50 rows.", takes(query.SIGNATURE), _ALL,
             "0.02", "A month of one zone's series as a Parquet file", _PARQUET, more_statuses=(416,)),
)
_LIVE = (
    Endpoint("live-hours", "/v1/geo/live/hours", "Free", "LiveHours", "Last 48 hours of all zones, rounded",
             "Returns hourly means of price, demand, net import and carbon intensity, rounded as in `/v1/geo/live`. "
             "Each array starts at `start` and has one value per `step`; a value is null if less than half of the hour "
             "is covered. Each value comes with its percentile within the 30 days before the zone's latest value. "
             "Prices extend as far as an auction has set them; `price_day_ahead` holds the auction's prices of zones "
             "whose `price` is a real-time price, ranked within their own past 30 days. `<metric>_forecast` holds the "
             "operator's forecast, which has no percentile."),
    Endpoint("live-zone", "/v1/geo/live/{zone}", "Free", "LiveZone", "Recent history of a zone, rounded",
             "Returns hourly means of the last 7 days and of the prices that the auction has already set. Also returns "
             "6-hour means of the last 30 days, and hourly values of the generation mix and of each border for 48 "
             "hours. `day_ahead` holds the auction's prices of zones whose `price` is a real-time price. `forecast` "
             "holds the operator's forecast for up to two days ahead, with the time at which it was published. Rounded "
             "as in `/v1/geo/live`.", {}, _ALL),
)
_IMAGES = tuple(
    Endpoint(f"{name}{of}", f"/{name}/{{zone}}{'.{metric}' if of else ''}.svg", "Free", "Document",
             f"{title} of a metric" if of else title,
             f"Returns an SVG image for other websites: {shows}. {'' if of else 'It shows the price. '}"
             "Values are rounded as in `/v1/geo/live`. If a value is withheld or missing, the image states it. Every "
             "website may show it; caches keep it for 300 seconds. See /docs/websites.", {}, _ALL, media=_SVG)
    for name, title, shows in (
        ("embed", "Chart of a zone as an image", "the newest value, the 48 hours before, what is known ahead, and the "
         "attribution"),
        ("badge", "Badge of a zone", "one line with the newest value and its time"))
    for of in ("", "-metric")
)
_KEYS = (
    Endpoint("sign-up", "/v1/keys/signup", "Keys", "Key", "Sign up for a free key",
             "A key for 500 answers of the paid paths a UTC day, shown once. At most three live keys an address. Where "
             "the owner asks for it, `confirmed` is false and the key works once the link in the mail was opened.",
             method="POST", body="SignUp", code=201, more_statuses=(409,)),
    Endpoint("confirm", "/v1/keys/confirm", "Keys", "Confirmed", "Confirm a key",
             "Confirms the key for which the link was sent. With another key of the same address in "
             "`Authorization`, confirms that key.",
             takes(query.CONFIRMATION), more_statuses=(404, 409)),
    Endpoint("rotate", "/v1/keys/rotate", "Keys", "Rotated", "Rotate a key",
             "A new key in place of the one that is shown, with the same quota and count; the old one works for 24 "
             "hours more.", method="POST", code=201, keyed=True, more_statuses=(409,)),
    Endpoint("usage", "/v1/usage", "Keys", "Usage", "A key's own count",
             "What is left of the day of the key in Authorization.", keyed=True),
    Endpoint("revoke", "/v1/keys/current", "Keys", "", "Revoke a key", "Ends the key in Authorization.",
             method="DELETE", code=204, keyed=True),
)
_WEBHOOKS = (
    Endpoint("subscribe", "/v1/webhooks", "Webhooks", "NewWebhook", "Subscribe by webhook",
             "Sends messages to your https URL about changed rows, prices beyond a threshold, moves of the brief's "
             "bands, late data and complete day-ahead auctions, signed as Standard Webhooks. The secret is shown once. "
             "A key has at most ten webhooks. See /docs/webhooks.",
             method="POST", body="Subscription", code=201, keyed=True, more_statuses=(409,)),
    Endpoint("webhooks", "/v1/webhooks", "Webhooks", "Webhooks", "Webhooks of a key",
             "Every subscription of the key in Authorization, and how its deliveries go.", keyed=True),
    Endpoint("webhook", "/v1/webhooks/{webhook}", "Webhooks", "Webhook", "One webhook",
             "A subscription, and how its deliveries go.", keyed=True),
    Endpoint("unsubscribe", "/v1/webhooks/{webhook}", "Webhooks", "", "End a webhook",
             "Ends a subscription; what waits for it is dropped.", method="DELETE", code=204, keyed=True),
    Endpoint("test-webhook", "/v1/webhooks/{webhook}/test", "Webhooks", "TestedWebhook", "Test a webhook",
             "Puts a message of type `test` behind those that wait; the pipeline delivers it.",
             method="POST", code=202, keyed=True, more_statuses=(409,)),
)
_TEXTS = {"llms": "What this service is, for language models.", "agents": "How agents may use it."}
_DISCOVERY = (
    Endpoint("catalogue", "/catalog", "Discovery", "Catalogue", "Catalogue",
             "What is held: zones and metrics with unit, resolution, market, feeds in rank order, licence, span and "
             "row count; every path with its price."),
    Endpoint("openapi", "/openapi.json", "Discovery", "Document", "This description", "OpenAPI 3.1 of every path."),
    *(Endpoint(f"{name}{place}", f"/{folder}{name}.txt", "Discovery", "Text", f"{name}.txt", words, media=_TEXT)
      for name, words in _TEXTS.items() for place, folder in (("", ""), ("-well-known", ".well-known/"))),
    Endpoint("x402-json", "/.well-known/x402.json", "Discovery", "Document", "Payable paths",
             "Every paid path with its price (x402)."),
    Endpoint("x402", "/.well-known/x402", "Discovery", "Document", "Payable paths", "The same at the older address."),
    Endpoint("api-catalog", "/.well-known/api-catalog", "Discovery", "Document", "API catalogue",
             "Where this API is described (RFC 9727).", media=("application/linkset+json",)),
    Endpoint("security-txt", "/.well-known/security.txt", "Discovery", "Text", "security.txt",
             "Whom to tell of a weakness (RFC 9116).", media=_TEXT),
    Endpoint("robots", "/robots.txt", "Discovery", "Text", "robots.txt", "What crawlers may fetch.", media=_TEXT),
    Endpoint("guide", "/docs/{page}", "Discovery", "Text", "A guide", "A page of the documentation.", media=_HTML),
    Endpoint("example", "/docs/examples/{file}", "Discovery", "Text", "A guide's file",
             "A configuration to download: put your service's address, zone and key in it.", media=_TEXT),
    Endpoint("picture", "/og.png", "Discovery", "Document", "The map as a picture",
             "Each zone's price against its own last 30 days, as of the last publication.", media=("image/png",)),
    Endpoint("sitemap", "/sitemap.xml", "Discovery", "Text", "sitemap.xml", "The pages of this service.",
             media=("application/xml",)),
    Endpoint("docs", "/docs", "Discovery", "Text", "Reference", "This description as a page.", media=_HTML),
    Endpoint("problem", "/problems/{kind}", "Discovery", "Text", "A kind of problem", "What a problem's `type` means.",
             media=_HTML),
)
_OPERATION = (
    Endpoint("healthz", "/healthz", "Service", "Alive", "Process",
             "Whether the process runs; nothing else is looked at."),
    Endpoint("readyz", "/readyz", "Service", "Ready", "Readiness", "Whether the catalogue can be read, however old."),
    Endpoint("metrics", "/metrics", "Service", "Text", "Metrics",
             "For Prometheus, by the bearer token of EMDS_METRICS_TOKEN: counts of answers, build and version, and by "
             "feed and zone the newest row, when the next is due, and the last success.", media=_TEXT, token=True),
)
_LAYERS = {
    "zones": "Boundaries of the zones, at two levels of detail; `at` finds the zone of a point."
             + (" As `pmtiles`: vector tiles in one file (layer `zones`, `promoteId: id`), which MapLibre reads by "
                "ranges." if NAME_OF_SET else ""),
    "interconnectors": "Lines between zones, each with the zone ids at its ends.",
    "plants": "Points with capacity, fuel and zone."
              + ("" if NAME_OF_SET == SPEC else " The zones that EMDS_ZONES adds have none."),
    "live": "Each zone with its latest price, demand, net import and carbon intensity and each one's band among the "
            "zone's own last 30 days; `flows` holds the newest flow of each border. Rounded to whole currency units, "
            "100 MW and 10 g (`rounded: true`): exact figures are the snapshot's. One document a publication.",
    "flows": "Returns the interconnectors with their newest flow: `mw` runs from `from` to `to`, and so does the "
             "geometry. A line whose flow is not published has `mw` null and, if it is known, the flow of its whole "
             "border in `border_mw`. Rounded to 100 MW.",
}
_ANSWERS = {layer: f"{layer.title().removesuffix('s')}Layer" for layer in _LAYERS}
"""The schema of each layer."""
_OGC = (
    Endpoint("ogc-landing", geo.ROOT, "Free", "OgcLanding", "OGC API Features",
             "Landing page, which QGIS and ArcGIS add as a service."),
    Endpoint("ogc-conformance", f"{geo.ROOT}/conformance", "Free", "OgcConformance", "Conformance classes",
             "Part 1: Core, and GeoJSON."),
    Endpoint("ogc-collections", f"{geo.ROOT}/collections", "Free", "OgcCollections", "The geo layers as collections",
             "Each with extent and links."),
)
# fmt: on


def _layer(layer: str) -> tuple[Endpoint, ...]:
    """A geo layer's path, and one with the suffix of each of its formats."""
    own, suffixes = geo.PARAMETERS[layer], geo.FORMATS[layer]
    media = tuple(geo.MEDIA[suffix] for suffix in suffixes)
    statuses = (404, 416) if "at" in own else (416,)
    whole = Endpoint(f"geo-{layer}", f"/v1/geo/{layer}", "Free", _ANSWERS[layer], geo.TITLES[layer], _LAYERS[layer],
                     own, media=media, more_statuses=statuses)  # fmt: skip
    return (whole, *(_layer_file(whole, layer, suffix) for suffix in suffixes))


def _layer_file(whole: Endpoint, layer: str, suffix: str) -> Endpoint:
    of_file = replace(
        whole,
        id=f"{whole.id}-{'file' if suffix == 'geojson' else suffix}",
        path=f"{whole.path}.{suffix}",
        summary=f"{whole.summary} as {suffix}",
        parameters={name: parameter for name, parameter in whole.parameters.items() if name != "format"},
        media=(geo.MEDIA[suffix],),
    )
    if suffix not in geo.UNCUT:
        return of_file
    return replace(of_file, answer="Document", parameters={"detail": whole.parameters["detail"]}, more_statuses=(416,))


def _collection(name: str) -> tuple[Endpoint, Endpoint, Endpoint]:
    """A geo layer as a collection of OGC API Features."""
    title, path = geo.TITLES[name], f"{geo.ROOT}/collections/{name}"
    by_page = "Features by `limit` and `offset`, with `numberMatched` and a link to the next page (OGC API Features)."
    # fmt: off
    return (
        Endpoint(f"ogc-{name}", path, "Free", "OgcCollection", f"{title}, described",
                 "Extent and links (OGC API Features)."),
        Endpoint(f"ogc-{name}-items", f"{path}/items", "Free", _ANSWERS[name], f"{title} by page", by_page,
                 geo.ITEM_PARAMETERS[name], media=_GEOJSON),
        Endpoint(f"ogc-{name}-item", f"{path}/items/{{feature}}", "Free", _ANSWERS[name].replace("Layer", "Feature"),
                 f"{title}: one feature",
                 "A feature by its id.", media=_GEOJSON),
    )
    # fmt: on


_TABLE: tuple[Endpoint, ...] = (
    *_PRESENT,
    *(of_one_zone(metric) for metric in PUBLIC),
    *(of_several_zones(metric) for metric in PUBLIC),
    *(endpoint for layer in geo.PARAMETERS for endpoint in _layer(layer)),
    *_LIVE,
    *_IMAGES,
    *_OGC,
    *(endpoint for name in geo.ITEM_PARAMETERS for endpoint in _collection(name)),
    *_KEYS,
    *_WEBHOOKS,
    *_DISCOVERY,
    *_OPERATION,
)
# Every path takes `sample`, so that a caller may add it to any address, but for files that hold a whole layer.
_WHOLE_FILES = {geo.MEDIA[suffix] for suffix in geo.UNCUT}
ENDPOINTS: dict[str, Endpoint] = {
    endpoint.id: endpoint
    if _WHOLE_FILES.issuperset(endpoint.media)
    else replace(endpoint, parameters={**endpoint.parameters, "sample": query.SAMPLE})
    for endpoint in _TABLE
}
"""By operationId."""


def listing(catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """Return the body of `/catalog`: all that is held, and every path with its price."""
    whole = orjson.loads(catalogue.document.body)
    return {**whole, "endpoints": [_listed(endpoint, base_url) for endpoint in ENDPOINTS.values()]}


def _listed(endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "method": endpoint.method,
        "path": endpoint.path,
        "url": base_url + endpoint.path,
        "summary": endpoint.summary,
        "access": endpoint.access,
        "parameters": list(endpoint.parameters),
        "zones": list(endpoint.zones),
        **({"price_usd": endpoint.price} if endpoint.paid else {}),
    }
