"""List every path of this service, one row per path."""

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
    Endpoint("zones", "/v1/zones", "Free", "Zones", "List zones",
             f"Returns the {len(ZONES)} zones with their time zones, currency, licence and attribution."),
    Endpoint("status", "/v1/status", "Free", "Status", "Data freshness",
             "Returns, for each source and zone, when data last arrived, the last error, and whether the source is "
             "`ok`, `late`, `down` or `unknown` against its own schedule."),
    Endpoint("publishers", "/v1/publishers", "Free", "Publishers", "Publisher reliability",
             "Returns, by feed and UTC month for the last 13 months: how late rows arrived (median, 95th percentile, "
             "maximum), how many were revised, when and by how much, how many intervals were due and missing, and "
             "failures by kind. Also returns accuracy scores for the publishers' own forecasts over the last 30 days. "
             "Updated once a day. For definitions, see /docs/publishers.",
             takes(query.SOURCE, query.FEED, query.MONTH)),
    Endpoint("changes", "/v1/changes", "Free", "Changes", "Change log",
             "Returns every change to the served rows in order: the zone and metric, the range of `ts` affected, and "
             "the number of rows added, changed and withdrawn. To keep a complete copy, follow `next` and read the "
             "affected ranges again. Entries are kept for 30 days; an older or unknown cursor returns 410. For a "
             "guide, see /docs/changes.",
             takes(query.SINCE, query.CHANGED_ZONES, query.CHANGED_METRIC, query.FEED, query.ENTRIES),
             more_statuses=(410,)),
    Endpoint("snapshot", "/v1/map/snapshot", "Now", "Snapshot", "Latest values of all zones",
             "Returns the latest value of each metric for every zone.",
             takes(query.SNAPSHOT_METRIC, query.SNAPSHOT_ZONES),
             price="0.002", offer=f"Latest electricity market values of all {len(ZONES)} zones"),
    Endpoint("brief", "/v1/brief/{zone}", "Now", "Brief", "Market brief",
             "Returns the current values of a zone, their rank within the zone's last 30 days, the change over 24 "
             "hours, and a summary in plain English.", {}, _ALL,
             "0.02", "One zone's current market values, ranked within its last 30 days, with trend and summary"),
    Endpoint("latest", "/v1/latest/{zone}", "Now", "Latest", "Latest values of a zone",
             "Returns, for each metric, the newest row whose interval has started.", {}, _ALL,
             "0.001", "One zone's latest electricity market values"),
    Endpoint("windows", "/v1/windows/{zone}", "Now", "Windows", "Cheapest or most expensive hours",
             "Finds the contiguous block of hours with the best mean. It uses published day-ahead prices or, if there "
             "are none, the operator's own forecast (see `basis`). Returns the block's mean and rank, the next best "
             "blocks, and whether the block includes the current interval. With `slots`, returns the best single "
             "intervals. With `kwh` and `kw`, also returns the cost. If no values are known ahead, `available` is "
             "false and no payment is charged. For the method, see /docs/windows.",
             takes(query.HOURS, query.SLOTS, query.KWH, query.KW, query.FROM, query.TO, query.WITHIN, query.BETWEEN,
                   query.FIND, query.WINDOW_METRIC), _ALL,
             "0.005", "The cheapest or most expensive hours among one zone's known future prices"),
    Endpoint("records", "/v1/records/{zone}", "Now", "Records", "Records of a series",
             "Returns the highest value, the lowest value and the longest run of negative prices, for all time and for "
             "each calendar year. Each record has its time and the first day of available history. Updated once a day: "
             "if a publisher corrects a record value, the next update removes it. For the method, see /docs/records.",
             takes(query.RECORDS_METRIC), _ALL,
             "0.002", "Highest, lowest and longest negative run of one zone's series, for all time and by year"),
    Endpoint("all-records", "/v1/records", "Now", "AllRecords", "Records of all zones",
             "Returns, for every zone and calendar year, the hours below zero and the sum of their prices, the longest "
             "run of negative prices, and the highest and the lowest value. The current year also has the same period "
             "of the year before. The request counts once against a key's quota. Paid per call, it costs the "
             "single-zone price for each zone. A sample contains the first five zones. For the method, see "
             "/docs/records.",
             takes(query.RECORDS_METRIC), (),
             "0.002", "Records by year of all zones at once; the price is per zone"),
    Endpoint("bulk", "/v1/bulk", "Free", "Bulk", "List monthly files",
             "Lists every monthly file that may be redistributed: one per zone, metric and UTC month, with its URL, "
             "row count, time range, size, SHA-256, licence and attribution, and whether it is final. "
             "`price-day-ahead` holds the day-ahead auction for zones where it is a separate series. If you send a "
             "key, the URLs are signed and work without the key for one hour; downloads through them count against "
             "your key. For a guide, see /docs/bulk.",
             takes(query.BULK_ZONE, query.BULK_METRIC, query.BULK_SINCE), more_statuses=(401,)),
    Endpoint("bulk-datapackage", "/v1/bulk/datapackage.json", "Free", "DataPackage", "Monthly files as a Data Package",
             "Returns the files of `/v1/bulk` as resources of a Frictionless Data Package, with hashes, schema and "
             "licences."),
    Endpoint("bulk-croissant", "/v1/bulk/croissant.json", "Free", "Croissant", "Monthly files as a Croissant dataset",
             "Returns the files of `/v1/bulk` as a Croissant dataset, with one record set per metric."),
    Endpoint("bulk-file", "/v1/bulk/{metric}/{zone}/{month}.parquet", "Bulk", "Document", "Download a monthly file",
             "Returns all rows of one metric and zone for one UTC month, as Parquet. `ETag` is the SHA-256 of the "
             "file. Range requests are supported. The final files of one zone, metric and calendar year count once "
             "per key and day. Any other file also counts once per key and day: repeated or partial downloads of the "
             "same content are not counted again. HEAD requests are never counted. A payment covers the whole file. A "
             "sample contains the newest 50 rows.", takes(query.SIGNATURE), _ALL,
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
    Endpoint("sign-up", "/v1/keys/signup", "Keys", "Key", "Create an API key",
             "Creates a free key for 500 requests per UTC day to the paid paths. The key is shown only once. Each "
             "e-mail address can have three active keys. If the operator requires confirmation, `confirmed` is false "
             "and the key works after you open the link in the e-mail.",
             method="POST", body="SignUp", code=201, more_statuses=(409,)),
    Endpoint("confirm", "/v1/keys/confirm", "Keys", "Confirmed", "Confirm an API key",
             "Activates the key for which the link was sent. If the Authorization header has another key of the same "
             "address, activates that key instead.",
             takes(query.CONFIRMATION), more_statuses=(404, 409)),
    Endpoint("rotate", "/v1/keys/rotate", "Keys", "Rotated", "Rotate an API key",
             "Replaces the key in the request with a new one that has the same quota and usage. The old key works for "
             "another 24 hours.", method="POST", code=201, keyed=True, more_statuses=(409,)),
    Endpoint("usage", "/v1/usage", "Keys", "Usage", "Get key usage",
             "Returns the remaining quota for today of the key in the Authorization header.", keyed=True),
    Endpoint("revoke", "/v1/keys/current", "Keys", "", "Revoke an API key",
             "Revokes the key in the Authorization header.", method="DELETE", code=204, keyed=True),
)
_WEBHOOKS = (
    Endpoint("subscribe", "/v1/webhooks", "Webhooks", "NewWebhook", "Create a webhook",
             "Subscribes a public https address to messages about changed rows, prices beyond a threshold, band "
             "changes in the brief, stale data and complete day-ahead auctions. Messages are signed as Standard "
             "Webhooks. The signing secret is shown only once. Each key can have ten webhooks. For a guide, see "
             "/docs/webhooks.",
             method="POST", body="Subscription", code=201, keyed=True, more_statuses=(409,)),
    Endpoint("webhooks", "/v1/webhooks", "Webhooks", "Webhooks", "List webhooks",
             "Lists the webhooks of the key in the Authorization header, with their delivery status.", keyed=True),
    Endpoint("webhook", "/v1/webhooks/{webhook}", "Webhooks", "Webhook", "Get a webhook",
             "Returns one webhook with its delivery status.", keyed=True),
    Endpoint("unsubscribe", "/v1/webhooks/{webhook}", "Webhooks", "", "Delete a webhook",
             "Deletes a webhook and discards its pending messages.", method="DELETE", code=204, keyed=True),
    Endpoint("test-webhook", "/v1/webhooks/{webhook}/test", "Webhooks", "TestedWebhook", "Send a test message",
             "Queues a message of type `test` after the pending messages. The pipeline delivers it.",
             method="POST", code=202, keyed=True, more_statuses=(409,)),
)
_TEXTS = {
    "llms": "Describes this service for language models.",
    "agents": "Describes how AI agents can use this service.",
}
_DISCOVERY = (
    Endpoint("catalogue", "/catalog", "Discovery", "Catalogue", "Catalogue",
             "Returns all zones and metrics with unit, resolution, market, feeds by rank, licence, time range and row "
             "count, and every path with its price."),
    Endpoint("openapi", "/openapi.json", "Discovery", "Document", "OpenAPI description",
             "Returns the OpenAPI 3.1 description of every path."),
    *(Endpoint(f"{name}{place}", f"/{folder}{name}.txt", "Discovery", "Text", f"{name}.txt", words, media=_TEXT)
      for name, words in _TEXTS.items() for place, folder in (("", ""), ("-well-known", ".well-known/"))),
    Endpoint("x402-json", "/.well-known/x402.json", "Discovery", "Document", "Paid paths",
             "Lists every paid path with its price (x402)."),
    Endpoint("x402", "/.well-known/x402", "Discovery", "Document", "Paid paths (old address)",
             "Returns the same document as `/.well-known/x402.json`."),
    Endpoint("api-catalog", "/.well-known/api-catalog", "Discovery", "Document", "API catalogue",
             "Links to the descriptions of this API (RFC 9727).", media=("application/linkset+json",)),
    Endpoint("security-txt", "/.well-known/security.txt", "Discovery", "Text", "security.txt",
             "Names the contact for reporting vulnerabilities (RFC 9116).", media=_TEXT),
    Endpoint("robots", "/robots.txt", "Discovery", "Text", "robots.txt", "Lists the paths that crawlers may fetch.",
             media=_TEXT),
    Endpoint("guide", "/docs/{page}", "Discovery", "Text", "Documentation page",
             "Returns a page of the documentation.", media=_HTML),
    Endpoint("example", "/docs/examples/{file}", "Discovery", "Text", "Example file",
             "Downloads a configuration example. Replace the service address, zone and key with your own.",
             media=_TEXT),
    Endpoint("picture", "/og.png", "Discovery", "Document", "Map image",
             "Returns an image of the map: each zone coloured by the rank of its price within its last 30 days, at the "
             "time of the last publication.", media=("image/png",)),
    Endpoint("sitemap", "/sitemap.xml", "Discovery", "Text", "sitemap.xml", "Lists the pages of this service.",
             media=("application/xml",)),
    Endpoint("docs", "/docs", "Discovery", "Text", "API reference", "Returns this API description as a web page.",
             media=_HTML),
    Endpoint("problem", "/problems/{kind}", "Discovery", "Text", "Error type",
             "Explains an error `type` and how to fix it.", media=_HTML),
)
_OPERATION = (
    Endpoint("healthz", "/healthz", "Service", "Alive", "Liveness",
             "Returns 200 if the process is running. Nothing else is checked."),
    Endpoint("readyz", "/readyz", "Service", "Ready", "Readiness",
             "Returns 200 if the catalogue can be read. Its age is not checked."),
    Endpoint("metrics", "/metrics", "Service", "Text", "Prometheus metrics",
             "Exports request counts, build and version, free disk space, memory, payments by state and pending "
             "webhook messages. By feed and zone, also exports the newest row, when the next one is due, and the last "
             "success. Requires EMDS_METRICS_TOKEN as a bearer token.", media=_TEXT, token=True),
)
_LAYERS = {
    "zones": "Returns the zone boundaries at two levels of detail. Use `at` to find the zone that contains a point."
             + (" The `pmtiles` format returns vector tiles in a single file (layer `zones`, `promoteId: id`), which "
                "MapLibre reads with range requests." if NAME_OF_SET else ""),
    "interconnectors": "Returns the lines between zones, each with the zone IDs at its two ends.",
    "plants": "Returns power plants as points with capacity, fuel and zone."
              + ("" if NAME_OF_SET == SPEC else " The zones that EMDS_ZONES adds have none."),
    "live": "Returns each zone with its latest price, demand, net import and carbon intensity, and the band of each "
            "value within the zone's last 30 days. `flows` holds the latest flow on each border. Values are rounded to "
            "whole currency units, 100 MW and 10 g (`rounded: true`); use `/v1/map/snapshot` for exact values. Updated "
            "with each publication.",
    "flows": "Returns the interconnectors with their latest flow: `mw` runs from `from` to `to`, and so does the "
             "geometry. If the flow of a line is not published, `mw` is null; `border_mw` then has the flow of its "
             "whole border, if that is known. Values are rounded to 100 MW.",
}
_ANSWERS = {layer: f"{layer.title().removesuffix('s')}Layer" for layer in _LAYERS}
"""The schema of each layer."""
_OGC = (
    Endpoint("ogc-landing", geo.ROOT, "Free", "OgcLanding", "OGC API Features landing page",
             "Returns the landing page. Add this URL as a service in QGIS or ArcGIS."),
    Endpoint("ogc-conformance", f"{geo.ROOT}/conformance", "Free", "OgcConformance",
             "OGC API conformance classes", "Lists the supported conformance classes: Part 1 Core, and GeoJSON."),
    Endpoint("ogc-collections", f"{geo.ROOT}/collections", "Free", "OgcCollections",
             "List map layers as collections",
             "Lists the map layers as OGC collections, each with its extent and links."),
)
# fmt: on


def _layer(layer: str) -> tuple[Endpoint, ...]:
    """Return the path of a geo layer, and a path with the file extension of each of its formats."""
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
        summary=f"{whole.summary} as {geo.FORMAT_NAMES[suffix]}",
        parameters={name: parameter for name, parameter in whole.parameters.items() if name != "format"},
        media=(geo.MEDIA[suffix],),
    )
    if suffix not in geo.UNCUT:
        return of_file
    return replace(of_file, answer="Document", parameters={"detail": whole.parameters["detail"]}, more_statuses=(416,))


def _collection(name: str) -> tuple[Endpoint, Endpoint, Endpoint]:
    """Return a geo layer as a collection of OGC API Features."""
    title, path = geo.TITLES[name], f"{geo.ROOT}/collections/{name}"
    by_page = (
        "Returns features by page (`limit` and `offset`), with `numberMatched` and a link to the next page (OGC API "
        "Features)."
    )
    # fmt: off
    return (
        Endpoint(f"ogc-{name}", path, "Free", "OgcCollection", f"{title}: collection",
                 "Returns the extent and links of the collection (OGC API Features)."),
        Endpoint(f"ogc-{name}-items", f"{path}/items", "Free", _ANSWERS[name], f"{title}: list features", by_page,
                 geo.ITEM_PARAMETERS[name], media=_GEOJSON),
        Endpoint(f"ogc-{name}-item", f"{path}/items/{{feature}}", "Free", _ANSWERS[name].replace("Layer", "Feature"),
                 f"{title}: get a feature",
                 "Returns one feature by its ID.", media=_GEOJSON),
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
# Clients may add `sample` to any URL, so every path takes it, except files with a whole layer.
_WHOLE_FILES = {geo.MEDIA[suffix] for suffix in geo.UNCUT}
ENDPOINTS: dict[str, Endpoint] = {
    endpoint.id: endpoint
    if _WHOLE_FILES.issuperset(endpoint.media)
    else replace(endpoint, parameters={**endpoint.parameters, "sample": query.SAMPLE})
    for endpoint in _TABLE
}
"""The endpoints by operationId."""


def listing(catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """Return the body of `/catalog`: all published series, and every path with its price."""
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
