"""Declare the query parameters of the series, the snapshot and the samples, with their values and meanings."""

from __future__ import annotations

import re
from dataclasses import replace

from api.access.signed_addresses import SIGNATURE_PATTERN
from api.http.parameters import (
    Parameter,
    choice,
    civil_times,
    hours,
    moment,
    number,
    or_unset,
    reader,
    text,
    whole,
    words,
    yes_no,
    zones,
)
from api.http.times import FORMS
from api.series import formats
from api.series.query import DEFAULT_LIMIT, MOST_ROWS, Cursor
from warehouse.figures.horizon import LONGEST_HOURS, MOST_SLOTS
from warehouse.figures.resample import LONGEST
from warehouse.figures.wind_solar import WIND_SOLAR
from warehouse.market import metrics
from warehouse.market.clock import HOUR
from warehouse.market.metrics import CURRENT, PUBLIC, SCALAR
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import zones_with
from warehouse.rows.forecasts import LONGEST_AHEAD_DAYS
from warehouse.series.change_log import CURSOR_PATTERN

METRICS: dict[str, Metric] = {metric.value.replace("_", "-"): metric for metric in Metric}
"""Metrics as the paths of monthly files spell them: `price-day-ahead`, `carbon-intensity`."""
CHANGE_CURSOR = re.compile(f"{CURSOR_PATTERN}|now")
MONTH_PATTERN = "[0-9]{4}-(0[1-9]|1[0-2])"

# fmt: off
SAMPLE = yes_no(
    "sample", "Return a free, truncated result without credentials: at most 50 rows or features, or one metric of a "
    "brief.")
START = moment(
    "start", f"Start of the window, included: {FORMS}. A date, week, month or year means its first midnight. Default: "
    "24 hours before `end`.", "-24h")
END = moment(
    "end", "End of the window, not included. Same formats as `start`; `start=2026-11-20&end=2026-11-21` is one day. "
    "Default: now, or 24 hours after `start` if `start` is in the future.")
LIMIT = whole(
    "limit", "Maximum number of rows. With `order=asc` the oldest rows of the window are returned, with `order=desc` "
    "the newest.", 1, MOST_ROWS, DEFAULT_LIMIT)
ORDER = choice("order", "`asc` returns the oldest rows first, `desc` the newest.", ("asc", "desc"), "asc")
AS_OF = moment(
    "as_of", "Return the rows as this service knew them at this time. A time within the last ten seconds is moved to "
    "ten seconds ago, so that the same request always returns the same result; the response states the time used. A "
    "future time is rejected. Default: the newest data.")
INTERVAL = choice(
    "interval", "Return time-weighted means over UTC hours (`1h`) or over days (`1d`), ISO weeks (`1w`), months "
    "(`1mo`) or years (`1y`) in the zone's civil time. Each row has `samples` and `coverage`, and for days and longer "
    "its civil `date`. Intervals with less than half coverage are omitted; `gaps` lists those that have started, with "
    "their `coverage`. `original` returns the original rows.", list(LONGEST), unset="original")
TIME = choice(
    "time", "Add `time` to every row in RFC 3339 format: `utc`, or `local` for the zone's civil time with its offset. "
    "`unix` returns only `ts`.", ("utc", "local"), unset="unix")
# Any text is accepted here, because an unknown format is a 406 and not a 400.
FORMAT = Parameter(
    "format", "Response format. Overrides the Accept header.", str.lower,
    {"type": "string", "enum": list(formats.MEDIA)}, example="json")
MARKET = choice(
    "market", "`day_ahead` returns the day-ahead auction instead of the zone's headline price. Not available for GB "
    "and AU zones (404).",
    ("day_ahead",), unset="headline")
BY = choice("by", "`border` returns one row per border or interconnector instead of the zone's net.", ("border",),
    unset="net")
BASIS = choice(
    "basis", "`estimate` returns the estimate from the generation mix, with `low`, `high` and `factors`, so that all "
    "zones can be compared. `default` returns published values if the zone has any. For the method, see /docs/carbon.",
    ("estimate",), unset="default")
CURSOR = or_unset(text(
    "cursor", 'Cursor of the next page, taken from `Link: rel="next"` of the previous response. Its content is opaque. '
    "`first` returns the first page.",
    "^[A-Za-z0-9_-]{1,400}$", Cursor.from_text, "first"), "first")
ZONES_CURSOR = replace(CURSOR, schema={"type": "string", "pattern": "^[A-Za-z0-9_-]{1,600}$"})
SNAPSHOT_METRIC = words(
    "metric", "Return only these metrics, separated by commas. Default: all. A sample returns only the price.",
    CURRENT, "price")
SNAPSHOT_ZONES = zones("zones", "Return only these zones, separated by commas. Default: all.")
SOURCE = text("source", "Return only feeds of this source, for example `elexon`.", "^[a-z_]{1,40}$", str, "elexon")
FEED = text("feed", "Return only this feed, for example `elexon.price`.", "^[a-z0-9_.]{1,60}$", str, "elexon.price")
MONTH = text(
    "month", "Return only this UTC month, for example `2026-11`.", f"^{MONTH_PATTERN}$",
    reader(MONTH_PATTERN, "a month such as 2026-11"), "2026-11")
BULK_ZONE = zones("zone", "Return only files of these zones, separated by commas. Default: all.")
BULK_METRIC = words(
    "metric", "Return only files of these metrics, separated by commas. Default: all.", METRICS, "price")
BULK_SINCE = moment(
    "since", "Return only files whose content changed after this time, by `changed_at`. Use the `as_of` of your "
    "previous list. Same formats as `start`. Default: all.")
# None shows that it was not sent; three hours apply if neither slots nor kwh is sent.
HOURS = replace(hours(
    "hours", "Length of the block in hours, in steps of 0.25, for example `3` or "
    "`1.5`.", LONGEST_HOURS, 3 * HOUR), default=None)
SLOTS = or_unset(whole(
    "slots", "Number of best intervals to return, adjacent or not, instead of a block of `hours`. `none` returns a "
    "block.",
    1, MOST_SLOTS), "none")
KWH = or_unset(number(
    "kwh", "Energy in kWh, used with `kw` instead of `hours`, or `none`. The response includes its `cost`.",
    positive=True),
    "none")
KW = or_unset(number("kw", "Power in kW at which `kwh` is used, or `none`.", positive=True), "none")
FROM = moment(
    "from", "Start of the search, in the formats of `start`. Default: the current interval.")
TO = or_unset(moment(
    "to", "End of the search, not included, in the formats of `start`. Cannot be combined with `within`. `any` "
    "searches as far as data is known."), "any")
WITHIN = or_unset(hours(
    "within", "How far ahead to search, in hours from the start of the current interval, for example `24h`. `any` "
    "searches all known data.", 96), "any")
BETWEEN = civil_times(
    "between", "Search only between these civil times of the zone, in quarter hours. A range may cross midnight: "
    "`22:00-07:00`.")
FIND = choice(
    "find", "`lowest` returns the cheapest block, `highest` the most expensive. Default: `highest` with "
    "`metric=wind_solar`, else `lowest`.", ("lowest", "highest"))
WINDOW_METRIC = choice(
    "metric", "Metric to compare. Carbon intensity is known ahead only in GB and DK-1; `wind_solar`, the share of wind "
    "and solar in demand, in Europe, GB and US-CAISO.",
    [*(metric for metric, of in metrics.METRICS.items() if of.in_windows), WIND_SOLAR], "price")
FORECAST = choice(
    "kind", "`forecast` returns the publisher's own forecast instead of actual values, by default for the 24 hours "
    "from the start of the current hour. A response never mixes the two. For a guide, see /docs/forecasts.",
    ("actual", "forecast"), "actual")
PUBLISHED_BEFORE = or_unset(moment(
    "published_before", "With `kind=forecast`: for each interval, return the newest forecast published by this time. "
    "Default: now."), "now")
LEAD = or_unset(hours(
    "lead", "With `kind=forecast`: for each interval, return the newest forecast published at least this long before "
    f"the interval starts, for example `24h`. Maximum: {LONGEST_AHEAD_DAYS * 24} hours. `any` returns forecasts of any "
    "lead time.", LONGEST_AHEAD_DAYS * 24, zero=True),
    "any")
VINTAGES = choice(
    "vintages", "With `kind=forecast`: `all` returns every forecast of each interval, sorted by `ts`, then "
    "`published_at`, for windows of at most three days. `newest` returns one per interval.", ("all",), unset="newest")
RECORDS_METRIC = choice("metric", "Metric of the records.", [*SCALAR], "price")
STATS = yes_no("stats", "`true` returns statistics of the window instead of its rows, for windows of up to ten years.")
ABOVE = number("above", "With `stats=true`: also return the time spent above this value.")
BELOW = number("below", "With `stats=true`: also return the time spent below this value.")
_TIME = moment("", "")
SINCE = Parameter(
    "since", "The `next` cursor of the previous response, to get later entries. `now` returns no entries, only a "
    "cursor to start from. A time in the formats of `start` returns entries from that time. Default: all entries kept.",
    lambda text: text if CHANGE_CURSOR.fullmatch(text) else _TIME.read(text),
    {"anyOf": [{"type": "string", "pattern": f"^({CHANGE_CURSOR.pattern})$"}, *_TIME.schema["anyOf"]]},
    example="now")
CHANGED_ZONES = zones("zone", "Return only these zones, separated by commas. Default: all.")
CHANGED_METRIC = choice(
    "metric", "Return only this metric. `price` includes day-ahead rows.", (*PUBLIC, Metric.CARBON_ESTIMATE))
ENTRIES = whole("limit", "Maximum number of entries, the oldest after the cursor first.", 1, 1000, 100)
SIGNATURE = text(
    "signature", "Replaces a key for one hour. Part of the URLs that `/v1/bulk` returns for requests with a key.",
    SIGNATURE_PATTERN, str, f"1.1800000000.{'0' * 43}")
CONFIRMATION = replace(
    text("token", "The token from the link in the confirmation e-mail.", "^[A-Za-z0-9_-]{20,100}$", str, "0" * 43),
    required=True)
# fmt: on


def zones_of(metric: Metric) -> Parameter:
    """Return a parameter for comma-separated zones, or `all`, whose value is None."""
    known = zones_with(metric)
    named = zones("zones", "Zones separated by commas, or `all` for every zone that publishes the metric.", known)

    def read(text: str) -> tuple[str, ...] | None:
        return None if text.lower() == "all" else tuple(sorted(named.read(text)))

    schema = {"type": "array", "items": {"type": "string", "enum": [*known, "all"]}, "minItems": 1}
    examples = sorted(known, key=lambda zone: zone not in ("GB", "FR"))[:2]
    return replace(named, read=read, schema=schema, example=examples, required=True)
