"""Keys as the operator sees them: who uses them how much. For the command line; no request reads this."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, case, delete, func, select, update

from api.access.database import Database
from api.access.tables import KEYS, PREVIOUS_KEYS, USAGE
from warehouse.market.clock import DAY

KeyUse = Row[Any]
"""One key and what was made of it; instants in Unix seconds, days as days since 1970-01-01 UTC."""


def key_uses(database: Database, days: int, usual: int, now: int) -> list[KeyUse]:
    """Return every key with its use of the last `days` UTC days, the busiest first.

    `quota`: its own answers a day, None for the usual; `today` and `answers`: of today and of those days; `days_full`:
    on which the quota was used up; `last_day`: the last with an answer, None for none.
    """
    today, first = now // DAY, now // DAY - days + 1
    recent = USAGE.c.day >= first
    limit = func.coalesce(KEYS.c.quota, usual)
    key = [KEYS.c[name] for name in ("id", "email", "created", "confirmed", "revoked", "quota")]
    use = (
        func.coalesce(func.sum(case((USAGE.c.day == today, USAGE.c.calls), else_=0)), 0).label("today"),
        func.coalesce(func.sum(case((recent, USAGE.c.calls), else_=0)), 0).label("answers"),
        func.coalesce(func.sum(case((recent & (USAGE.c.calls >= limit), 1), else_=0)), 0).label("days_full"),
        func.max(case((USAGE.c.calls > 0, USAGE.c.day))).label("last_day"),
    )
    query = select(*key, *use).outerjoin(USAGE, USAGE.c.key_id == KEYS.c.id).group_by(*key)
    with database.connect() as connection:
        return sorted(connection.execute(query).all(), key=lambda row: (-row.answers, row.id))


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
