"""Schemas of market data: zones, freshness, the present, rows, the brief, windows and statistics."""

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
    ("factors?", "Id of the estimate's set of factors; null where a mean is of two sets.", "text?"),
    "counterparty?", "link?", "source?", "samples?", "coverage?",
)
_CARBON: tuple[tuple[str, str, Kind], ...] = (
    ("basis", "Of `carbon`: whether an operator publishes the values or they are estimates of this service.",
     choice("published", "estimate")),
    ("includes_imports", "Of `carbon`: whether electricity from other zones counts.", "flag"),
    ("method", "Of estimates: how they are made (/docs/carbon).", "text"),
    ("factors", "Of estimates: ids of the sets of factors in the window.", listed("text")),
)
_OF_CARBON: tuple[Member, ...] = tuple((f"{name}?", meaning, kind) for name, meaning, kind in _CARBON)
_OF_CARBON_BY_ZONE: tuple[Member, ...] = tuple(
    (f"{name}?", f"{meaning[:-1]}; by zone.", keyed(kind, "zone")) for name, meaning, kind in _CARBON)
_REASON: Member = (
    "reason?", "Why the estimate is refused (/docs/carbon); absent elsewhere.", choice(*get_args(Reason)))
_FORECAST_ROW: tuple[Member, ...] = (
    "fuel?", "ts", "time?", "value", "unit", "resolution", "source?", "basis",
    ("published_at", "Unix seconds when the publisher first said so; a repetition of the value is no row.", "instant"),
    ("lead_s", "Seconds from `published_at` to `ts`; below 0 where the interval had begun.", "integer"),
)
_PICKED: tuple[Member, ...] = (
    ("kind", "`forecast`: what the publisher expects, no readings.", text(const="forecast")),
    "metric", "start", "end", "count", "truncated", "cursor_only?", "sources", "as_of?", "sample?",
    ("published_before?", "Unix seconds: the newest forecast that was published by then.", "instant"),
    ("lead?", "The newest forecast that was published at least so long ahead: `24h`.", "text"),
    ("vintages?", "`all`: every forecast of each interval.", text(const="all")),
)
_MIXES: tuple[Member, ...] = tuple(
    member for mix in MIXES.values() if not mix.is_awaited for member in (
        (f"{mix.member}?", f"Newest generation by fuel, in `{mix.member}_unit`.", keyed("number", "fuel")),
        (f"{mix.member}_unit?", f"Unit of `{mix.member}`.", "text"),
        (f"{mix.member}_ts?", f"Start of the interval of `{mix.member}`, Unix seconds.", "instant")))
_YEAR_BEFORE: Member = (
    "year_before", "The span of the running year, a year earlier; null if the last of `years` is over.",
    "RecordsOfPeriod?")
_BLOCK: tuple[str, ...] = ("start", "end", "mean", "min", "max", "rank", "vs_horizon_mean", "vs_horizon_mean_pct")
_BY_ZONE: tuple[Member, ...] = (
    ("zones", "The zones of the answer, those without rows included.", listed("zone", minItems=1)),
    ("known_since?", "The same as `known_since` of one zone, by zone.", keyed("instant", "zone")),
    ("filling?", "The same as `filling` of one zone, by zone.", keyed("FillProgress", "zone")),
    ("attribution", "Attribution by zone. Show it wherever you show the data.", keyed("text", "zone")),
    ("license", "Licence by zone under which the data may be passed on.", keyed("text", "zone")),
)
_BY: Member = ("by?", "`border` where rows are those of borders and ties; absent for the net.", text(const="border"))
_OF_PERIOD: Member = ("since", "The first civil day of the period with history.", text(format="date"))


def _rows(row: str, order: str) -> Member:
    meaning = f"Ascending by {order}; descending with `order=desc`. A missing interval has no row."
    return ("data", meaning, listed(row))


_SHORT: Member = (
    "coverage?", "Of an interval that is left out because rows cover less than half of it: the share that they cover.",
    "number")


def _gaps(hole: str) -> Member:
    meaning = "Spans of the answer's window without a row that was due by the feeds' own calendars; the first 20."
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
"""What responses have beside the fields of the typed documents: values by fuel, and the mark of a sample."""
MARKET_DATA: dict[str, Schema] = {
    "Zone": record(
        ("id", "Zone ID.", "zone"), "name",
        ("source", "Names of the publishers that carry the zone.", "text"),
        "tz", "currency", "attribution", "license", "market_tz"),
    "Zones": record(("zones", "All zones of the service, in a fixed order.", listed("Zone")), "sample?"),
    "SourceFreshness": record(
        "source", "zone",
        ("last_ok", "Unix seconds when it last gave data for the zone; 0 for never.", "instant"),
        ("last_error",
         "What went wrong last, and ties, fuels or the like that no table has, each with the feed's id; empty for"
         " nothing. Never a secret.", "text"),
        ("state", "Against the feeds' own schedules.", choice("ok", "late", "down", "unknown")),
        ("expected_by", "Unix seconds by which the next figures are due; null where not known.", "instant?"),
        ("served_by", "For each metric, the feed that provides the zone's newest row, whatever its source.",
         keyed("text"))),
    "Status": record(
        ("now", "Unix seconds of the answer.", "instant"),
        ("sources", "One entry a source and zone.", listed("SourceFreshness")),
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
        ("hours", "Length in hours; of slots the sum, null where there are none.", "number?"),
        ("within_hours", "How far ahead blocks may end, in hours; null for all that is known.", "number?"),
        ("between?", "Times of the civil day that it lies between, as asked for.", "text"),
        ("available", "Whether prices or intensities are known ahead; `reason` says why not.", "flag"),
        "method", "docs", "attribution", "license",
        ("reason?", "Why nothing is available.", choice(*REASONS)),
        ("detail?", "The same in words.", "text"),
        ("basis?", "Whose word it is: an auction's, or the operator's own.", choice("auction", "operator_forecast")),
        ("carbon_basis?", "With `metric=carbon`: what `basis` is in `/v1/carbon`.", choice("published", "estimate")),
        ("published_at?", "Of a forecast: when its newest vintage was published, Unix seconds.", "instant"),
        ("lead_s?", "Of a forecast: seconds from then to the start of the block, or of the last slot; below 0 if that "
         "had begun.", "integer"),
        ("error?", "Its mean absolute error so far ahead in 30 days, in `unit`; null below 100 intervals.", "number?"),
        "market?", "unit?", *(f"{name}?" for name in _BLOCK),
        ("blocks?", "How many blocks of that length the horizon holds.", "whole"),
        ("alternatives?", "The next best blocks that do not overlap the best.", listed("WindowBlock")),
        ("slots?", "The best intervals by time, in place of a block.", listed(record("start", "end", "value"))),
        ("cost?", "Only where `kwh` was given.", record(
            ("value", "Of the energy at the mean of the best block.", "number"),
            ("unit", "The currency; of carbon intensity gCO2.", "text"),
            ("kwh", "The energy.", "number"),
            ("kw", "The power.", "number"),
            ("note", "What is not in it.", "text"))),
        ("now?", "The block that starts with the running interval, among all blocks.", record(
            ("in_best", "Whether the running interval lies in the best block or is one of the best slots.", "flag"),
            ("rank", "Place among all blocks or slots; null where it takes no part.", "whole?"))),
        ("horizon?", "The intervals that are known ahead.", record(
            ("from?", "Start of what is known, Unix seconds.", "instant"),
            ("until?", "End of what is known, Unix seconds.", "instant"),
            ("complete?", "Whether all of the time asked for is known.", "flag"),
            "mean?",
            ("next_auction_by", "Unix seconds by which more is due; null where not known.", "instant?"))),
        "valid_until?", "sample?"),
    "Record": record("value", "unit", "ts", _OF_PERIOD, (
        "end?", "End of a run, exclusive, Unix seconds; `value` is its length in hours.", "instant")),
    "RecordsOfPeriod": record(
        _OF_PERIOD, ("until", "The last civil day that was looked at.", text(format="date")), "unit",
        ("highest", "The highest value; the earliest where it came twice.", "Record?"),
        ("lowest", "The lowest value.", "Record?"),
        ("longest_negative", "The longest unbroken run below 0; null without one, and for other metrics.", "Record?"),
        ("negative_hours", "Hours below 0 in all; null for other metrics than prices.", "number?"),
        ("negative_sum", "Sum of the values below 0, each times its hours; null for other metrics.", "number?")),
    "Records": record(
        "zone", ("metric", "Metric of the records.", "RecordMetric"),
        ("all_time", "Of all that is held; null where nothing is.", "RecordsOfPeriod?"),
        ("years", "By calendar year of the zone's civil time; empty in a sample.", keyed("RecordsOfPeriod")),
        _YEAR_BEFORE, *_OF_CARBON[:2], "method", "docs", "sources", "attribution", "license", "sample?"),
    "RecordsOfZone": record(
        ("years", "By calendar year of the zone's civil time.", keyed("RecordsOfPeriod")),
        _YEAR_BEFORE, *_OF_CARBON[:2], "sources", "attribution", "license"),
    "AllRecords": record(
        ("metric", "Metric of the records.", "RecordMetric"), "count",
        ("zones", "By zone id, also zones without records.", keyed("RecordsOfZone", "zone")),
        "method", "docs", "sample?"),
    "SeriesStatistics": record(
        "zone", "metric", "market?", *_OF_CARBON[:2], "as_of?", "start", "end",
        ("unit", "Unit of the values; null without rows.", "text?"),
        ("statistics?", "Over the window; null without rows. Absent where `fuels` is there.", "Statistics?"),
        ("fuels?", "Statistics by fuel, for metrics that have fuels.", keyed("Statistics", "fuel")),
        "method", "docs", "sources", "attribution", "license", "sample?"),
    "Statistics": record(
        "count", "coverage", "mean",
        ("std", "Duration-weighted standard deviation, in `unit`.", "number"),
        "min", "max", "p10",
        ("p50", "The median by time.", "number"),
        "p90",
        ("min_ts", "Start of the first interval with the lowest value, Unix seconds.", "instant"),
        ("max_ts", "Start of the first interval with the highest value, Unix seconds.", "instant"),
        ("above?", "Time above the threshold; only where one was given.", "TimeBeyond"),
        ("below?", "Time below the threshold; only where one was given.", "TimeBeyond")),
    "TimeBeyond": record(
        ("threshold", "The value compared with, in `unit`.", "number"),
        ("hours", "Hours beyond it.", "number"),
        ("intervals", "Intervals beyond it.", "whole"),
        ("spans", "Unbroken stretches of time beyond it.", "whole"),
        ("first", "The first ten of them.", listed(record("start", "end")))),
    "SeriesAnswer": {"oneOf": [*map(ref, ("Series", "SeriesStatistics"))]},
    "SeriesOrForecast": {"oneOf": [*map(ref, ("Series", "Forecast", "SeriesStatistics"))]},
    "SeriesOrForecastOfZones": {"oneOf": [*map(ref, ("SeriesOfZones", "ForecastOfZones"))]},
}
# fmt: on
