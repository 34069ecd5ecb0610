"""Store the subscriptions of webhooks and their pending messages in the accounts database.

A transaction writes a batch of messages and their position (cursor, states), so that a kill neither repeats nor loses
a message. A delivery first claims the subscription, so that messages go out in order. Times are true time in Unix
seconds. The secret is stored in plain text, because it signs messages; this module never logs it.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Row, Select, case, delete, func, insert, select, update

from api.access.database import Database
from api.access.tables import KEYS, PROMPT_DELIVERIES, WEBHOOK_MESSAGES, WEBHOOKS
from api.http.problems import Problem
from warehouse.market.clock import DAY, HOUR

EVENTS = ("changes", "price.above", "price.below", "band", "stale", "day_ahead")
MOST_OF_A_KEY = 10
CLAIM_S = 60
"""The seconds for which a claim lasts if its process is killed; a delivery takes at most ten seconds."""
GIVE_UP_S = DAY
"""The seconds without a delivery after which a subscription is disabled."""
MOST_WAITING = 100
SLOW_S = HOUR
"""The seconds for which a receiver counts as slow after a slow or failed delivery."""
BACK_OFF_S = (5, 15, 60, 300, 900, 1800, 3600)
_MOST_ERROR = 200


@dataclass(frozen=True, slots=True)
class Webhook:
    """A subscription."""

    id: str
    key: int
    url: str
    events: tuple[str, ...]
    zones: tuple[str, ...]
    """The zones; empty for all zones."""
    threshold: float | None
    secret: str = field(repr=False)
    created: int
    cursor: str
    """The position in the change log up to which changes have become messages."""
    states: dict[str, Any]
    """The state last reported, by event and zone."""
    disabled: str
    """The reason why nothing is delivered; empty while messages are delivered."""
    failing_since: int | None
    attempts: int
    next_at: int
    """The earliest time of the next attempt: that of the last attempt, or later while attempts fail."""
    slow: bool
    """Whether the receiver is new, still lacks prompt deliveries, or failed or was slow within the last hour. Slow
    receivers share separate threads."""
    delivered: int
    last_delivery: int | None
    last_error: str
    waiting: int
    """The number of pending messages."""


@dataclass(frozen=True, slots=True)
class Message:
    """A pending message; `id` is the same for every attempt."""

    number: int
    id: str
    body: bytes


def create(database: Database, key: int, wanted: Mapping[str, Any], cursor: str, now: int) -> Webhook:
    """Create a subscription of a key that starts at a cursor of the change log. Raises Problem 409.

    `wanted` has its `url`, `events`, `zones` and `threshold`.
    """
    with database.begin() as connection:
        # The lock on the key's row, if the database locks rows, keeps two requests from both adding the tenth.
        connection.execute(select(KEYS.c.id).where(KEYS.c.id == key).with_for_update())
        count = connection.execute(select(func.count()).where(WEBHOOKS.c.key_id == key)).scalar_one()
        if count >= MOST_OF_A_KEY:
            detail = f"This key already has {MOST_OF_A_KEY} webhooks. Delete one with DELETE /v1/webhooks/{{id}}."
            raise Problem("too-many-webhooks", detail)
        row = {
            "id": f"wh_{secrets.token_hex(12)}",
            "key_id": key,
            "url": wanted["url"],
            "events": orjson.dumps(wanted["events"]).decode(),
            "zones": orjson.dumps(wanted["zones"]).decode(),
            "threshold": None if wanted["threshold"] is None else repr(wanted["threshold"]),
            "secret": "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode(),
            "created": now,
            "change_cursor": cursor,
            "next_at": now,
        }
        connection.execute(insert(WEBHOOKS).values(row))
        return _webhook(connection.execute(_query().where(WEBHOOKS.c.id == row["id"])).one())


def listed(database: Database, key: int | None = None) -> list[Webhook]:
    """List the subscriptions of a key, or of all keys, oldest first."""
    query = _query().where(WEBHOOKS.c.key_id == key) if key is not None else _query()
    return _read(database, query.order_by(WEBHOOKS.c.created, WEBHOOKS.c.id))


def get(database: Database, webhook: str, key: int | None = None) -> Webhook | None:
    """Return a subscription, or None if it does not exist or belongs to another key."""
    return next((each for each in listed(database, key) if each.id == webhook), None)


def remove(database: Database, webhook: str) -> None:
    """Delete a subscription and its messages."""
    with database.begin() as connection:
        connection.execute(delete(WEBHOOK_MESSAGES).where(WEBHOOK_MESSAGES.c.webhook_id == webhook))
        connection.execute(delete(WEBHOOKS).where(WEBHOOKS.c.id == webhook))


def enable(database: Database, webhook: str) -> None:
    """Enable a disabled subscription. Its undelivered messages are lost; changes continue from its cursor."""
    fresh = {"disabled": "", "failing_since": None, "attempts": 0, "next_at": 0, "claimed_until": 0}
    fresh |= {"slow": PROMPT_DELIVERIES}
    with database.begin() as connection:
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(fresh))


def disable(database: Database, webhook: str, reason: str) -> None:
    """Disable a subscription and delete its messages."""
    with database.begin() as connection:
        connection.execute(delete(WEBHOOK_MESSAGES).where(WEBHOOK_MESSAGES.c.webhook_id == webhook))
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(disabled=reason))


def deliverable(database: Database) -> list[Webhook]:
    """Return the enabled subscriptions of confirmed active keys, the least recently attempted first."""
    query = _query().join(KEYS, KEYS.c.id == WEBHOOKS.c.key_id)
    open_ = (KEYS.c.revoked.is_(None), KEYS.c.confirmed.is_not(None), WEBHOOKS.c.disabled == "")
    return _read(database, query.where(*open_).order_by(WEBHOOKS.c.next_at, WEBHOOKS.c.id))


def count_waiting(database: Database) -> int:
    """Return the number of pending messages."""
    with database.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(WEBHOOK_MESSAGES)).scalar_one())


def claim(database: Database, webhook: str, now: int) -> Message | None:
    """Claim a subscription and return its oldest message; None if another process has it or nothing is due."""
    due = (WEBHOOKS.c.claimed_until <= now, WEBHOOKS.c.next_at <= now, WEBHOOKS.c.disabled == "")
    table = WEBHOOK_MESSAGES.c
    oldest = select(table.id, table.message_id, table.body).where(table.webhook_id == webhook).order_by(table.id)
    with database.begin() as connection:
        claimed = update(WEBHOOKS).where(WEBHOOKS.c.id == webhook, *due).values(claimed_until=now + CLAIM_S)
        if connection.execute(claimed).rowcount != 1:
            return None
        row = connection.execute(oldest.limit(1)).first()
        if row is None:
            connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(claimed_until=0))
            return None
    return Message(*row)


def enqueue_batch(
    database: Database, webhook: Webhook, bodies: Sequence[bytes], cursor: str, states: dict[str, Any], now: int
) -> bool:
    """Add messages and move the subscription's position, in a transaction.

    Return False, and change nothing, if another process moved the position.
    """
    unmoved = (WEBHOOKS.c.change_cursor == webhook.cursor, WEBHOOKS.c.states == orjson.dumps(webhook.states).decode())
    position = {"change_cursor": cursor, "states": orjson.dumps(states).decode()}
    with database.begin() as connection:
        moved = update(WEBHOOKS).where(WEBHOOKS.c.id == webhook.id, WEBHOOKS.c.disabled == "", *unmoved)
        if connection.execute(moved.values(position)).rowcount != 1:
            return False
        if bodies:
            connection.execute(insert(WEBHOOK_MESSAGES), [_message(webhook.id, body, now) for body in bodies])
    return True


def add(database: Database, webhook: str, body: bytes, now: int) -> str:
    """Add a message and return its ID."""
    message = _message(webhook, body, now)
    with database.begin() as connection:
        connection.execute(insert(WEBHOOK_MESSAGES).values(message))
    return str(message["message_id"])


def record_delivery(database: Database, webhook: str, message: Message, slow: bool, now: int) -> bool:
    """Remove a delivered message and end the claim. Return whether the receiver now counts as slow."""
    success = {
        "failing_since": None,
        "attempts": 0,
        "next_at": now,
        "claimed_until": 0,
        **(_slow_from(now) if slow else {"slow": case((WEBHOOKS.c.slow > 0, WEBHOOKS.c.slow - 1), else_=0)}),
        "last_error": "",
        "last_delivery": now,
        "delivered": WEBHOOKS.c.delivered + 1,
    }
    with database.begin() as connection:
        connection.execute(delete(WEBHOOK_MESSAGES).where(WEBHOOK_MESSAGES.c.id == message.number))
        recorded = update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(success)
        row = connection.execute(recorded.returning(WEBHOOKS.c.slow, WEBHOOKS.c.slow_until)).first()
    return row is None or _is_slow(row.slow, row.slow_until, now)


def record_failure(database: Database, webhook: Webhook, reason: str, now: int) -> str:
    """End the claim and schedule the next attempt. After GIVE_UP_S, disable the subscription.

    Return the reason if it is disabled, else "".
    """
    since = now if webhook.failing_since is None else webhook.failing_since
    wait = BACK_OFF_S[min(webhook.attempts, len(BACK_OFF_S) - 1)]
    failure = {
        "failing_since": since,
        "attempts": webhook.attempts + 1,
        "next_at": min(now + wait, max(now, since + GIVE_UP_S)),
        "claimed_until": 0,
        **_slow_from(now),
        "last_error": reason[:_MOST_ERROR],
    }
    with database.begin() as connection:
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook.id).values(failure))
    if now < since + GIVE_UP_S:
        return ""
    why = f"not reached for 24 hours: {reason[:_MOST_ERROR]}"
    disable(database, webhook.id, why)
    return why


def _slow_from(now: int) -> dict[str, int]:
    """Return the values that mark a receiver as slow."""
    return {"slow": PROMPT_DELIVERIES, "slow_until": now + SLOW_S}


def _is_slow(owed: int, until: int, now: float) -> bool:
    return owed > 0 or now < until


def _message(webhook: str, body: bytes, now: int) -> dict[str, Any]:
    return {"webhook_id": webhook, "message_id": f"msg_{secrets.token_hex(12)}", "body": body, "created": now}


def _query() -> Select[Any]:
    """Select subscriptions with the number of their messages."""
    mine = WEBHOOK_MESSAGES.c.webhook_id == WEBHOOKS.c.id
    waiting = select(func.count()).where(mine).correlate(WEBHOOKS).scalar_subquery()
    return select(WEBHOOKS, waiting.label("waiting"))


def _read(database: Database, query: Select[Any]) -> list[Webhook]:
    with database.connect() as connection:
        return [_webhook(row) for row in connection.execute(query)]


def _webhook(row: Row[Any]) -> Webhook:
    own = {name: getattr(row, name) for name in Webhook.__slots__ if name in row._fields}
    own |= {name: tuple(orjson.loads(own[name])) for name in ("events", "zones")}
    own |= {"key": row.key_id, "cursor": row.change_cursor, "states": orjson.loads(row.states)}
    own |= {"slow": _is_slow(row.slow, row.slow_until, time.time())}
    return Webhook(**own | {"threshold": None if row.threshold is None else float(row.threshold)})
