"""Keys as the operator sees them: who uses them how much. For the command line; no request reads this."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import case, delete, func, select, update

from api.access.database import Database
from api.access.tables import KEYS, PREVIOUS_KEYS, USAGE
from warehouse.market.clock import DAY


@dataclass(frozen=True, slots=True)
class KeyUse:
    """One key and what was made of it; instants in Unix seconds, days as days since 1970-01-01 UTC."""

    id: int
    email: str
    created: int
    confirmed: int | None
    revoked: int | None
    quota: int | None
    """Its own answers a day; None for the usual."""
    today: int
    answers: int
    """In the days that were asked for."""
    days_full: int
    """Days of these on which the quota was used up."""
    last_day: int | None
    """The last day with an answer."""


def key_uses(database: Database, days: int, usual: int, now: int) -> list[KeyUse]:
    """Return every key with its use of the last `days` UTC days, the busiest first."""
    today, first = now // DAY, now // DAY - days + 1
    recent = USAGE.c.day >= first
    limit = func.coalesce(KEYS.c.quota, usual)
    columns = (
        KEYS.c.id,
        KEYS.c.email,
        KEYS.c.created,
        KEYS.c.confirmed,
        KEYS.c.revoked,
        KEYS.c.quota,
        func.coalesce(func.sum(case((USAGE.c.day == today, USAGE.c.calls), else_=0)), 0).label("today"),
        func.coalesce(func.sum(case((recent, USAGE.c.calls), else_=0)), 0).label("answers"),
        func.coalesce(func.sum(case((recent & (USAGE.c.calls >= limit), 1), else_=0)), 0).label("days_full"),
        func.max(case((USAGE.c.calls > 0, USAGE.c.day))).label("last_day"),
    )
    query = select(*columns).outerjoin(USAGE, USAGE.c.key_id == KEYS.c.id).group_by(*columns[:6])
    with database.connect() as connection:
        rows = [KeyUse(**row) for row in connection.execute(query).mappings()]
    return sorted(rows, key=lambda use: (-use.answers, use.id))


def set_quota(database: Database, key: int, quota: int | None) -> bool:
    """Give a key a quota of its own, or the usual one again for None. Return whether there is such a key."""
    with database.begin() as connection:
        return bool(connection.execute(update(KEYS).where(KEYS.c.id == key).values(quota=quota)).rowcount)


def revoke_by_number(database: Database, key: int, now: int) -> bool:
    """End a key, and those that were rotated into it. Return whether there is such a key."""
    ended = update(KEYS).where(KEYS.c.id == key).values(revoked=func.coalesce(KEYS.c.revoked, now))
    with database.begin() as connection:
        connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.key_id == key))
        return bool(connection.execute(ended).rowcount)
