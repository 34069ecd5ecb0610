"""Define the schemas of market data: zones, freshness, current values, rows, the brief, windows and statistics."""

from __future__ import annotations

from typing import get_args

from api.openapi.documents import PRESENT, extended
from api.openapi.members import Kind, Member, Schema, choice, keyed, listed, record, ref, text
from api.series.page import MOST_GAPS
from api.series.windows import REASONS
from warehouse.market.carbon import Reason
from warehouse.market.metrics import MIXES

# fmt: off
_ROW: tuple[Member, ...] = (
    "fuel?", "ts", "date?", "time?", "value", "unit", "resolution",
    ("low?", "Lower bound of an estimate, in `unit`; null in rows of a published series.", "number?"),
    ("high?", "Upper bound of an estimate, in `unit`.", "number?"),
    ("factors?", "ID of the estimate's set of factors; null if a mean combines two sets.", "text?"),
    "counterparty?", "link?", "source?", "samples?", "coverage?",
)
_CARBON: tuple[tuple[str, str, Kind], ...] = (
    ("basis", "For `carbon`: `published` by an operator, or an `estimate` of this service.",
     choice("published", "estimate")),
    ("includes_imports", "For `carbon`: whether imports are included.", "flag"),
    ("method", "For estimates: the method (/docs/carbon).", "text"),
    ("factors", "For estimates: IDs of the sets of factors in the window.", listed("text")),
)
_OF_CARBON: tuple[Member, ...] = tuple((f"{name}?", meaning, kind) for name, meaning, kind in _CARBON)
_OF_CARBON_BY_ZONE: tuple[Member, ...] = tuple(
    (f"{name}?", f"{meaning[:-1]}; by zone.", keyed(kind, "zone")) for name, meaning, kind in _CARBON)
_REASON: Member = (
    "reason?", "Reason why an estimate is refused (/docs/carbon); absent for other gaps.", choice(*get_args(Reason)))
_FORECAST_ROW: tuple[Member, ...] = (
    "fuel?", "ts", "time?", "value", "unit", "resolution", "source?", "basis",
    ("published_at", "Time when the publisher first published this value, Unix seconds. A repeated value has no "
     "further row.", "instant"),
    ("lead_s", "Seconds from `published_at` to `ts`; negative if the interval had started.", "integer"),
)
_PICKED: tuple[Member, ...] = (
    ("kind", "`forecast`: the publisher's forecast, not actual values.", text(const="forecast")),
    "metric", "start", "end", "count", "truncated", "cursor_only?", "sources", "as_of?", "sample?",
    ("published_before?", "The newest forecasts published by this time, Unix seconds.", "instant"),
    ("lead?", "The newest forecasts published at least this long ahead, for example `24h`.", "text"),
    ("vintages?", "`all`: every forecast of each interval.", text(const="all")),
)
_MIXES: tuple[Member, ...] = tuple(
    member for mix in MIXES.values() if not mix.is_awaited for member in (
        (f"{mix.member}?", f"Newest generation by fuel, in `{mix.member}_unit`.", keyed("number", "fuel")),
        (f"{mix.member}_unit?", f"Unit of `{mix.member}`.", "text"),
        (f"{mix.member}_ts?", f"Start of the interval of `{mix.member}`, Unix seconds.", "instant")))
_YEAR_BEFORE: Member = (
    "year_before", "The same part of the previous year; null if the last year in `years` is over.",
    "RecordsOfPeriod?")
_BLOCK: tuple[str, ...] = ("start", "end", "mean", "min", "max", "rank", "vs_horizon_mean", "vs_horizon_mean_pct")
_BY_ZONE: tuple[Member, ...] = (
    ("zones", "Zones of the response, including those without rows.", listed("zone", minItems=1)),
    ("known_since?", "`known_since` by zone.", keyed("instant", "zone")),
    ("filling?", "`filling` by zone.", keyed("FillProgress", "zone")),
    ("attribution", "Attribution by zone. Show it wherever you show the data.", keyed("text", "zone")),
    ("license", "Licence by zone under which the data may be redistributed.", keyed("text", "zone")),
)
_BY: Member = ("by?", "`border` for rows of borders and interconnectors; absent for the net.", text(const="border"))
_OF_PERIOD: Member = ("since", "First civil day of the period with history.", text(format="date"))


def _rows(row: str, order: str) -> Member:
    meaning = f"Rows in ascending order of {order}; descending with `order=desc`. A missing interval has no row."
    return ("data", meaning, listed(row))


_SHORT: Member = (
    "coverage?", "For an interval that is left out because rows cover less than half of it: the fraction covered.",
    "number")


def _gaps(hole: str) -> Member:
    meaning = "Ranges of the window without rows that were due by the schedules of the feeds; the first 20."
    return ("gaps", meaning, listed(hole, maxItems=MOST_GAPS))


_GENERATION_MIX: tuple[Member, ...] = (
    ("generation_mix?", "Newest generation by fuel, in `generation_mix_unit`. May be empty.", keyed("number", "fuel")),
    ("generation_mix_unit?", "`%` or `MW`; empty without a mix.", "text"),
    ("generation_mix_ts?",
     "Start of the interval of the generation mix, Unix seconds; absent without a mix.", "instant"),
    ("generation_mix_expected_by?", "Time by which a newer mix is due, Unix seconds; absent without a mix.", "instant"),
    ("generation_mix_omitted?", "Reason why the mix is empty although the zone publishes one.", "text"),
)
_OF_DOCUMENTS: dict[str, tuple[Member, ...]] = {
    "Latest": ("generation_mix?", *_MIXES, "sample?"),
    "SnapshotZone": ("generation_mix?", *_MIXES),
    "Snapshot": ("sample?",),
    "Brief": (*_GENERATION_MIX, *_MIXES, "sample?"),
}
"""The fields of responses that the typed documents lack: values by fuel, and the mark of a sample."""
MARKET_DATA: dict[str, Schema] = {
    "Zone": record(
        ("id", "Zone ID.", "zone"), "name",
        ("source", "Names of the publishers of the zone.", "text"),
        "tz", "currency", "attribution", "license", "market_tz"),
    "Zones": record(("zones", "All zones of the service, in a fixed order.", listed("Zone")), "sample?"),
    "SourceFreshness": record(
        "source", "zone",
        ("last_ok", "Time when the source last provided data for the zone, Unix seconds; 0 for never.", "instant"),
        ("last_error",
         "Last error, and unknown interconnectors, fuels and similar, each with its feed ID. Empty if there is none."
         " Never contains a secret.", "text"),
        ("state", "State relative to the schedules of the feeds.", choice("ok", "late", "down", "unknown")),
        ("expected_by", "Time by which the next data is due, Unix seconds; null if unknown.", "instant?"),
        ("served_by", "For each metric, the feed that provides the newest row of the zone, from any source.",
         keyed("text"))),
    "Status": record(
        ("now", "Time of the response, Unix seconds.", "instant"),
        ("sources", "One entry per source and zone.", listed("SourceFreshness")),
        "sample?"),
    **PRESENT,
    **{name: extended(PRESENT[name], *members) for name, members in _OF_DOCUMENTS.items()},
    "Row": record(*_ROW, closed=True),
    "Gap": record("start", "end", _REASON, _SHORT),
    "Series": record(
        "zone", "metric", "start", "end", "count", "attribution", "license", _rows("Row", "`ts`, then `fuel`"),
        "truncated", "cursor_only?", "sources", _gaps("Gap"), "gaps_truncated?", "market?", _BY, "interval?", "as_of?",
        "known_since?", "filling?", *_OF_CARBON, "sample?"),
    "RowOfZone": record("zone", *_ROW, closed=True),
    "GapOfZone": record("zone", "start", "end", _REASON, _SHORT),
    "SeriesOfZones": record(
        *_BY_ZONE, "metric", "start", "end", "count", "truncated", "cursor_only?", "sources", "gaps_truncated?",
        "market?", _BY, "interval?", "as_of?", *_OF_CARBON_BY_ZONE, "sample?",
        _rows("RowOfZone", "`ts`, then `zone`"), _gaps("GapOfZone")),
    "ForecastRow": record(*_FORECAST_ROW, closed=True),
    "Forecast": record(
        "zone", *_PICKED, *_OF_CARBON[:2], "known_since?", "filling?", "attribution", "license",
        _rows("ForecastRow", "`ts`, then `published_at`")),
    "ForecastRowOfZone": record("zone", *_FORECAST_ROW, closed=True),
    "ForecastOfZones": record(
        *_BY_ZONE, *_PICKED, *_OF_CARBON_BY_ZONE[:2], _rows("ForecastRowOfZone", "`ts`, `zone`, `published_at`")),
    "WindowBlock": record(*_BLOCK),
    "Windows": record(
        "zone",
        ("metric", "Metric of the rows.", "WindowMetric"),
        ("find", "`lowest` or `highest`.", "WindowFind"),
        ("hours", "Length in hours. For slots, their total length; null without slots.", "number?"),
        ("within_hours", "Hours ahead that were searched; null for all known values.", "number?"),
        ("between?", "Requested daily time range, in civil time.", "text"),
        ("available", "Whether a block was found. If not, `reason` gives the cause.", "flag"),
        "method", "docs", "attribution", "license",
        ("reason?", "Reason why no block is available.", choice(*REASONS)),
        ("detail?", "The reason in words.", "text"), "filling?",
        ("basis?", "Origin of the values: an auction, or the operator's own forecast.",
         choice("auction", "operator_forecast")),
        ("carbon_basis?", "With `metric=carbon`: the `basis` of `/v1/carbon`.", choice("published", "estimate")),
        ("published_at?", "For a forecast: time when the newest was published, Unix seconds.", "instant"),
        ("lead_s?", "For a forecast: seconds from `published_at` to the start of the block or of the last slot; "
         "negative if it had started.", "integer"),
        ("error?", "Mean absolute error of the forecast at this lead in 30 days, in `unit`; null below 100 intervals.",
         "number?"),
        "market?", "unit?", *(f"{name}?" for name in _BLOCK),
        ("blocks?", "Number of blocks of this length in the horizon.", "whole"),
        ("alternatives?", "The next best blocks that do not overlap the best.", listed("WindowBlock")),
        ("slots?", "Best intervals in order of time, instead of a block.", listed(record("start", "end", "value"))),
        ("cost?", "Only with `kwh`.", record(
            ("value", "Cost of the energy at the mean of the best block.", "number"),
            ("unit", "Currency; gCO2 for carbon intensity.", "text"),
            ("kwh", "Energy in kWh.", "number"),
            ("kw", "Power in kW.", "number"),
            ("note", "What the cost does not include.", "text"))),
        ("now?", "Rank of the block that starts with the current interval.", record(
            ("in_best", "Whether the best block or slots include the current interval.", "flag"),
            ("rank", "Rank among all blocks or slots; null if it is not one of them.", "whole?"))),
        ("horizon?", "Range of the known future values.", record(
            ("from?", "Start of the known range, Unix seconds.", "instant"),
            ("until?", "End of the known range, Unix seconds.", "instant"),
            ("complete?", "Whether the known range reaches the requested end.", "flag"),
            "mean?",
            ("next_auction_by", "Time by which further values are due, Unix seconds; null if unknown.", "instant?"))),
        "valid_until?", "sample?"),
    "Record": record("value", "unit", "ts", _OF_PERIOD, (
        "end?", "End of a run, excluded, Unix seconds; `value` is its length in hours.", "instant")),
    "RecordsOfPeriod": record(
        _OF_PERIOD, ("until", "Last civil day that was evaluated.", text(format="date")), "unit",
        ("highest", "Highest value; the earliest if it occurred several times.", "Record?"),
        ("lowest", "Lowest value; the earliest if it occurred several times.", "Record?"),
        ("longest_negative", "Longest run below 0; null if there is none, and for other metrics than prices.",
         "Record?"),
        ("negative_hours", "Total hours below 0; null for other metrics than prices.", "number?"),
        ("negative_sum", "Sum of the values below 0, each times its hours; null for other metrics than prices.",
         "number?")),
    "Records": record(
        "zone", ("metric", "Metric of the records.", "RecordMetric"),
        ("all_time", "Records of all time; null without rows.", "RecordsOfPeriod?"),
        ("years", "Records by calendar year of the zone's civil time; empty in a sample.", keyed("RecordsOfPeriod")),
        _YEAR_BEFORE, *_OF_CARBON[:2], "method", "docs", "sources", "attribution", "license", "sample?"),
    "RecordsOfZone": record(
        ("years", "Records by calendar year of the zone's civil time.", keyed("RecordsOfPeriod")),
        _YEAR_BEFORE, *_OF_CARBON[:2], "sources", "attribution", "license"),
    "AllRecords": record(
        ("metric", "Metric of the records.", "RecordMetric"), "count",
        ("zones", "Records by zone ID, including zones without records.", keyed("RecordsOfZone", "zone")),
        "method", "docs", "sample?"),
    "SeriesStatistics": record(
        "zone", "metric", "market?", *_OF_CARBON[:2], "as_of?", "start", "end",
        ("unit", "Unit of the values; null without rows.", "text?"),
        ("statistics?", "Statistics of the window; null without rows. Absent if `fuels` is present.", "Statistics?"),
        ("fuels?", "Statistics by fuel, for metrics that have fuels.", keyed("Statistics", "fuel")),
        "method", "docs", "sources", "attribution", "license", "filling?", "sample?"),
    "Statistics": record(
        "count", "coverage", "mean",
        ("std", "Duration-weighted standard deviation, in `unit`.", "number"),
        "min", "max", "p10",
        ("p50", "Median by time.", "number"),
        "p90",
        ("min_ts", "Start of the first interval with the lowest value, Unix seconds.", "instant"),
        ("max_ts", "Start of the first interval with the highest value, Unix seconds.", "instant"),
        ("above?", "Time above the threshold; only with `above`.", "TimeBeyond"),
        ("below?", "Time below the threshold; only with `below`.", "TimeBeyond")),
    "TimeBeyond": record(
        ("threshold", "Threshold, in `unit`.", "number"),
        ("hours", "Hours beyond the threshold.", "number"),
        ("intervals", "Intervals beyond the threshold.", "whole"),
        ("spans", "Continuous periods beyond the threshold.", "whole"),
        ("first", "First ten of these periods.", listed(record("start", "end")))),
    "SeriesAnswer": {"oneOf": [*map(ref, ("Series", "SeriesStatistics"))]},
    "SeriesOrForecast": {"oneOf": [*map(ref, ("Series", "Forecast", "SeriesStatistics"))]},
    "SeriesOrForecastOfZones": {"oneOf": [*map(ref, ("SeriesOfZones", "ForecastOfZones"))]},
}
# fmt: on
