"""Subscriptions of webhooks and the messages that wait for each, in the accounts database.

A message and what it was made from (cursor, states) are written in one transaction, so that a kill makes none twice and
loses none. Messages of a subscription go out one after the other; whoever delivers holds a lease. Instants are true
time in Unix seconds. The secret that signs messages has to be kept as it is; nothing here logs it.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Row, and_, delete, exists, func, insert, select, update

from api.access.accounts.database import Database
from api.access.accounts.tables import KEYS, WEBHOOK_MESSAGES, WEBHOOKS
from warehouse.clock import DAY
from warehouse.errors import MarketError

EVENTS = ("changes", "price.above", "price.below", "band", "stale")
MOST_OF_A_KEY = 10
LEASE_S = 120
"""So long a subscription is its deliverer's own; a killed one's goes to the next after that."""
GIVE_UP_S = DAY
"""After so long without a delivery the subscription is disabled."""
MOST_WAITING = 100
BACK_OFF_S = (5, 15, 60, 300, 900, 1800, 3600)
_MOST_ERROR = 200


class TooManyWebhooks(MarketError):
    """The key has its ten subscriptions."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a subscriber asks for. `zones` empty: all."""

    url: str
    events: tuple[str, ...]
    zones: tuple[str, ...] = ()
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Webhook:
    """One subscription."""

    id: str
    key: int
    wish: Wish
    secret: str = field(repr=False)
    created: int
    cursor: str
    """Behind the last change that became a message."""
    states: dict[str, Any]
    """What was last told of each event and zone."""
    disabled: str
    """Why nothing is delivered any more; empty while it is."""
    failing_since: int | None
    attempts: int
    next_at: int
    slow: bool
    """Whether the last try failed or took long: such receivers wait for each other, never others for them."""
    delivered: int
    last_delivery: int | None
    last_error: str
    waiting: int
    """Messages that wait."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message that waits; `id` stays the same however often it is sent."""

    number: int
    id: str
    body: bytes


def create(database: Database, key: int, wish: Wish, cursor: str, now: int) -> Webhook:
    """A new subscription of a key, from a cursor of the log of changes on. Raises TooManyWebhooks."""
    with database.begin() as connection:
        # Two at once must not both be the tenth: the key's row is locked where the database locks rows.
        connection.execute(select(KEYS.c.id).where(KEYS.c.id == key).with_for_update())
        count = connection.execute(select(func.count()).where(WEBHOOKS.c.key_id == key)).scalar_one()
        if count >= MOST_OF_A_KEY:
            raise TooManyWebhooks(f"a key has at most {MOST_OF_A_KEY} webhooks")
        made = {
            "id": f"wh_{secrets.token_hex(12)}",
            "key_id": key,
            "url": wish.url,
            "events": orjson.dumps(wish.events).decode(),
            "zones": orjson.dumps(wish.zones).decode(),
            "threshold": None if wish.threshold is None else repr(wish.threshold),
            "secret": "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode(),
            "created": now,
            "change_cursor": cursor,
            "states": "{}",
            "disabled": "",
            "attempts": 0,
            "next_at": 0,
            "claimed_until": 0,
            "slow": 0,
            "delivered": 0,
            "last_error": "",
        }
        connection.execute(insert(WEBHOOKS).values(made))
    found = one(database, str(made["id"]), key)
    assert found is not None
    return found


def listed(database: Database, key: int | None = None) -> list[Webhook]:
    """The subscriptions of a key, or of all, the oldest first."""
    query = _query().order_by(WEBHOOKS.c.created, WEBHOOKS.c.id)
    with database.connect() as connection:
        rows = connection.execute(query if key is None else query.where(WEBHOOKS.c.key_id == key)).all()
    return [_webhook(row) for row in rows]


def one(database: Database, webhook: str, key: int | None = None) -> Webhook | None:
    """A subscription, where it is that key's."""
    query = _query().where(WEBHOOKS.c.id == webhook)
    with database.connect() as connection:
        row = connection.execute(query if key is None else query.where(WEBHOOKS.c.key_id == key)).first()
    return None if row is None else _webhook(row)


def remove(database: Database, webhook: str) -> None:
    """Ends a subscription, and what waits for it."""
    with database.begin() as connection:
        connection.execute(delete(WEBHOOK_MESSAGES).where(WEBHOOK_MESSAGES.c.webhook_id == webhook))
        connection.execute(delete(WEBHOOKS).where(WEBHOOKS.c.id == webhook))


def enable(database: Database, webhook: str) -> None:
    """Takes a disabled subscription up again; what it missed is not sent later."""
    fresh = {"disabled": "", "failing_since": None, "attempts": 0, "next_at": 0, "slow": 0, "claimed_until": 0}
    with database.begin() as connection:
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(fresh))


def disable(database: Database, webhook: str, reason: str) -> None:
    """Delivers nothing any more; what waits is dropped."""
    with database.begin() as connection:
        connection.execute(delete(WEBHOOK_MESSAGES).where(WEBHOOK_MESSAGES.c.webhook_id == webhook))
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(disabled=reason))


def live(database: Database) -> list[Webhook]:
    """The subscriptions that something may be delivered to: enabled, of keys that are not revoked."""
    query = _query().join(KEYS, KEYS.c.id == WEBHOOKS.c.key_id)
    open_ = and_(KEYS.c.revoked.is_(None), KEYS.c.confirmed.is_not(None), WEBHOOKS.c.disabled == "")
    with database.connect() as connection:
        rows = connection.execute(query.where(open_).order_by(WEBHOOKS.c.id)).all()
    return [_webhook(row) for row in rows]


def any_due(database: Database, now: int) -> bool:
    """Whether a message waits whose time has come."""
    mine = and_(WEBHOOK_MESSAGES.c.webhook_id == WEBHOOKS.c.id)
    due = (WEBHOOKS.c.disabled == "", WEBHOOKS.c.next_at <= now, WEBHOOKS.c.claimed_until <= now)
    with database.connect() as connection:
        found = select(WEBHOOKS.c.id).where(*due, exists().where(mine)).limit(1)
        return connection.execute(found).first() is not None


def claim(database: Database, webhook: str, now: int) -> bool:
    """Takes the lease of a subscription; False where another deliverer has it."""
    free = (WEBHOOKS.c.id == webhook, WEBHOOKS.c.claimed_until <= now, WEBHOOKS.c.disabled == "")
    with database.begin() as connection:
        taken = connection.execute(update(WEBHOOKS).where(*free).values(claimed_until=now + LEASE_S))
        return taken.rowcount == 1


def release(database: Database, webhook: str) -> None:
    """Gives the lease back."""
    with database.begin() as connection:
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(claimed_until=0))


def put(
    database: Database, webhook: str, bodies: Sequence[bytes], cursor: str, states: dict[str, Any], now: int
) -> None:
    """Adds messages, and notes what they were made from, together."""
    with database.begin() as connection:
        for body in bodies:
            connection.execute(insert(WEBHOOK_MESSAGES).values(_message(webhook, body, now)))
        noted = {"change_cursor": cursor, "states": orjson.dumps(states).decode()}
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(noted))


def add(database: Database, webhook: str, body: bytes, now: int) -> str:
    """Adds one message; its id."""
    message = _message(webhook, body, now)
    with database.begin() as connection:
        connection.execute(insert(WEBHOOK_MESSAGES).values(message))
    return str(message["message_id"])


def first(database: Database, webhook: str) -> Message | None:
    """The oldest message that waits."""
    table = WEBHOOK_MESSAGES.c
    query = select(table.id, table.message_id, table.body).where(table.webhook_id == webhook).order_by(table.id)
    with database.connect() as connection:
        row = connection.execute(query.limit(1)).first()
    return None if row is None else Message(row[0], row[1], row[2])


def delivered(database: Database, webhook: str, message: Message, slow: bool, now: int) -> None:
    """Notes that a message arrived: the next one is due."""
    fresh = {
        "failing_since": None,
        "attempts": 0,
        "next_at": 0,
        "slow": int(slow),
        "last_error": "",
        "last_delivery": now,
        "delivered": WEBHOOKS.c.delivered + 1,
    }
    with database.begin() as connection:
        connection.execute(delete(WEBHOOK_MESSAGES).where(WEBHOOK_MESSAGES.c.id == message.number))
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook).values(fresh))


def failed(database: Database, webhook: Webhook, reason: str, now: int) -> None:
    """Notes a failed try: the same message again after a pause, for GIVE_UP_S; then the subscription is disabled."""
    since = now if webhook.failing_since is None else webhook.failing_since
    wait = BACK_OFF_S[min(webhook.attempts, len(BACK_OFF_S) - 1)]
    noted = {
        "failing_since": since,
        "attempts": webhook.attempts + 1,
        "next_at": min(now + wait, max(now, since + GIVE_UP_S)),
        "slow": 1,
        "last_error": reason[:_MOST_ERROR],
    }
    with database.begin() as connection:
        connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == webhook.id).values(noted))
    if now >= since + GIVE_UP_S:
        disable(database, webhook.id, f"not reached for 24 hours: {reason[:_MOST_ERROR]}")


def _message(webhook: str, body: bytes, now: int) -> dict[str, Any]:
    return {"webhook_id": webhook, "message_id": f"msg_{secrets.token_hex(12)}", "body": body, "created": now}


def _query() -> Any:
    waiting = (
        select(func.count())
        .where(WEBHOOK_MESSAGES.c.webhook_id == WEBHOOKS.c.id)
        .correlate(WEBHOOKS)
        .scalar_subquery()
        .label("waiting")
    )
    return select(WEBHOOKS, waiting)


def _webhook(row: Row[Any]) -> Webhook:
    wish = Wish(
        row.url,
        tuple(orjson.loads(row.events)),
        tuple(orjson.loads(row.zones)),
        None if row.threshold is None else float(row.threshold),
    )
    return Webhook(
        row.id,
        row.key_id,
        wish,
        row.secret,
        row.created,
        row.change_cursor,
        orjson.loads(row.states),
        row.disabled,
        row.failing_since,
        row.attempts,
        row.next_at,
        bool(row.slow),
        row.delivered,
        row.last_delivery,
        row.last_error,
        row.waiting,
    )
