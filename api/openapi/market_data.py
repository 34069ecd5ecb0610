"""Schemas of market data: zones, freshness, the present, rows, the brief, windows and statistics."""

from __future__ import annotations

from typing import get_args

from api.openapi.members import Member, Schema, choice, keyed, listed, or_null, record, ref, text
from api.series.formats import MOST_GAPS
from api.series.windows import REASONS
from warehouse.figures.context import Band

# fmt: off
_ROW: tuple[Member, ...] = (
    "fuel?", "ts", "date?", "time?", "value", "unit", "resolution", "counterparty?", "link?", "source?", "samples?",
    "coverage?",
)
_FORECAST_ROW: tuple[Member, ...] = (
    "ts", "time?", "value", "unit", "resolution", "source?", "basis",
    ("published_at", "instant", "Unix seconds when the publisher first said so; a repetition of the value is no row."),
    ("lead_s", "integer", "Seconds from `published_at` to `ts`; below 0 where the interval had begun."),
)
_PICKED: tuple[Member, ...] = (
    ("kind", text(const="forecast"), "`forecast`: what the publisher expects, no readings."),
    "metric", "start", "end", "count", "truncated", "cursor_only?", "sources", "as_of?", "sample?",
    ("published_before?", "instant", "Unix seconds: the newest forecast that was published by then."),
    ("lead?", "text", "The newest forecast that was published at least so long ahead: `24h`."),
    ("vintages?", text(const="all"), "`all`: every forecast of each interval."),
)
_BLOCK: tuple[str, ...] = ("start", "end", "mean", "min", "max", "rank", "vs_horizon_mean_pct")
_BY_ZONE: tuple[Member, ...] = (
    ("zones", listed("zone", minItems=1), "The zones of the answer, those without rows included."),
    ("known_since?", keyed("instant", "zone"),
     "Unix seconds by zone since when its rows are known; only where `as_of` is earlier: no gap is listed."),
    ("attribution", keyed("text", "zone"), "Attribution by zone. Show it wherever you show the data."),
    ("license", keyed("text", "zone"), "Licence by zone under which the data may be passed on."),
)
_BY: Member = ("by?", text(const="border"), "`border` where rows are those of borders and ties; absent for the net.")
_OF_PERIOD: Member = ("since", text(format="date"), "The first civil day of the period with history.")


def _rows(row: str, order: str) -> Member:
    meaning = f"Ascending by {order}; descending with `order=desc`. A missing interval has no row."
    return ("data", listed(row), meaning)


def _gaps(hole: str) -> Member:
    meaning = "Spans of the answer's window without a row that was due by the feeds' own calendars; the first 20."
    return ("gaps", listed(hole, maxItems=MOST_GAPS), meaning)


MARKET_DATA: dict[str, Schema] = {
    "Zone": record(
        ("id", "zone", "Zone id."), "name",
        ("source", "text", "Names of the publishers that carry the zone."),
        "tz", "currency", "attribution", "license", "market_tz"),
    "Zones": record(("zones", listed("Zone"), "All zones of the service, in a fixed order."), "sample?"),
    "SourceFreshness": record(
        "source", "zone",
        ("last_ok", "instant", "Unix seconds when it last gave data for the zone; 0 for never."),
        ("last_error", "text",
         "What went wrong last, and ties, fuels or the like that no table has, each with the feed's id; empty for"
         " nothing. Never a secret."),
        ("state", choice("ok", "late", "down", "unknown"), "Against the feeds' own schedules."),
        ("expected_by", or_null("instant"), "Unix seconds by which the next figures are due; null where not known."),
        ("serving", keyed("text"), "By metric: the feed, of whatever source, that the zone's newest row comes from.")),
    "Status": record(
        ("now", "instant", "Unix seconds of the answer."),
        ("sources", listed("SourceFreshness"), "One entry a source and zone."),
        "sample?"),
    "MetricValue": record(
        "value", "unit", "ts", "resolution", "expected_by?", "source?",
        ("percentile?", or_null("percentile"), "Rank among the zone's last 30 days; null with too little history.")),
    "GenerationMix": record(
        "unit", "ts",
        ("fuels", keyed("number", "fuel"), "Value by fuel, in `unit`. A fuel that is not reported is absent."),
        "resolution?", "source?", "expected_by?"),
    "Latest": record(
        "zone", "metrics", "attribution", "license", "updated", "valid_until?", "generation_mix?", "sample?"),
    "Snapshot": record(
        "generated", "valid_until?",
        ("zones",
         keyed(record("metrics", "updated", "attribution", "license", "valid_until?", "generation_mix?"), "zone"),
         "Every zone by id; one without any value has empty `metrics`."),
        "sample?"),
    "Row": record(*_ROW, closed=True),
    "Gap": record("start", "end"),
    "Series": record(
        "zone", "metric", "start", "end", "count", "attribution", "license", _rows("Row", "`ts`, then `fuel`"),
        "truncated", "cursor_only?", "sources", _gaps("Gap"), "gaps_truncated?", "market?", _BY, "interval?", "as_of?",
        "known_since?", "sample?"),
    "RowOfZone": record("zone", *_ROW, closed=True),
    "GapOfZone": record("zone", "start", "end"),
    "SeriesOfZones": record(
        *_BY_ZONE, "metric", "start", "end", "count", "truncated", "cursor_only?", "sources", "gaps_truncated?",
        "market?", _BY, "interval?", "as_of?", "sample?", _rows("RowOfZone", "`ts`, then `zone`"), _gaps("GapOfZone")),
    "ForecastRow": record(*_FORECAST_ROW, closed=True),
    "Forecast": record(
        "zone", *_PICKED, "known_since?", "attribution", "license", _rows("ForecastRow", "`ts`, then `published_at`")),
    "ForecastRowOfZone": record("zone", *_FORECAST_ROW, closed=True),
    "ForecastOfZones": record(*_BY_ZONE, *_PICKED, _rows("ForecastRowOfZone", "`ts`, `zone`, `published_at`")),
    "CurrentValue": record("value", "unit", "ts", "resolution?", "source?", "expected_by?"),
    "ContextBlock": record(
        ("percentile", "percentile",
         "Share of the window's time below the current value, ties by half, rounded half up: 1 to 99; 0 only below "
         "every value, 100 only above every value."),
        ("vs_median_pct", or_null("number"),
         "`vs_median` in percent; null where the median is not above zero or near zero."),
        ("median", "number", "Duration-weighted median of the window, in `unit`."),
        "min", "max",
        ("sample_count", "whole", "Rows in the window."),
        ("window_days_actual", "number", "Days from the first row of the window to its end."),
        "unit",
        ("vs_median", "number", "Current value minus the median, in `unit`."),
        ("vs_median_pct_reason?", "text", "Why `vs_median_pct` is null: `median_not_positive` or `median_near_zero`."),
        ("percentile_same_hour", or_null("percentile"),
         "The percentile among the same hour of the (civil) day; null with a reason beside it."),
        "p10", "p90",
        ("percentile_exact", "number", "The percentile with two decimals."),
        ("percentile_same_hour_reason?", "text", "Why `percentile_same_hour` is null."),
        ("ties_pct", "number", "Percent of the window's time at exactly the current value."),
        ("band", choice(*get_args(Band)), "The rank in a word."),
        ("coverage", "fraction", "Share of the 30 days that rows cover, 0 to 1."),
        ("confidence", choice("low", "normal"), "`low` where less than nine tenths of the window are covered."),
        ("window_start", "instant", "Start of the window, Unix seconds: 30 days before the current interval."),
        ("window_end", "instant", "End of the window, Unix seconds: the start of the current interval.")),
    "Trend": record(
        ("direction", choice("rising", "falling", "flat"), "`flat`: a change within `flat_threshold`."),
        ("change_pct", or_null("number"), "`change` in percent; null where `from_value` is not above zero or near it."),
        ("from_value", "number", "The value 24 hours earlier, in `unit`."),
        ("change_pct_reason?", "text", "Why `change_pct` is null."),
        ("change", "number", "Current value minus the one 24 hours earlier, in `unit`."),
        ("from_ts", "instant", "Start of the interval of `from_value`, Unix seconds."),
        ("flat_threshold", "number", "A change up to this counts as flat, in `unit`."),
        "unit"),
    "Brief": record(
        "zone",
        ("zone_name", "text", "Name of the zone."),
        ("as_of", "instant", "Unix seconds of the publication; it ranks the rows known then."),
        ("current", keyed("CurrentValue", "metric"), "The newest value by metric whose interval has begun."),
        ("context", keyed("ContextBlock", "metric"),
         "Rank by metric among the 30 days before. For metrics without enough data see `context_omitted`."),
        ("context_window_requested_days", {"type": "integer", "const": 30},
         "Length in days of the window before the current interval."),
        ("trend_24h", keyed("Trend", "metric"), "Change by metric against the interval 24 hours earlier."),
        ("generation_mix?", keyed("number", "fuel"),
         "Newest generation by fuel in `generation_mix_unit`; empty where there is none."),
        ("generation_mix_unit?", "text", "`%` or `MW`; empty without a mix."),
        ("headline", "text",
         "One sentence a newspaper could print: price first, its rank among the same hours leading; at most three "
         "numbers, each in `summary_figures.headline`."),
        ("summary", "text", "The brief in plain English; every number in it stands in this document."),
        ("coverage_note", "text", "How much of the 30 days is known, and what is left out and why."),
        "attribution", "license", "method", "docs",
        ("context_omitted", keyed("text"),
         "Why a metric has no context: `too_few_samples`, `coverage_below_50_pct`, `no_rows`, "
         "`withheld_by_terms`; `sample` in a sample."),
        ("trend_omitted", keyed("text"), "Why a metric has no trend, such as `no_value_24h_ago`."),
        "valid_until?", "sample?",
        ("summary_parts?", keyed("text"), "The summary's sentences by metric."),
        ("summary_figures?", "object", "The summary's numbers as printed, by metric."),
        ("generation_mix_ts?", "instant", "Start of the mix's interval, Unix seconds; absent without a mix."),
        ("generation_mix_expected_by?", "instant", "Unix seconds by which a newer mix is due; absent without a mix."),
        ("generation_mix_omitted?", "text", "Why a zone that publishes a mix has none here.")),
    "WindowBlock": record(*_BLOCK),
    "Windows": record(
        "zone",
        ("metric", "WindowMetric", "Metric of the rows."),
        ("kind", "WindowKind", "`lowest` or `highest`."),
        ("hours", or_null("number"), "Length in hours; of slots the sum, null where there are none."),
        ("within_hours", or_null("number"), "How far ahead blocks may end, in hours; null for all that is known."),
        ("between?", "text", "Times of the civil day that it lies between, as asked for."),
        ("available", "flag", "Whether prices or intensities are known ahead; `reason` says why not."),
        "method", "docs", "attribution", "license",
        ("reason?", choice(*REASONS), "Why nothing is available."),
        ("detail?", "text", "The same in words."),
        ("basis?", choice("auction", "operator_forecast"), "Whose word it is: an auction's, or the operator's own."),
        ("published_at?", "instant", "Of a forecast: when its newest vintage was published, Unix seconds."),
        ("lead_s?", "whole", "Of a forecast: seconds from then to the start of the block, or of the last slot."),
        ("error?", or_null("number"),
         "Its mean absolute error so far ahead over the last 30 days, in `unit`; null below 100 intervals."),
        "market?", "unit?", *(f"{name}?" for name in _BLOCK),
        ("blocks?", "whole", "How many blocks of that length the horizon holds."),
        ("alternatives?", listed("WindowBlock"), "The next best blocks that do not overlap the best."),
        ("slots?", listed(record("start", "end", "value")), "The best intervals by time, in place of a block."),
        ("cost?", record(
            ("value", "number", "Of the energy at the mean of the best block."),
            ("unit", "text", "The currency; of carbon intensity gCO2."),
            ("kwh", "number", "The energy."),
            ("kw", "number", "The power."),
            ("note", "text", "What is not in it.")),
         "Only where `kwh` was given."),
        ("now?", record(
            ("in_best", "flag", "Whether the running interval lies in the best block or is one of the best slots."),
            ("rank", or_null("whole"), "Place among all blocks or slots, 1 is the best; null where it takes no part.")),
         "The block that starts with the running interval, among all blocks."),
        ("horizon?", record(
            ("from?", "instant", "Start of what is known, Unix seconds."),
            ("until?", "instant", "End of what is known, Unix seconds."),
            ("complete?", "flag", "Whether all of the time asked for is known."),
            "mean?",
            ("next_auction_by", or_null("instant"), "Unix seconds by which more is due; null where not known.")),
         "The intervals that are known ahead."),
        "valid_until?", "sample?"),
    "Record": record("value", "unit", "ts", _OF_PERIOD, (
        "end?", "instant", "End of a run, exclusive, Unix seconds; `value` is its length in hours.")),
    "RecordsOfPeriod": record(
        _OF_PERIOD, ("until", text(format="date"), "The last civil day that was looked at."), "unit",
        ("highest", or_null("Record"), "The highest value; the earliest where it came twice."),
        ("lowest", or_null("Record"), "The lowest value."),
        ("longest_negative", or_null("Record"),
         "The longest run of intervals below 0, without a gap; null where there is none, and for other metrics.")),
    "Records": record(
        "zone", ("metric", "RecordMetric", "Metric of the records."),
        ("all_time", or_null("RecordsOfPeriod"), "Of all that is held; null where nothing is."),
        ("years", keyed("RecordsOfPeriod"), "By calendar year of the zone's civil time; empty in a sample."),
        "method", "docs", "sources", "attribution", "license", "sample?"),
    "SeriesStatistics": record(
        "zone", "metric", "market?", "as_of?", "start", "end",
        ("unit", or_null("text"), "Unit of the values; null without rows."),
        ("statistics?", or_null("Statistics"), "Over the window; null without rows. Absent where `fuels` is there."),
        ("fuels?", keyed("Statistics", "fuel"), "Statistics by fuel, for metrics that have fuels."),
        "method", "docs", "sources", "attribution", "license", "sample?"),
    "Statistics": record(
        "count", "coverage", "mean",
        ("std", "number", "Duration-weighted standard deviation, in `unit`."),
        "min", "max", "p10",
        ("p50", "number", "The median by time."),
        "p90",
        ("min_ts", "instant", "Start of the first interval with the lowest value, Unix seconds."),
        ("max_ts", "instant", "Start of the first interval with the highest value, Unix seconds."),
        ("above?", "TimeBeyond", "Time above the threshold; only where one was given."),
        ("below?", "TimeBeyond", "Time below the threshold; only where one was given.")),
    "TimeBeyond": record(
        ("threshold", "number", "The value compared with, in `unit`."),
        ("hours", "number", "Hours beyond it."),
        ("intervals", "whole", "Intervals beyond it."),
        ("spans", "whole", "Unbroken stretches of time beyond it."),
        ("first", listed(record("start", "end")), "The first ten of them.")),
    "SeriesAnswer": {"oneOf": [*map(ref, ("Series", "SeriesStatistics"))]},
    "SeriesOrForecast": {"oneOf": [*map(ref, ("Series", "Forecast", "SeriesStatistics"))]},
    "SeriesOrForecastOfZones": {"oneOf": [*map(ref, ("SeriesOfZones", "ForecastOfZones"))]},
}
# fmt: on
