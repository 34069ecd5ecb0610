"""Instants as callers give them: Unix seconds, RFC 3339, or a date of a zone's civil time."""

from __future__ import annotations

import re
from datetime import date

from warehouse import clock
from warehouse.errors import BadWindow
from warehouse.zones import ZONES

Moment = int | date
"""An instant as callers give it: Unix seconds, or a date that stands for its first instant in a zone's civil time."""

ALLOWED = "a date from 1971 to 9998, or Unix seconds or RFC 3339 with an offset from 1970 to 9999"
"""What `moment_of` takes, in words."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def moment_of(text: str) -> Moment:
    """A date (`2026-11-21`), Unix seconds, or RFC 3339 with an offset. Raises BadWindow."""
    if text.isdigit() and text.isascii():  # most are: without a look at the pattern
        return clock.instant(text)
    if _DATE.fullmatch(text):
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise BadWindow(f"no date: {text}") from None
        if not 1970 < day.year < 9999:
            raise BadWindow(f"{text} lies outside 1971 to 9998")
        return day
    return clock.requested_instant(text)


def instant_in(moment: Moment | None, zone: str) -> int | None:
    """Unix seconds of a moment; a date is midnight of the zone's civil time."""
    return clock.local_midnight(moment, ZONES[zone].tz) if isinstance(moment, date) else moment
