"""Explain names that clients know from other services by the parameter of this service that does the same."""

from __future__ import annotations

from collections.abc import Container

KEY_FORM = "Send the key as `Authorization: Bearer emds_...` or as `X-API-Key: emds_...`"
_KEY_NAMES = frozenset({"apikey", "xapikey", "key", "token", "accesstoken", "auth", "authorization", "bearer"})
_MEANT = (
    ("start", "start=-24h or start=2026-11-20", "from since begin after starttime startdate datefrom fromdate"),
    ("since", "since=now", "from start begin after"),
    ("end", "end=now or end=2026-11-21", "to until before till stop endtime enddate dateto todate"),
    ("start", "start=2026-11-20&end=2026-11-21", "date day on"),
    ("start", "start=-7d", "days last hours hour period past range window duration lookback weeks minutes"),
    ("time", "time=local for the zone's civil time", "tz timezone local utc timeformat"),
    ("zones", "zones=GB,FR", "country countries region regions area areas biddingzone eic"),
    ("zone", "zone=GB", "country region area biddingzone eic"),
    ("interval", "interval=1h", "resolution granularity freq frequency step resample"),
    ("limit", "limit=100", "count n size pagesize perpage rows top"),
    ("order", "order=desc for the newest first", "sort sortorder direction"),
    ("cursor", "cursor with the value of `next`", "page offset skip"),
    ("format", "format=csv", "type output accept fmt"),
)
"""A parameter, its use, and the other names that clients send. The first parameter of the path is meant."""


def explain_name(name: str, known: Container[str]) -> str:
    """Return a clause with the alternative to an unknown parameter; empty if no known parameter is meant."""
    plain = name.lower().replace("-", "").replace("_", "")
    if plain in _KEY_NAMES and "api_key" not in known:
        return f"do not send a key in the URL. {KEY_FORM}"
    meant = (use for parameter, use, names in _MEANT if parameter in known and plain in names.split())
    return next((f"use {use}" for use in meant), "")
