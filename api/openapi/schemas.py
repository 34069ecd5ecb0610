"""What answers look like, as JSON Schema (2020-12): the components of the OpenAPI document, every member defined.

Market data is in `api.openapi.market_data`, layers in `api.openapi.geography`; here are files, changes, keys, webhooks,
the service itself.
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
    ("id", "The webhook's id.", "text"), *_URL_EVENTS, ("zones", *_OF_ZONES), ("threshold", *_THRESHOLD),
    ("created", "Unix seconds.", "instant"),
    ("state", "`failing`: tried again with growing pauses; `disabled`: after 24 hours without a delivery.",
     choice("active", "failing", "disabled")),
    ("reason", "Why the last try failed, or why it is disabled.", "text?"),
    ("failing_since", "Unix seconds of the first failed try since the last delivery, if any.", "instant?"),
    ("next_attempt_at", "Unix seconds of the next try; null while all is well.", "instant?"),
    ("delivered", "Messages delivered.", "whole"),
    ("last_delivery", "Unix seconds; null before the first.", "instant?"),
    ("waiting", "Messages still to deliver.", "whole"),
    "docs",
)
_SPREAD: tuple[Member, ...] = ("median", "p95", ("max", "The largest value; null without rows.", "number?"))
_QUOTA: tuple[Member, ...] = (
    ("limit", "Answers a day.", "whole"),
    ("window", "The period that the quota counts.", text(const="day")),
    ("resets_at", "Unix seconds at which the next day begins (UTC midnight).", "instant"),
)
SCHEMAS: dict[str, Schema] = {
    **WORDS,
    **MARKET_DATA,
    **GEOGRAPHY,
    **{name: schema for name, schema in CATALOGUE.items() if name != "PublishedCatalogue"},
    "BulkFile": record(
        "zone",
        ("metric", "The stored series; `price_day_ahead` where the auction is a series of its own.", "FileMetric"),
        "month",
        ("rows", "Rows in the file, those of borders and fuels included.", "whole"),
        ("first", "The `ts` of its first row.", "instant"),
        ("last", "The `ts` of its last row.", "instant"),
        ("bytes", "Length in bytes.", "whole"),
        ("sha256", "SHA-256 of its bytes, in hex: also its `ETag`.", text(pattern="^[0-9a-f]{64}$")),
        ("changed_at", "When this service first listed these bytes.", "instant"),
        ("sources", "Codes of the sources of its rows.", listed("text")),
        ("url", "Address of the file.", "text"),
        "attribution", "license",
        ("final",
         "Whether the month is over and no schedule asks about it any more; a correction asked for by hand still gives "
         "it other bytes, and another hash.", "flag")),
    "Bulk": record(
        ("as_of", "Unix seconds when the files were listed.", "instant"),
        "docs", "count",
        ("files", "By metric, zone and month. Without files that hold rows of a withheld source.", listed("BulkFile")),
        ("signed_until?", "When the addresses cease to open without a key; of a list asked with one.", "instant"),
        "sample?"),
    "DataPackage": record(
        ("name", "Name of the package.", "text"), "title",
        ("description", "What the package holds.", "text"),
        ("homepage", "How to read the files.", "text"),
        ("created", "When the files were listed, ISO 8601 in UTC.", "text"),
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
            ("share", "Share of the rows that were revised; null where no row was watched.", "fraction?"),
            ("withdrawn", "Rows that the publisher took back.", "whole"),
            ("revision_delay_s", "Seconds from the first value to its revision.", record(*_SPREAD)),
            ("by", "Size of the revisions; null where there are none.", or_null(listed(record(
                ("metric", "Metric of the rows.", "text"), "unit", *_SPREAD))))))),
    "Change": record(
        ("id", "The cursor after this entry. Opaque; ascends.", "text"),
        ("at", "Unix seconds when the rows were in place.", "instant"),
        "zone", ("metric", "Metric of the rows; `carbon_estimate` is a series of its own.", "FileMetric"),
        ("market?", "`day_ahead`: of the day-ahead auction's own rows (`?market=day_ahead`).", text(const="day_ahead")),
        ("feed", "The feed that changed the rows; null: rights, ranks or damage changed them.", "text?"),
        ("first", "`ts` of the first row touched.", "instant"),
        ("last", "`ts` of the last row touched: read `[first, last]` again.", "instant"),
        ("added", "Rows that were not served before.", "whole"),
        ("changed", "Rows with another value, unit, resolution or source.", "whole"),
        ("withdrawn", "Rows no longer served; null: of the whole month, how many is not known.", "whole?"),
        ("published", "Paths of the documents built from these rows, within the same run.", listed("text"))),
    "Changes": record(
        "count",
        ("entries", "Oldest first.", listed("Change")),
        ("next", "The cursor to go on with: give it as `since`. Always there.", "text"),
        ("more", "Whether more entries follow: call again at once.", "flag"),
        ("oldest", "The cursor before the oldest entry.", "text"),
        "docs", "sample?"),
    "Publishers": record(
        ("as_of", "Unix seconds when this was computed.", "instant"),
        "method", "docs",
        ("months", "The months that are known.", listed("text")),
        "count",
        ("publishers", "One entry a feed and month.", listed("Publisher")),
        ("scores", "One entry per zone, metric, fuel and feed that forecasts it.", listed("ForecastScores")),
        ("shares", "One entry per zone with a share of wind and solar in demand.", listed(record(
            "zone", "source", "unit", "start", "end",
            ("mae_by_hour", "Mean absolute error 1, 2, ... 48 hours ahead, in percentage points.",
             listed("number?"))))),
        "sample?"),
    "ForecastScores": record(
        "zone", "metric",
        ("fuel?", "Of forecasts of the mix, the fuel that is scored.", "text"),
        "feed", "source", "unit", "resolution", "basis", "start", "end",
        ("leads", "By how long ahead.", listed(record(
            ("lead_s", "Seconds that the newest vintage was at least old when the interval began.", "whole"),
            ("n", "Intervals scored; below 100 no figure is stated.", "whole"),
            ("coverage", "Share of the intervals with a reading, 0 to 1.", "fraction?"),
            ("bias", "Mean of forecast less reading, in `unit`.", "number?"),
            ("mae", "Mean absolute error, in `unit`.", "number?"),
            ("rmse", "Root of the mean squared error, in `unit`.", "number?"),
            ("wape", "Of demand: sum of absolute errors in per cent of the sum of readings.", "number?"),
            ("skill", "1 less the error as a share of that of the last whole day's same hour.", "number?"),
            ("mae_pct_of_capacity?", "Of the mix: `mae` in percent of the installed capacity, if known.", "number?")))),
        ("mae_by_hour", "Of what windows search: `mae` 1, 2, ... 48 hours ahead, as far as known.", listed("number?"))),
    "Subscription": record(*_URL_EVENTS, ("zones?", *_OF_ZONES), ("threshold?", *_THRESHOLD), closed=True),
    "Webhook": record(*_WEBHOOK),
    "NewWebhook": record(*_WEBHOOK, ("secret", "Signs every message (Standard Webhooks). Shown once.", "text")),
    "Webhooks": record("count", ("webhooks", "The oldest first.", listed("Webhook"))),
    "TestedWebhook": record(
        ("id", "The webhook's id.", "text"),
        ("message", "The `webhook-id` under which the message comes.", "text")),
    "SignUp": record(
        ("email", "Address that the key is for; at most three live keys each.", text(format="email", maxLength=254))),
    "Key": record(
        "api_key", "email", ("quota", "What the key may ask for.", record(*_QUOTA)), "docs", "confirmed?",
        "next_step?"),
    "Confirmed": record("confirmed", "email", "docs"),
    "Rotated": record(
        "api_key", ("previous_valid_until", "Unix seconds until when the old key still works.", "instant")),
    "Usage": record(
        ("quota", "What the key may ask for.", record(
            *_QUOTA, ("used", "Answers given today.", "whole"), ("remaining", "Answers left today.", "whole"))),
        ("created", "Unix seconds when the key was created.", "instant")),
    "Alive": record(("status", "Outcome.", text(const="ok"))),
    "Ready": record(
        ("status", "Outcome.", text(const="ready")),
        ("catalogue", "Unix seconds when the catalogue was built.", "instant")),
    "Catalogue": extended(
        CATALOGUE["PublishedCatalogue"],
        ("endpoints", "Every path with its price.", listed(record(
            ("id", "operationId of the path.", "text"),
            ("method", "HTTP method.", "text"),
            ("path", "Path with its variable parts in braces.", "text"),
            ("url", "Address.", "text"),
            ("summary", "What it is, in a sentence.", "text"),
            ("access", "`paid`: key, payment or sample; `key`: about itself.", choice("free", "paid", "key", "token")),
            ("price_usd?", "Price of a call in USD, for paid paths.", "text"),
            ("zones", "What `{zone}` may be.", listed("zone")),
            ("parameters", "Names of its query parameters.", listed("text"))))),
        "sample?"),
    "Problem": record(
        ("type", "Address of a page that explains this kind of problem.", text(format="uri")),
        ("title", "The kind of problem.", "text"),
        ("status", "HTTP status.", {"type": "integer", "minimum": 400, "maximum": 599}),
        "detail",
        ("instance", "The request id, also in the log and in `X-Request-Id`.", "text"),
        ("errors?", "The invalid parameters.", listed(record(
            ("parameter", "Name of the parameter.", "text"),
            ("code", "`unknown`, `repeated`, `invalid`, `out-of-range` or `conflict`.", "text"),
            "detail"))),
        "filling?",
        ("zones?", "The zones that are valid here.", listed("zone"))),
    "PaymentRequired": record(
        ("x402Version", "Version of the x402 protocol.", {"type": "integer", "const": 1}),
        ("error", "Why payment is required, and what else gives access.", "text"),
        ("accepts", "The ways to pay, as x402 states them; empty where payments are not taken.", listed("object"))),
}
# fmt: on
"""By the name that OpenAPI's components give them. Members that are not required stand only where they apply."""
