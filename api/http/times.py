"""Parse times as clients write them, for both REST and MCP.

A time without an offset is civil time of the requested zone, so only the zone turns it into Unix seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, timezone

from api.http.problems import ParameterFault, Problem
from warehouse.market import clock
from warehouse.market.clock import LAST_INSTANT
from warehouse.market.zones import ZONES

Moment = int | datetime | timedelta | str
"""Unix seconds, a civil time (no tzinfo), a time relative to now (not positive), or a word of `DAYS` or `_PERIODS`."""
DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
"""Words for a civil midnight, in days from today."""
_PERIODS = frozenset({"this week", "last week", "this month", "last month"})
"""Words for the civil midnight at which a week (from Monday) or a month starts."""
FORMS = (
    "Unix seconds; an ISO 8601 time such as 2026-11-20T06:00Z (local to the zone if it has no offset); a date, week, "
    "month or year (2026-11-20, 2026-W48, 2026-11, 2026); now, today, yesterday or tomorrow; this or last week or "
    "month; or a time back from now (-24h, -7d, -30m, P7D)"
)
FIRST_SECONDS = 100_000_000
"""The least number that is read as Unix seconds (1973-03-03); a lower number is a year or a date."""
YEARS_PATTERN = "^(19[7-9][0-9]|[2-9][0-9]{3})-"
"""The years of a date or a time."""
TIME_PATTERN = (
    "^(now|today|yesterday|tomorrow|(this|last) (week|month)|-[0-9]{1,4}[mhdw]|P[0-9]{1,4}[DW]|PT[0-9]{1,4}[HM]|"
    "(19[7-9][0-9]|[2-9][0-9]{3})(-(0[1-9]|1[0-2]|W(0[1-9]|[1-4][0-9]|5[0-2])))?)$"
)
"""The forms that are neither Unix seconds nor a format of JSON Schema."""
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_BACK = re.compile(r"-(\d{1,6})([mhdw])", re.ASCII)
_ISO_LENGTH = re.compile(r"-?p(?:(\d{1,6})([dw])|t(\d{1,6})([hm]))", re.ASCII)
_WEEK = re.compile(r"(\d{4})-?w(\d\d)", re.ASCII)
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?|(\d{4})(\d\d)(\d\d)", re.ASCII)
# In a query, `+` means a space: 2026-01-01T00:00+01:00 typed by hand arrives as ...00:00 01:00.
_STAMP = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)[t ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?)? ?(z|([+ -])(\d\d):?(\d\d)?)?",
    re.ASCII,
)
_NAMED = re.compile(r"\d{4}-?\d\d-?\d\d[Tt ][\d:.]+ ?[A-Za-z][\w/+]+", re.ASCII)
_OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2}|\d{4}-\d{1,2}-\d{1,2}", re.ASCII)
_TOO_FINE = {13: ("milliseconds", 3), 16: ("microseconds", 6), 19: ("nanoseconds", 9)}


def parse_time(text: str) -> Moment:
    """Return the time that `text` names. Raises ValueError, which explains each mistake in a sentence."""
    if text.isascii() and text.isdigit() and (moment := _number(text)) is not None:
        return moment
    word = text.strip().lower()
    if word == "now":
        return timedelta()
    if word in DAYS:
        return word
    if (period := re.sub(r"[ _-]+", " ", word)) in _PERIODS:
        return period
    if back := _BACK.fullmatch(word) or _ISO_LENGTH.fullmatch(word):
        count, unit = filter(None, back.groups())
        return -timedelta(**{_UNITS[unit]: int(count)})
    try:
        if week := _WEEK.fullmatch(word):
            monday = date.fromisocalendar(int(week[1]), int(week[2]), 1)
            return _within_years(datetime.combine(monday, time()))
        if day := _DATE.fullmatch(word):
            year, month, number = day.group(1, 2, 3) if day[1] else day.group(4, 5, 6)
            return _within_years(datetime(int(year), int(month or 1), int(number or 1)))  # noqa: DTZ001  civil
        if stamp := _STAMP.fullmatch(word):
            return _stamp(stamp)
    except (ValueError, OverflowError) as fault:
        raise ValueError(f"{text[:40]!r} is not a valid time: {fault}") from None
    raise ValueError(_what_is_wrong(text[:40]))


def _number(text: str) -> int | None:
    """Return Unix seconds; None for digits that are a year or a date. Raises ValueError."""
    if len(text) in (4, 8):
        return None
    if fine := _TOO_FINE.get(len(text)):
        unit, digits = fine
        raise ValueError(f"{text} looks like {unit}; send seconds: {text[:-digits]}")
    seconds = int(text.lstrip("0")[:16] or "0")
    if seconds < FIRST_SECONDS:
        raise ValueError(
            f"{text[:40]} is not a valid time; Unix seconds start at {FIRST_SECONDS}, a year has four digits and a "
            "date eight (20261120)"
        )
    if seconds > LAST_INSTANT:
        raise ValueError(f"{text[:40]} is outside the years 1970 to 9999")
    return seconds


def _stamp(stamp: re.Match[str]) -> Moment:
    """Return Unix seconds, or a civil time if the text has no offset. Raises ValueError."""
    year, month, day, hour, minute, second = (int(part or 0) for part in stamp.groups()[:6])
    leap = second == 60  # read as the next second, as in Unix time
    at = datetime(year, month, day, hour, minute, second - leap)  # noqa: DTZ001  placed below
    if stamp[7] is None:
        return _within_years(at + timedelta(seconds=leap))
    east: timezone = UTC
    if stamp[8]:
        away = time(int(stamp[9]), int(stamp[10] or 0))
        east = timezone(timedelta(hours=away.hour, minutes=away.minute) * (-1 if stamp[8] == "-" else 1))
    seconds = int((at.replace(tzinfo=east) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) + leap
    if not 0 <= seconds <= LAST_INSTANT:
        raise ValueError("it is outside the years 1970 to 9999")
    return seconds


def _within_years(civil: datetime) -> datetime:
    if civil.year < 1970:
        raise ValueError("it is outside the years 1970 to 9999")
    return civil


def _what_is_wrong(text: str) -> str:
    if text[:1].isdigit() and _BACK.fullmatch(f"-{text}"):
        return f"{text!r} is not a valid time. To count back from now, add a minus sign: -{text}"
    if _NAMED.fullmatch(text):
        return f"{text!r} is not a valid time. Use an offset such as +01:00 instead of a time zone name"
    if _OTHER_DATE.fullmatch(text):
        return f"{text!r} is not a valid time. Write dates as YYYY-MM-DD, for example 2026-11-20"
    return f"{text!r} is not a valid time. Use {FORMS}"


def to_unix(name: str, moment: Moment | None, zones: Iterable[str], now: int) -> int | None:
    """Return the Unix seconds of a parameter's time in the civil time of `zones`.

    A time that occurs twice means its first occurrence. A time that the clocks skip means the time of the change. Thus
    windows that meet in civil time meet in Unix seconds. Raises Problem 400 if zones differ, or if a zone is missing.
    """
    match moment:
        case int() | None:
            return moment
        case timedelta():
            return max(0, now + int(moment.total_seconds()))
    instants = {zone: _in_zone(moment, ZONES[zone].tz, now) for zone in zones}
    if len({*instants.values()}) == 1:
        return next(iter(instants.values()))
    detail = "has no UTC offset, and the request names no zone; add an offset, for example 2026-11-20T00:00Z"
    if instants:
        first, *others = instants
        other = next(zone for zone in others if instants[zone] != instants[first])
        detail = (
            f"is a different time in {first} and {other}; add an offset, for example 2026-11-20T00:00Z, or request "
            "zones that share a civil time"
        )
    raise Problem("invalid-parameters", f"{name}: {detail}.", [ParameterFault(name, "conflict", detail)])


def first_instant(name: str, moment: Moment | None, zones: Iterable[str], now: int) -> int | None:
    """Return the Unix seconds at which the first of `zones` reaches a time, as `to_unix` gives for each."""
    instants = [to_unix(name, moment, [zone], now) for zone in zones]
    return min((at for at in instants if at is not None), default=None)


def is_midnight(moment: Moment | None) -> bool:
    """Return whether a time is a civil midnight: a date, week, month or year, or a word."""
    return isinstance(moment, str) or (isinstance(moment, datetime) and moment.time() == time())


def _in_zone(moment: datetime | str, tz: str, now: int) -> int:
    if isinstance(moment, str):
        moment = datetime.combine(_first_day(moment, clock.local_date(now, tz)), time())
    return min(max(0, clock.civil_instant(moment, tz)), LAST_INSTANT)


def _first_day(word: str, today: date) -> date:
    """Return the day at whose midnight the period of a word of `DAYS` or `_PERIODS` starts."""
    if word in DAYS:
        return today + timedelta(days=DAYS[word])
    which, length = word.split()
    if length == "week":
        return today - timedelta(days=today.weekday() + (7 if which == "last" else 0))
    first = today.replace(day=1)
    return first if which == "this" else (first - timedelta(days=1)).replace(day=1)
