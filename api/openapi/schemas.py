"""What answers look like, as JSON Schema (2020-12): the components of the OpenAPI document, every member defined.

Market data is in `api.openapi.market_data`, layers in `api.openapi.geography`; here are files, changes, keys, webhooks,
the service itself.
"""

from __future__ import annotations

from api.access.webhooks import EVENTS
from api.openapi.geography import GEOGRAPHY
from api.openapi.market_data import MARKET_DATA
from api.openapi.members import WORDS, Member, Schema, choice, keyed, listed, or_null, record, text

# fmt: off
_URL_EVENTS: tuple[Member, ...] = (
    ("url", text(format="uri", maxLength=500), "Where to send messages: https, a public host."),
    ("events", listed(choice(*EVENTS)),
     "What to send: changes of rows, the latest price beyond `threshold`, a brief's band that moves, late data."),
)
_OF_ZONES, _THRESHOLD = (
    (listed("zone"), "Of these zones only; empty: of all."),
    (or_null("number"), "For `price.above` and `price.below`, in each zone's own currency per MWh."))
_WEBHOOK: tuple[Member, ...] = (
    ("id", "text", "The webhook's id."), *_URL_EVENTS, ("zones", *_OF_ZONES), ("threshold", *_THRESHOLD),
    ("created", "instant", "Unix seconds."),
    ("state", choice("good", "failing", "disabled"),
     "`failing`: tried again with growing pauses; `disabled`: after 24 hours without a delivery."),
    ("reason", or_null("text"), "Why the last try failed, or why it is disabled."),
    ("failing_since", or_null("instant"), "Unix seconds of the first failed try since the last delivery, if any."),
    ("next_attempt_at", or_null("instant"), "Unix seconds of the next try; null while all is well."),
    ("delivered", "whole", "Messages delivered."),
    ("last_delivery", or_null("instant"), "Unix seconds; null before the first."),
    ("waiting", "whole", "Messages still to deliver."),
    "docs",
)
_QUOTA: tuple[Member, ...] = (
    ("limit", "whole", "Answers a day."),
    ("window", text(const="day"), "The period that the quota counts."),
    ("resets_at", "instant", "Unix seconds at which the next day begins (UTC midnight)."),
)
_FEED: tuple[Member, ...] = (("id", "text", "The feed's id."), "source", "rank", "resolution", "withheld")
SCHEMAS: dict[str, Schema] = {
    **WORDS,
    **MARKET_DATA,
    **GEOGRAPHY,
    "BulkFile": record(
        "zone",
        ("metric", "FileMetric", "The stored series; `price_day_ahead` where the auction is a series of its own."),
        "month",
        ("rows", "whole", "Rows in the file, those of borders and fuels included."),
        ("first", "instant", "The `ts` of its first row."),
        ("last", "instant", "The `ts` of its last row."),
        ("bytes", "whole", "Length in bytes."),
        ("sha256", text(pattern="^[0-9a-f]{64}$"), "SHA-256 of its bytes, in hex: also its `ETag`."),
        ("changed_at", "instant", "When this service first listed these bytes."),
        ("sources", listed("text"), "Codes of the sources of its rows."),
        ("url", "text", "Address of the file."),
        "attribution", "license",
        ("final", "flag",
         "Whether the month is over and no schedule asks a publisher about it any more; a correction that is asked "
         "for by hand still gives it other bytes, and another hash.")),
    "Bulk": record(
        ("as_of", "instant", "Unix seconds when the files were listed."),
        "docs", "count",
        ("files", listed("BulkFile"), "By metric, zone and month. Without files that hold rows of a withheld source."),
        ("signed_until?", "instant", "When the addresses cease to open without a key; of a list asked with one."),
        "sample?"),
    "DataPackage": record(
        ("name", "text", "Name of the package."), "title",
        ("description", "text", "What the package holds."),
        ("homepage", "text", "How to read the files."),
        ("created", "text", "When the files were listed, ISO 8601 in UTC."),
        ("resources", listed("object"), "A resource of the Data Package standard for each file.")),
    "Croissant": {"type": "object"},
    "Document": {"type": "object"},
    "Publisher": record(
        "source", "feed", "month",
        ("complete", "flag", "Whether the month has ended."),
        ("asked", record(
            ("every_s", "whole", "Seconds between two scheduled runs."),
            ("runs", "whole", "Runs that asked."),
            ("requests", "whole", "Requests sent.")),
         "Requests to the publisher."),
        ("failures", record(
            ("total", "whole", "All failures."),
            ("by_kind", keyed("whole"), "Number by kind of failure.")),
         "Requests that failed."),
        "rows",
        ("intervals", or_null(record(
            ("due", "whole", "Intervals that were due."),
            ("missing", "whole", "Intervals without a row."),
            ("holes", "whole", "Unbroken runs of missing intervals."),
            ("longest_hole_s", "whole", "Seconds of the longest hole."))),
         "Intervals against the feed's own calendar; null where it has none."),
        ("late_s", record(
            "rows", ("unwatched", "whole", "Rows first seen by a back-fill, whose lateness is not known."),
            "median", "p95", "worst"),
         "Seconds from the end of an interval until its row was first seen."),
        ("revised", record(
            "rows",
            ("share", or_null("fraction"), "Share of the rows that were revised; null where no row was watched."),
            ("withdrawn", "whole", "Rows that the publisher took back."),
            ("after_s", record("median", "p95", "worst"), "Seconds from when a value was first seen to its revision."),
            ("by", or_null(listed(record(("metric", "text", "Metric of the rows."), "unit", "median", "p95", "worst"))),
             "Size of the revisions by metric and unit; null where there are none.")),
         "Values that the publisher changed.")),
    "Change": record(
        ("id", "text", "The cursor after this entry. Opaque; ascends."),
        ("at", "instant", "Unix seconds when the rows were in place."),
        "zone", "metric",
        ("market?", text(const="day_ahead"), "`day_ahead`: of the day-ahead auction's own rows (`?market=day_ahead`)."),
        ("feed", or_null("text"), "The feed that changed the rows; null: rights, ranks or damage changed them."),
        ("first", "instant", "`ts` of the first row touched."),
        ("last", "instant", "`ts` of the last row touched: read `[first, last]` again."),
        ("added", "whole", "Rows that were not served before."),
        ("changed", "whole", "Rows with another value, unit, resolution or source."),
        ("withdrawn", or_null("whole"), "Rows no longer served; null: of the whole month, how many is not known."),
        ("published", listed("text"), "Paths of the documents built from these rows, within the same run.")),
    "Changes": record(
        "count",
        ("entries", listed("Change"), "Oldest first."),
        ("next", "text", "The cursor to go on with: give it as `since`. Always there."),
        ("more", "flag", "Whether more entries follow: call again at once."),
        ("oldest", "text", "The cursor before the oldest entry."),
        "docs", "sample?"),
    "Publishers": record(
        ("as_of", "instant", "Unix seconds when this was computed."),
        "method", "docs",
        ("months", listed("text"), "The months that are known."),
        "count",
        ("publishers", listed("Publisher"), "One entry a feed and month."),
        ("scores", listed("ForecastScores"), "One entry a zone, metric and feed that forecasts it."),
        "sample?"),
    "ForecastScores": record(
        "zone", "metric", "feed", "source", "unit", "resolution", "basis", "start", "end",
        ("leads", listed(record(
            ("lead_s", "whole", "Seconds that the newest vintage was at least old when the interval began."),
            ("n", "whole", "Intervals scored; below 100 no figure is stated."),
            ("coverage", or_null("fraction"), "Share of the intervals with a reading, 0 to 1."),
            ("bias", or_null("number"), "Mean of forecast less reading, in `unit`."),
            ("mae", or_null("number"), "Mean absolute error, in `unit`."),
            ("rmse", or_null("number"), "Root of the mean squared error, in `unit`."),
            ("wape", or_null("number"), "Of demand: sum of absolute errors in per cent of the sum of readings."),
            ("skill", or_null("number"), "1 less the error as a share of that of the last whole day's same hour."))),
         "By how long ahead."),
        ("mae_by_hour", listed(or_null("number")),
         "Of what windows are searched by: `mae` at leads of 1, 2, ... 48 hours, as far as 100 intervals are there.")),
    "Subscription": record(*_URL_EVENTS, ("zones?", *_OF_ZONES), ("threshold?", *_THRESHOLD), closed=True),
    "Webhook": record(*_WEBHOOK),
    "NewWebhook": record(*_WEBHOOK, ("secret", "text", "Signs every message (Standard Webhooks). Shown once.")),
    "Webhooks": record("count", ("webhooks", listed("Webhook"), "The oldest first.")),
    "TestedWebhook": record(
        ("id", "text", "The webhook's id."),
        ("message", "text", "The `webhook-id` under which the message comes.")),
    "SignUp": record(
        ("email", text(format="email", maxLength=254), "Address that the key is for; at most three live keys each.")),
    "Key": record("api_key", "email", ("quota", record(*_QUOTA), "What the key may ask for."), "docs", "confirmed?"),
    "Confirmed": record("confirmed", "email", "docs"),
    "Rotated": record(
        "api_key", ("previous_valid_until", "instant", "Unix seconds until when the old key still works.")),
    "Usage": record(
        ("quota", record(
            *_QUOTA, ("used", "whole", "Answers given today."), ("remaining", "whole", "Answers left today.")),
         "What the key may ask for."),
        ("created", "instant", "Unix seconds when the key was created.")),
    "Alive": record(("status", text(const="ok"), "Outcome.")),
    "Ready": record(
        ("status", text(const="ready"), "Outcome."),
        ("catalogue", "instant", "Unix seconds when the catalogue was built.")),
    "CatalogueSeries": record(
        "unit",
        ("resolution", or_null("resolution"), "Length of the intervals of its first feed."),
        ("market", "text", "Hub or region and market of a price; empty for other metrics."),
        "hub",
        ("feeds", listed(record(
            *_FEED, ("origin", "text", "Whose figures they are first: feeds of one origin fail together."))),
         "The feeds that carry it, the best first."),
        ("independent_origins", "whole", "Origins that may be passed on."),
        ("source", "text", "Names of the publishers whose rows may be served."),
        "attribution", "license", "redistributable",
        ("first", or_null("instant"), "`ts` of the first row; null without rows."),
        ("last", or_null("instant"), "`ts` of the last row; null without rows."),
        ("rows", "whole", "Rows held."),
        ("silent_borders?", listed("text"), "Interchange: neighbours that are silent while other borders report.")),
    "Catalogue": record(
        "generated",
        ("mode", choice("simulated", "live", "recorded"), "Simulated, live, or from recordings."),
        ("zones", keyed(record(
            ("id", "zone", "Zone id."), "name", ("source", "text", "Names of the publishers that carry the zone."),
            "tz", "market_tz", "currency", "attribution", "license",
            ("headline", "text", "What `price` is here: hub or region, and market."),
            ("day_ahead", "text", "What `price?market=day_ahead` is here; empty where there is none."),
            ("day_ahead_metric", or_null("text"), "The stored metric behind it; null where there is none."),
            ("metrics", keyed("CatalogueSeries", "FileMetric"), "The series, by metric."),
            ("forecasts", keyed("CatalogueSeries", "metric"), "The publishers' forecasts (`kind=forecast`), alike.")),
            "zone"),
         "What is held, by zone."),
        ("sources", keyed(record(
            ("code", "text", "The source's code."), "name",
            ("homepage", "text", "Address of the publisher."),
            ("license", "text", "Licence, or what the terms say."),
            ("license_url", "text", "Where the terms stand."),
            "attribution", "redistributable", "withheld",
            ("configured", "flag", "Whether the credentials that it needs are set."),
            ("required_env", listed("text"), "Environment variables that hold those."),
            ("notes", listed("text"), "What a reader of its figures must know."))),
         "The publishers, by code."),
        ("feeds", keyed(record(
            *_FEED,
            ("title", "text", "What it is, in a sentence."),
            ("zones", listed("zone"), "The zones that it carries."),
            ("metrics", listed("text"), "The stored metrics that it carries, forecasts too."),
            ("tz", "text", "The clock of its market day (IANA)."),
            ("every_minutes", "whole", "Minutes between two scheduled runs."),
            ("since", text(format="date"), "First market day that it ever published."),
            ("ahead_days", "whole", "1 where tomorrow is published today."),
            ("reach_days", or_null("whole"), "Days back that it answers for; null for all."),
            "hub", ("yearly", "flag", "Whether its rows are years."),
            ("publication", record(
                ("lag_minutes", "integer", "Minutes from the end of an interval until it is out."),
                ("daily_at", or_null("text"), "Time of day, by `tz`, at which a whole day is out; null: rolling."),
                ("day_offset", "integer", "On which day that is: -1 the day before."),
                ("grace_minutes", "whole", "Minutes after which it counts as late.")),
             "When its rows are out."))),
         "The feeds, by id."),
        ("endpoints", listed(record(
            ("id", "text", "operationId of the path."),
            ("method", "text", "HTTP method."),
            ("path", "text", "Path with its variable parts in braces."),
            ("url", "text", "Address."),
            ("summary", "text", "What it is, in a sentence."),
            ("access", choice("free", "paid", "key", "token"), "`paid`: key, payment or sample; `key`: about itself."),
            ("price_usd?", "text", "Price of a call in USD, for paid paths."),
            ("zones", listed("zone"), "What `{zone}` may be."),
            ("parameters", listed("text"), "Names of its query parameters."))),
         "Every path with its price."),
        "sample?"),
    "Problem": record(
        ("type", text(format="uri"), "Address of a page that explains this kind of problem."),
        ("title", "text", "The kind of problem."),
        ("status", {"type": "integer", "minimum": 400, "maximum": 599}, "HTTP status."),
        "detail",
        ("instance", "text", "The request id, also in the log and in `X-Request-Id`."),
        ("errors?", listed(record(
            ("parameter", "text", "Name of the parameter."),
            ("code", "text", "`unknown`, `repeated`, `invalid`, `out-of-range` or `conflict`."),
            "detail")),
         "The invalid parameters."),
        ("zones?", listed("zone"), "The zones that are valid here.")),
    "PaymentRequired": record(
        ("x402Version", {"type": "integer", "const": 1}, "Version of the x402 protocol."),
        ("error", "text", "Why payment is required, and what else gives access."),
        ("accepts", listed("object"), "The ways to pay, as x402 states them; empty where payments are not taken.")),
}
# fmt: on
"""By the name that OpenAPI's components give them. Members that are not required stand only where they apply."""
