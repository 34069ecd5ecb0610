"""Schemas of what is computed from rows: windows and statistics."""

from __future__ import annotations

from api.openapi.schemas.parts import (
    FLAG,
    FRACTION,
    INSTANT,
    METRIC,
    NUMBER,
    SAMPLED,
    TERMS,
    TEXT,
    WHOLE,
    ZONE,
    Schema,
    keyed,
    listed,
    or_null,
    record,
    ref,
)
from warehouse.market import Fuel

_BLOCK = {
    "start": INSTANT,
    "end": INSTANT,
    "mean": NUMBER,
    "min": NUMBER,
    "max": NUMBER,
    "rank": WHOLE,
    "vs_horizon_mean_pct": or_null(NUMBER),
}
_SPREAD = {"median": or_null(NUMBER), "p95": or_null(NUMBER), "worst": or_null(NUMBER)}

DERIVED: dict[str, Schema] = {
    "BulkFile": record(
        {
            "zone": ZONE,
            "metric": ref("FileMetric"),
            "month": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
            "rows": WHOLE,
            "first": INSTANT,
            "last": INSTANT,
            "bytes": WHOLE,
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "sources": listed(TEXT),
            "url": TEXT,
            **TERMS,
            "final": FLAG,
        }
    ),
    "Bulk": record(
        {"as_of": INSTANT, "docs": TEXT, "count": WHOLE, "files": listed(ref("BulkFile")), "sample": SAMPLED}, "sample"
    ),
    "WindowBlock": record(_BLOCK),
    "Windows": record(
        {
            "zone": ZONE,
            "metric": ref("WindowMetric"),
            "kind": ref("WindowKind"),
            "hours": NUMBER,
            "within_hours": or_null(NUMBER),
            "available": FLAG,
            "method": TEXT,
            "docs": TEXT,
            **TERMS,
            "reason": {"type": "string", "enum": ["nothing_ahead", "not_known_yet", "horizon_too_short"]},
            "market": {"type": "string", "const": "day_ahead"},
            "unit": TEXT,
            **_BLOCK,
            "blocks": WHOLE,
            "alternatives": listed(ref("WindowBlock")),
            "now": record({"in_best": FLAG, "rank": WHOLE}),
            "horizon": record(
                {
                    "from": INSTANT,
                    "until": INSTANT,
                    "complete": FLAG,
                    "mean": NUMBER,
                    "next_auction_by": or_null(INSTANT),
                },
                "from",
                "until",
                "complete",
                "mean",
            ),
            "valid_until": INSTANT,
            "sample": SAMPLED,
        },
        "reason",
        "market",
        "unit",
        *_BLOCK,
        "blocks",
        "alternatives",
        "now",
        "horizon",
        "valid_until",
        "sample",
    ),
    "SeriesStatistics": record(
        {
            "zone": ZONE,
            "metric": METRIC,
            "market": {"type": "string", "const": "day_ahead"},
            "start": INSTANT,
            "end": INSTANT,
            "unit": or_null(TEXT),
            "statistics": or_null(ref("Statistics")),
            "fuels": keyed(ref("Statistics"), {"enum": list(Fuel)}),
            "method": TEXT,
            "docs": TEXT,
            "sources": listed(TEXT),
            **TERMS,
            "sample": SAMPLED,
        },
        "market",
        "statistics",
        "fuels",
        "sample",
    ),
    "Statistics": record(
        {
            "count": WHOLE,
            "coverage": FRACTION,
            **dict.fromkeys(("mean", "std", "min", "max", "p10", "p50", "p90"), NUMBER),
            "min_ts": INSTANT,
            "max_ts": INSTANT,
            "above": ref("TimeBeyond"),
            "below": ref("TimeBeyond"),
        },
        "above",
        "below",
    ),
    "TimeBeyond": record(
        {
            "threshold": NUMBER,
            "hours": NUMBER,
            "intervals": WHOLE,
            "spans": WHOLE,
            "first": listed(record({"start": INSTANT, "end": INSTANT})),
        }
    ),
    "Publisher": record(
        {
            "source": TEXT,
            "feed": TEXT,
            "month": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
            "complete": FLAG,
            "asked": record({"every_s": WHOLE, "runs": WHOLE, "requests": WHOLE}),
            "failures": record({"total": WHOLE, "by_kind": keyed(WHOLE)}),
            "rows": WHOLE,
            "intervals": or_null(record({"due": WHOLE, "missing": WHOLE, "holes": WHOLE, "longest_hole_s": WHOLE})),
            "late_s": record({"rows": WHOLE, "unwatched": WHOLE, **_SPREAD}),
            "revised": record(
                {
                    "rows": WHOLE,
                    "share": or_null(FRACTION),
                    "withdrawn": WHOLE,
                    "after_s": record(_SPREAD),
                    "by": or_null(listed(record({"metric": TEXT, "unit": TEXT, **_SPREAD}))),
                }
            ),
        }
    ),
    "Change": record(
        {
            "id": TEXT,
            "at": INSTANT,
            "zone": ZONE,
            "metric": METRIC,
            "market": {"type": "string", "const": "day_ahead"},
            "feed": or_null(TEXT),
            "first": INSTANT,
            "last": INSTANT,
            "added": WHOLE,
            "changed": WHOLE,
            "withdrawn": or_null(WHOLE),
            "published": listed(TEXT),
        },
        "market",
    ),
    "Changes": record(
        {
            "count": WHOLE,
            "entries": listed(ref("Change")),
            "next": TEXT,
            "more": FLAG,
            "oldest": TEXT,
            "docs": TEXT,
            "sample": SAMPLED,
        },
        "sample",
    ),
    "Publishers": record(
        {
            "as_of": INSTANT,
            "method": {"type": "string", "const": "publishers/1"},
            "docs": TEXT,
            "months": listed(TEXT),
            "count": WHOLE,
            "publishers": listed(ref("Publisher")),
            "sample": SAMPLED,
        },
        "sample",
    ),
}
