"""Define the schemas of responses as JSON Schema (2020-12): the components of the OpenAPI document.

Every field is defined. `api.openapi.market_data` contains market data and `api.openapi.geography` layers. This module
contains files, changes, keys, webhooks and the service itself.
"""

from __future__ import annotations

from api.access.webhooks import EVENTS
from api.openapi.documents import CATALOGUE, extended
from api.openapi.geography import GEOGRAPHY
from api.openapi.market_data import MARKET_DATA
from api.openapi.members import WORDS, Member, Schema, choice, keyed, listed, or_null, record, text

# fmt: off
_URL_EVENTS: tuple[Member, ...] = (
    ("url", "Where to send messages: https, a public host.", text(format="uri", maxLength=500)),
    ("events", "Changes of rows, the latest price beyond `threshold`, a brief's band that moves, late data, or a "
     "complete day-ahead auction.",
     listed(choice(*EVENTS))),
)
_OF_ZONES, _THRESHOLD = (
    ("Of these zones only; empty: of all.", listed("zone")),
    ("For `price.above` and `price.below`, in each zone's own currency per MWh.", "number?"))
_WEBHOOK: tuple[Member, ...] = (
    ("id", "Webhook ID.", "text"), *_URL_EVENTS, ("zones", *_OF_ZONES), ("threshold", *_THRESHOLD),
    ("created", "Unix seconds.", "instant"),
    ("state", "`failing`: tried again with growing pauses; `disabled`: after 24 hours without a delivery.",
     choice("active", "failing", "disabled")),
    ("reason", "Why the last attempt failed, or why the webhook is disabled.", "text?"),
    ("failing_since", "Time of the first failed attempt since the last delivery, Unix seconds; null without one.",
     "instant?"),
    ("next_attempt_at", "Time of the next attempt, Unix seconds; null without failures.", "instant?"),
    ("delivered", "Number of delivered messages.", "whole"),
    ("last_delivery", "Time of the last delivery, Unix seconds; null before the first.", "instant?"),
    ("waiting", "Number of pending messages.", "whole"),
    "docs",
)
_SPREAD: tuple[Member, ...] = ("median", "p95", ("max", "The largest value; null without rows.", "number?"))
_QUOTA: tuple[Member, ...] = (
    ("limit", "Requests per day.", "whole"),
    ("window", "Period of the quota.", text(const="day")),
    ("resets_at", "Start of the next day (UTC midnight), Unix seconds.", "instant"),
)
SCHEMAS: dict[str, Schema] = {
    **WORDS,
    **MARKET_DATA,
    **GEOGRAPHY,
    **{name: schema for name, schema in CATALOGUE.items() if name != "PublishedCatalogue"},
    "BulkFile": record(
        "zone",
        ("metric", "Stored series; `price_day_ahead` if the auction has its own series.", "FileMetric"),
        "month",
        ("rows", "Number of rows in the file, including those of borders and fuels.", "whole"),
        ("first", "The `ts` of its first row.", "instant"),
        ("last", "The `ts` of its last row.", "instant"),
        ("bytes", "Length in bytes.", "whole"),
        ("sha256", "SHA-256 of the file in hexadecimal; also its `ETag`.", text(pattern="^[0-9a-f]{64}$")),
        ("changed_at", "Time when this service first listed this content, Unix seconds.", "instant"),
        ("sources", "Codes of the sources of its rows.", listed("text")),
        ("url", "URL of the file.", "text"),
        "attribution", "license",
        ("final",
         "Whether the month is over and no schedule fetches it any more. A manual backfill can still change the file "
          "and "
         "its hash.", "flag")),
    "Bulk": record(
        ("as_of", "Time of the list, Unix seconds.", "instant"),
        "docs", "count",
        ("files", "Files in order of metric, zone and month, without files that contain rows of a withheld source.",
         listed("BulkFile")),
        ("signed_until?", "Time until which the signed URLs work, Unix seconds; only for a request with a key.",
         "instant"),
        "sample?"),
    "DataPackage": record(
        ("name", "Name of the package.", "text"), "title",
        ("description", "Contents of the package.", "text"),
        ("homepage", "URL of the guide to the files.", "text"),
        ("created", "Time of the list, ISO 8601 in UTC.", "text"),
        ("resources", "A resource of the Data Package standard for each file.", listed("object"))),
    "Croissant": {"type": "object"},
    "Document": {"type": "object"},
    "Publisher": record(
        "source", "feed", "month",
        ("complete", "Whether the month has ended.", "flag"),
        ("requests", "Requests sent to the publisher.", record(
            ("poll_interval_s", "Seconds between two scheduled fetches.", "whole"),
            ("runs", "Number of fetch runs.", "whole"),
            ("count", "Number of requests sent.", "whole"))),
        ("failures", "Requests that failed.", record(
            ("total", "All failures.", "whole"),
            ("by_kind", "Number by kind of failure.", keyed("whole")))),
        "rows",
        ("intervals", "Intervals against the feed's own calendar; null where it has none.", or_null(record(
            ("due", "Intervals that were due.", "whole"),
            ("missing", "Intervals without a row.", "whole"),
            ("gap_count", "Number of gaps.", "whole"),
            ("longest_gap_s", "Length of the longest gap in seconds.", "whole")))),
        ("delay_s", "Delay in seconds from the usual publication time until the row was first seen. Negative if it was "
         "early.", record(
             "rows",
             ("unmeasured", "Rows whose delay is unknown, because this service was not polling the feed when they were "
              "published.", "whole"),
             *_SPREAD)),
        ("revised", "Values that the publisher changed.", record(
            "rows",
            ("share", "Share of the rows that were revised; null if no row was watched.", "fraction?"),
            ("withdrawn", "Rows that the publisher withdrew.", "whole"),
            ("revision_delay_s", "Seconds from the first value to its revision.", record(*_SPREAD)),
            ("by", "Size of the revisions; null if the source is withheld.", or_null(listed(record(
                ("metric", "Metric of the rows.", "text"), "unit", *_SPREAD))))))),
    "Change": record(
        ("id", "Cursor after this entry. Opaque, ascending.", "text"),
        ("at", "Time when the rows were in place, Unix seconds.", "instant"),
        "zone", ("metric", "Metric of the rows; `carbon_estimate` is a separate series.", "FileMetric"),
        ("market?", "`day_ahead` for rows of the day-ahead auction (`?market=day_ahead`).", text(const="day_ahead")),
        ("feed", "Feed that changed the rows; null if permissions, ranks or damage changed them.", "text?"),
        ("first", "`ts` of the first affected row.", "instant"),
        ("last", "`ts` of the last affected row. Read `[first, last]` again.", "instant"),
        ("added", "Rows that were not served before.", "whole"),
        ("changed", "Rows with another value, unit, resolution or source.", "whole"),
        ("withdrawn", "Rows no longer served; null if any row of the month may have changed.", "whole?"),
        ("published", "Paths of the documents built from these rows, within the same run.", listed("text"))),
    "Changes": record(
        "count",
        ("entries", "Entries, oldest first.", listed("Change")),
        ("next", "Cursor for the next request: pass it as `since`. Always present.", "text"),
        ("more", "Whether more entries exist. Request them immediately.", "flag"),
        ("oldest", "Cursor before the oldest entry.", "text"),
        "docs", "sample?"),
    "Publishers": record(
        ("as_of", "Time of the measurement, Unix seconds.", "instant"),
        "method", "docs",
        ("months", "Measured months.", listed("text")),
        "count",
        ("publishers", "One entry per feed and month.", listed("Publisher")),
        ("scores", "One entry per zone, metric, fuel and feed that forecasts it.", listed("ForecastScores")),
        ("shares", "One entry per zone with a share of wind and solar in demand.", listed(record(
            "zone", "source", "unit", "start", "end",
            ("mae_by_hour", "Mean absolute error 1, 2, ... 48 hours ahead, in percentage points.",
             listed("number?"))))),
        "sample?"),
    "ForecastScores": record(
        "zone", "metric",
        ("fuel?", "For forecasts of the mix: the fuel.", "text"),
        "feed", "source", "unit", "resolution", "basis", "start", "end",
        ("leads", "Scores by lead.", listed(record(
            ("lead_s", "Minimum seconds from publication to the start of the interval.", "whole"),
            ("n", "Number of intervals; below 100 the other values are null.", "whole"),
            ("coverage", "Share of the intervals with an actual value, 0 to 1.", "fraction?"),
            ("bias", "Mean of forecast minus actual value, in `unit`.", "number?"),
            ("mae", "Mean absolute error, in `unit`.", "number?"),
            ("rmse", "Root of the mean squared error, in `unit`.", "number?"),
            ("wape", "For demand: sum of absolute errors as a percentage of the sum of actual values.", "number?"),
            ("skill", "1 minus the ratio of the error to that of the same hour of the last complete day.", "number?"),
            ("mae_pct_of_capacity?", "For the mix: `mae` as a percentage of the installed capacity, if known.",
             "number?")))),
        ("mae_by_hour", "For metrics of windows: `mae` 1, 2, ... 48 hours ahead, if known.", listed("number?"))),
    "Subscription": record(*_URL_EVENTS, ("zones?", *_OF_ZONES), ("threshold?", *_THRESHOLD), closed=True),
    "Webhook": record(*_WEBHOOK),
    "NewWebhook": record(
        *_WEBHOOK, ("secret", "Secret that signs every message (Standard Webhooks). Shown once.", "text")),
    "Webhooks": record("count", ("webhooks", "Webhooks, oldest first.", listed("Webhook"))),
    "TestedWebhook": record(
        ("id", "Webhook ID.", "text"),
        ("message", "The `webhook-id` of the message.", "text")),
    "SignUp": record(
        ("email", "E-mail address for the key; at most three active keys each.", text(format="email", maxLength=254))),
    "Key": record(
        "api_key", "email", ("quota", "Quota of the key.", record(*_QUOTA)), "docs", "confirmed?",
        "next_step?"),
    "Confirmed": record("confirmed", "email", "docs"),
    "Rotated": record(
        "api_key", ("previous_valid_until", "Time until which the old key works, Unix seconds.", "instant")),
    "Usage": record(
        ("quota", "Quota of the key.", record(
            *_QUOTA, ("used", "Requests used today.", "whole"), ("remaining", "Requests left today.", "whole"))),
        ("created", "Time when the key was created, Unix seconds.", "instant")),
    "Alive": record(("status", "Outcome.", text(const="ok"))),
    "Ready": record(
        ("status", "Outcome.", text(const="ready")),
        ("catalogue", "Time when the catalogue was built, Unix seconds.", "instant")),
    "Catalogue": extended(
        CATALOGUE["PublishedCatalogue"],
        ("endpoints", "Every path with its price.", listed(record(
            ("id", "operationId of the path.", "text"),
            ("method", "HTTP method.", "text"),
            ("path", "Path with its variable parts in braces.", "text"),
            ("url", "URL.", "text"),
            ("summary", "Summary in one sentence.", "text"),
            ("access", "`free`; `paid` (key, payment or sample); `key` (requires a key); `token` (requires the "
             "operator's token).", choice("free", "paid", "key", "token")),
            ("price_usd?", "Price per request in USD, for paid paths.", "text"),
            ("zones", "Valid values of `{zone}`.", listed("zone")),
            ("parameters", "Names of its query parameters.", listed("text"))))),
        "sample?"),
    "Problem": record(
        ("type", "URL of a page that explains this problem type.", text(format="uri")),
        ("title", "Problem type.", "text"),
        ("status", "HTTP status.", {"type": "integer", "minimum": 400, "maximum": 599}),
        "detail",
        ("instance", "Request ID, also in the log and in `X-Request-Id`.", "text"),
        ("errors?", "The invalid parameters.", listed(record(
            ("parameter", "Name of the parameter.", "text"),
            ("code", "`missing`, `unknown`, `repeated`, `missing`, `invalid`, `out-of-range` or `conflict`.", "text"),
            "detail"))),
        "filling?",
        ("zones?", "Zones that are valid here.", listed("zone"))),
    "PaymentRequired": record(
        ("x402Version", "Version of the x402 protocol.", {"type": "integer", "const": 1}),
        ("error", "Why payment is required, and the alternatives.", "text"),
        ("accepts", "Payment options in the format of x402; empty if payments are disabled.", listed("object"))),
}
# fmt: on
"""Schemas by the name of their OpenAPI component. Optional fields are present only if they apply."""
