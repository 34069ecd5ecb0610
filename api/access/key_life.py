"""Show, rotate and revoke keys for their holders, and list, limit and revoke keys for the operator.

`api.access.sign_up` creates keys.
"""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import Row, case, delete, func, insert, select, update

from api.access import keys
from api.access.database import Database
from api.access.key_spelling import digest_of, spell
from api.access.sign_up import private_json
from api.access.tables import KEYS, PREVIOUS_KEYS, USAGE
from api.access.values import NO_STORE
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.problems import Problem
from api.service import Service
from warehouse.market.clock import DAY

OVERLAP_S = DAY
"""The seconds for which a rotated key still works."""


def key_uses(database: Database, days: int, default: int, now: int) -> list[Row[Any]]:
    """Return every key with its use in the last `days` UTC days, the busiest first.

    `quota` is the key's own limit per day, or None for the default. `today` and `answers` count responses today and in
    those days. `days_full` counts days on which the quota was exhausted. `last_day` is the last day with a response,
    or None. Times are Unix seconds, and days are counted from 1970-01-01 UTC.
    """
    today, first = now // DAY, now // DAY - days + 1
    recent = USAGE.c.day >= first
    limit = func.coalesce(KEYS.c.quota, default)
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
    """Set a key's own quota, or the default if `quota` is None. Return whether the key exists."""
    with database.begin() as connection:
        return bool(connection.execute(update(KEYS).where(KEYS.c.id == key).values(quota=quota)).rowcount)


def rotate(database: Database, digest: bytes, now: int) -> str | None:
    """Return a rotated key with the same usage and quota; None if no active key has `digest` any more.

    The previous key works for OVERLAP_S more seconds; older keys stop at once. Of two simultaneous rotations, one
    succeeds.
    """
    key = spell(secrets.token_bytes(32))
    mine = (KEYS.c.digest == digest, KEYS.c.revoked.is_(None))
    change = update(KEYS).where(*mine).values(digest=digest_of(key)).returning(KEYS.c.id)
    with database.begin() as connection:
        number = connection.execute(change).scalar()
        if number is None:
            return None
        connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.key_id == number))
        connection.execute(insert(PREVIOUS_KEYS).values(digest=digest, key_id=number, until=now + OVERLAP_S))
    return key


def revoke(database: Database, key: int | bytes, now: int) -> bool:
    """Revoke a key, by its number or digest, and its previous keys; its usage stays.

    The digest of a previous key revokes only that key. Return whether such a key existed.
    """
    mine = KEYS.c.digest == key if isinstance(key, bytes) else KEYS.c.id == key
    with database.begin() as connection:
        ended = update(KEYS).where(mine).values(revoked=func.coalesce(KEYS.c.revoked, now))
        if connection.execute(ended).rowcount:
            return True
        before = delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.digest == key)
        return isinstance(key, bytes) and bool(connection.execute(before).rowcount)


def _usage(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    now, (_, usage) = service.gate.now, service.gate.admit_holder(request)
    quota = {
        "limit": usage.limit,
        "window": "day",
        "used": usage.used,
        "remaining": max(0, usage.limit - usage.used),
        "resets_at": keys.resets_at(now),
    }
    headers = keys.rate_limit(usage.used, usage.limit, now)
    return private_json({"quota": quota, "created": usage.created}).with_headers(headers)


def _rotate(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    gate, now = service.gate, service.gate.now
    digest, _ = gate.admit_holder(request)
    key = rotate(gate.database, digest, now)
    if key is None:
        gate.require_key(request)  # 401 if it was revoked meanwhile
        raise Problem("key-rotated", "This key was already rotated. Rotate the key that replaced it.")
    return private_json({"api_key": key, "previous_valid_until": now + OVERLAP_S}, 201)


def _revoke(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    revoke(service.gate.database, service.gate.admit_holder(request)[0], service.gate.now)
    return Response(204, [NO_STORE])


VIEWS: dict[str, View] = {"usage": _usage, "rotate": _rotate, "revoke": _revoke}
