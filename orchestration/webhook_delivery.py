"""Delivers what waits: each subscription's messages in order, at least once, and none held up by another's receiver.

Two pools work side by side: receivers that answered promptly last time, and those that failed or were slow. A round
ends within its time; what is left waits for the next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from api.access.accounts import webhooks
from api.access.accounts.database import Database
from api.access.accounts.webhooks import Message, Webhook
from orchestration import webhook_events, webhook_post
from orchestration.webhook_events import Documents
from orchestration.webhook_post import NotDelivered
from warehouse.bookkeeping import logged
from warehouse.storage import Storage

ROUND_S = 60.0
TURN_S = 20.0
"""So long one subscription may go on within a round."""
SLOW_S = 2.0
POOL = 8
_LOG = logging.getLogger("emds.webhooks")

Send = Callable[[Webhook, Message, int], None]
"""Posts a message of a subscription; raises NotDelivered."""


@dataclass(slots=True)
class Delivered:
    """What a round did."""

    subscriptions: int = 0
    made: int = 0
    """Messages."""
    delivered: int = 0
    failed: int = 0
    disabled: int = 0

    def counts(self) -> dict[str, int]:
        return asdict(self)


def sender(private: bool) -> Send:
    """The real way out; `private` for tests."""

    def send(webhook: Webhook, message: Message, now: int) -> None:
        headers = webhook_post.signed(webhook.secret, message.id, message.body, now)
        webhook_post.post(webhook.wish.url, headers, message.body, private)

    return send


def round_(
    storage: Storage,
    database: Database,
    send: Send,
    market_now: int,
    lag_s: float,
    round_s: float = ROUND_S,
    turn_s: float = TURN_S,
) -> Delivered:
    """One round over all subscriptions; `lag_s`: so long changes wait, until no reader is given older rows.

    Raises AccountsUnavailable.
    """
    done, ends = Delivered(), time.monotonic() + round_s
    documents = Documents(storage, lag_s)
    subscribed = webhooks.live(database)
    done.subscriptions = len(subscribed)
    prompt = [each for each in subscribed if not each.slow]
    slow = [each for each in subscribed if each.slow]

    def turn(webhook: Webhook) -> None:
        if time.monotonic() < ends:
            with logged(f"webhook {webhook.id}"):
                _turn(documents, database, send, webhook, market_now, min(ends, time.monotonic() + turn_s), done)

    with ThreadPoolExecutor(POOL) as first, ThreadPoolExecutor(POOL) as second:
        _ = [pool.submit(turn, each) for pool, some in ((first, prompt), (second, slow)) for each in some]
    return done


def _turn(
    documents: Documents, database: Database, send: Send, seen: Webhook, market_now: int, ends: float, done: Delivered
) -> None:
    """Makes a subscription's messages and sends them one after the other until one fails or the turn is over."""
    if not webhooks.claim(database, seen.id, int(time.time())):
        return
    try:
        while time.monotonic() < ends:
            webhook = webhooks.one(database, seen.id)
            if webhook is None or webhook.disabled:
                return
            made = _make(documents, database, webhook, market_now)
            done.made += made
            if webhook.next_at > time.time():
                return
            message = webhooks.first(database, webhook.id)
            if message is None:
                return
            if not _deliver(database, send, webhook, message, done):
                return
    finally:
        webhooks.release(database, seen.id)


def _make(documents: Documents, database: Database, webhook: Webhook, market_now: int) -> int:
    """Adds what is new; how many messages. While many wait, nothing is made: the cursor keeps the place."""
    if webhook.waiting >= webhooks.MOST_WAITING:
        return 0
    now = int(time.time())
    told = webhook_events.told(documents, webhook, now, market_now)
    if told.bodies or told.cursor != webhook.cursor or told.states != webhook.states:
        webhooks.put(database, webhook.id, told.bodies, told.cursor, told.states, now)
    return len(told.bodies)


def _deliver(database: Database, send: Send, webhook: Webhook, message: Message, done: Delivered) -> bool:
    begun = time.monotonic()
    try:
        send(webhook, message, int(time.time()))
    except NotDelivered as fault:
        now = int(time.time())
        webhooks.failed(database, webhook, str(fault), now)
        done.failed += 1
        after = webhooks.one(database, webhook.id)
        if after is not None and after.disabled:
            done.disabled += 1
            _LOG.warning("webhook %s is disabled: %s", webhook.id, after.disabled)
        return False
    webhooks.delivered(database, webhook.id, message, time.monotonic() - begun > SLOW_S, int(time.time()))
    done.delivered += 1
    return True


def waiting(subscribed: Sequence[Webhook]) -> int:
    """Messages that wait, in all."""
    return sum(each.waiting for each in subscribed)
