"""The query parameters of the series, the snapshot and the samples: what each takes and means."""

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
"""Metrics as the paths of month files spell them: `price-day-ahead`, `carbon-intensity`."""
CHANGE_CURSOR = re.compile(f"{CURSOR_PATTERN}|now")
MONTH_PATTERN = "[0-9]{4}-(0[1-9]|1[0-2])"

# fmt: off
SAMPLE = yes_no(
    "sample", "A free, truncated answer without credentials: at most 50 rows or features, one block of a brief.")
START = moment(
    "start", f"First instant of the window: {FORMS}. A date, month or year is its first midnight. Default: 24 hours "
    "before `end`.", "-24h")
END = moment(
    "end", "End of the window, exclusive, written as `start`: `start=2026-11-20&end=2026-11-21` is one day. Default: "
    "now; where `start` lies in the future, 24 hours after it.")
LIMIT = whole(
    "limit", "Most rows in the answer: the first ones of the window, in `order`.", 1, MOST_ROWS, DEFAULT_LIMIT)
ORDER = choice("order", "`asc`: oldest first; `desc`: newest first.", ("asc", "desc"), "asc")
AS_OF = moment(
    "as_of", "The rows as this service knew them at that instant. One of the last ten seconds is put back to ten "
    "seconds ago, and the answer states the instant used, so that the same question always gets the same answer; a "
    "later one is refused. Default: the newest knowledge.")
INTERVAL = choice(
    "interval", "Time-weighted means over UTC hours (`1h`) or the zone's civil days (`1d`), ISO weeks (`1w`), months "
    "(`1mo`) or years (`1y`), each row with `samples` and `coverage`, from days on with its civil `date`. An interval "
    "of which less than half is covered is left out; once it has begun, `gaps` list it with its `coverage`. `stored`: "
    "the rows themselves.", list(LONGEST), unset="original")
TIME = choice(
    "time", "Adds `time` to every row, RFC 3339: `utc`, or `local` in the zone's civil time with its offset. "
    "`unix`: `ts` alone.", ("utc", "local"), unset="unix")
# Any text is taken here: one that names no format is a 406, not a 400.
FORMAT = Parameter(
    "format", "The answer's format; goes before Accept.", str.lower, {"type": "string", "enum": list(formats.MEDIA)},
    example="json")
MARKET = choice(
    "market", "`day_ahead`: the day-ahead auction instead of the zone's headline price; 404 for GB and AU.",
    ("day_ahead",), unset="headline")
BY = choice("by", "`border`: one row for each border or tie instead of the zone's net.", ("border",),
    unset="net")
BASIS = choice("basis", "`estimate`: the estimate from the generation mix of any zone, so that zones can be compared, "
    "with `low`, `high` and `factors`. `default`: published values if the zone has any. How it is made: /docs/carbon.",
    ("estimate",), unset="default")
CURSOR = or_unset(text(
    "cursor", 'Where a page goes on: from the `Link: rel="next"` of the page before. Opaque; `first`: the first page.',
    "^[A-Za-z0-9_-]{1,400}$", Cursor.from_text, "first"), "first")
ZONES_CURSOR = replace(CURSOR, schema={"type": "string", "pattern": "^[A-Za-z0-9_-]{1,600}$"})
SNAPSHOT_METRIC = words(
    "metric", "Only these metrics, with commas. Default: all. A sample keeps the price alone.",
    CURRENT, "price")
SNAPSHOT_ZONES = zones("zones", "Only these zones, with commas. Default: all.")
SOURCE = text("source", "Only feeds of this source, by its code: `elexon`.", "^[a-z_]{1,40}$", str, "elexon")
FEED = text("feed", "Only this feed: `elexon.price`.", "^[a-z0-9_.]{1,60}$", str, "elexon.price")
MONTH = text(
    "month", "Only this UTC month: `2026-11`.", f"^{MONTH_PATTERN}$", reader(MONTH_PATTERN, "a month such as 2026-11"),
    "2026-11")
BULK_ZONE = zones("zone", "Only files of these zones, with commas. Default: all.")
BULK_METRIC = words("metric", "Only files of these metrics, with commas. Default: all.", METRICS, "price")
BULK_SINCE = moment(
    "since", "Only files whose bytes are new since this instant, by `changed_at`; take the `as_of` of the list before. "
    "Written as `start`. Default: all.")
# Without a value of its own it is told from one that is sent; the default holds where neither slots nor kwh is.
HOURS = replace(hours(
    "hours", "Length of the block in hours, in steps of a quarter: `3`, `1.5`.", LONGEST_HOURS, 3 * HOUR), default=None)
SLOTS = or_unset(whole(
    "slots", "In place of `hours`: so many of the best intervals, next to each other or not; `none`: a block.",
    1, MOST_SLOTS), "none")
KWH = or_unset(number(
    "kwh", "In place of `hours`, with `kw`: the energy in kWh, or `none`. The answer has its `cost`.", positive=True),
    "none")
KW = or_unset(number("kw", "The power in kW that draws `kwh`, or `none`.", positive=True), "none")
FROM = moment(
    "from", "Where to begin to look; a time as `start` of the series. Default: the running interval.")
TO = or_unset(moment(
    "to", "Where to end, exclusive; as `from`. Not with `within`. `any`: as far as is known."), "any")
WITHIN = or_unset(hours(
    "within", "How far ahead to look, in hours from the running interval: `24h`. `any`: all that is known.", 96), "any")
BETWEEN = civil_times(
    "between", "Only between these times of the zone's civil day, in quarter hours, across midnight too: "
    "`22:00-07:00`.")
FIND = choice(
    "find", "`lowest`: the cheapest block. `highest`: the most expensive block. Default: `highest` with "
    "`metric=wind_solar`, else `lowest`.", ("lowest", "highest"))
WINDOW_METRIC = choice(
    "metric", "What is compared. Carbon intensity is known ahead in GB and DK-1; `wind_solar`, the share of wind and "
    "solar in demand, in Europe, GB and US-CAISO.",
    [*(metric for metric, of in metrics.METRICS.items() if of.in_windows), WIND_SOLAR], "price")
FORECAST = choice(
    "kind", "`forecast`: what the zone's own publisher expects, in place of readings, by default in the 24 hours from "
    "the start of this one; never both in one answer. How to read it: /docs/forecasts.", ("actual", "forecast"),
    "actual")
PUBLISHED_BEFORE = or_unset(moment(
    "published_before", "With `kind=forecast`: of each interval the newest forecast that was published by then. "
    "Default: now."), "now")
LEAD = or_unset(hours(
    "lead", "With `kind=forecast`: of each interval the newest forecast that was published at least so long before it "
    f"begins, `24h`. Up to {LONGEST_AHEAD_DAYS * 24}. `any`: however long before.", LONGEST_AHEAD_DAYS * 24, zero=True),
    "any")
VINTAGES = choice(
    "vintages", "With `kind=forecast`: `all` forecasts of each interval, by `ts`, then `published_at`; windows of at "
    "most three days. `newest`: one of each interval.", ("all",), unset="newest")
RECORDS_METRIC = choice("metric", "Whose records.", [*SCALAR], "price")
STATS = yes_no("stats", "`true`: statistics of the window in place of its rows; windows up to ten years.")
ABOVE = number("above", "With `stats=true`: also the time spent above this value.")
BELOW = number("below", "With `stats=true`: also the time spent below this value.")
_TIME = moment("", "")
SINCE = Parameter(
    "since", "The cursor of the answer before (`next`): entries after it. `now`: none, and the cursor from which on to "
    "follow. A time, written as `start`: entries from then on. Default: all that is kept.",
    lambda text: text if CHANGE_CURSOR.fullmatch(text) else _TIME.read(text),
    {"anyOf": [{"type": "string", "pattern": f"^({CHANGE_CURSOR.pattern})$"}, *_TIME.schema["anyOf"]]},
    example="now")
CHANGED_ZONES = zones("zone", "Only these zones, with commas. Default: all.")
CHANGED_METRIC = choice("metric", "Only this metric; `price` with day-ahead rows.", (*PUBLIC, Metric.CARBON_ESTIMATE))
ENTRIES = whole("limit", "Most entries in the answer: the oldest after the cursor.", 1, 1000, 100)
SIGNATURE = text(
    "signature", "In place of a key, for an hour: part of the addresses that `/v1/bulk` gives who asks with a key.",
    SIGNATURE_PATTERN, str, f"1.1800000000.{'0' * 43}")
CONFIRMATION = replace(
    text("token", "The token in the link of the mail.", "^[A-Za-z0-9_-]{20,100}$", str, "0" * 43), required=True)
# fmt: on


def zones_of(metric: Metric) -> Parameter:
    """Zones with commas, or `all`; its value is None for `all`."""
    known = zones_with(metric)
    named = zones("zones", "The zones, with commas, or `all`: every zone that publishes it.", known)

    def read(text: str) -> tuple[str, ...] | None:
        return None if text.lower() == "all" else tuple(sorted(named.read(text)))

    schema = {"type": "array", "items": {"type": "string", "enum": [*known, "all"]}, "minItems": 1}
    examples = sorted(known, key=lambda zone: zone not in ("GB", "FR"))[:2]
    return replace(named, read=read, schema=schema, example=examples, required=True)
