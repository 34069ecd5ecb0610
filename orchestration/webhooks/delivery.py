"""Delivers webhooks: each subscription's messages in order, at least once, and no receiver at another's expense.

A round first turns news into messages, then sends them. The key served longest ago comes first, so that the next round
goes on where this one ended. Receivers that failed or were slow, and new ones, have threads of their own.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest

from api.access import webhooks
from api.access.database import AccountsUnavailable, Database
from api.access.webhooks import Message, Webhook
from api.documents import changes
from api.service import lag_s
from api.settings import Settings
from orchestration.webhooks import events, transport
from orchestration.webhooks.events import Documents
from orchestration.webhooks.transport import TOTAL_S, NotDelivered
from orchestration.work.environment import opened
from warehouse.bookkeeping import logged
from warehouse.market import clock
from warehouse.series import change_log
from warehouse.store import layout
from warehouse.store.storage import Storage

ROUND_S = 60.0
SLOW_S = 2.0
"""A delivery that took longer makes its receiver a slow one."""
THREADS = 8
"""For prompt receivers, and as many for slow ones."""
SPARE_S = 1.0
"""The clocks of machines differ."""
_LOG = logging.getLogger("emds.webhooks")

Send = Callable[[Webhook, Message, int], None]
"""Posts a message of a subscription; raises NotDelivered."""
Attempt = tuple[Mapping[str, int], Webhook | None]


def run_now() -> dict[str, int]:
    """Run one round in this environment; return what it did, by name. Raises AccountsUnavailable."""
    settings = Settings.from_environ(os.environ)
    with closing(Database(settings.database_url)) as database:
        send = sender(settings.webhook_private)
        return dict(run_round(opened(os.environ), database, send, clock.now(), settled_s(settings)))


def position() -> str:
    """Return the position of the change log and the version of the documents: when it changes, there may be news."""
    storage, until = opened(os.environ), changes.settled(settled_s(Settings.from_environ(os.environ)))
    snapshot = storage.stat(layout.published(layout.SNAPSHOT))
    return f"{change_log.newest(storage, until)} {snapshot.version if snapshot else 0}"


def due() -> tuple[bool, bool]:
    """Return whether anybody subscribed, and whether a waiting message is due. Raises AccountsUnavailable."""
    with closing(Database(Settings.from_environ(os.environ).database_url)) as database:
        subscribed = webhooks.deliverable(database)
    return bool(subscribed), any(each.waiting and each.next_at <= time.time() for each in subscribed)


def settled_s(settings: Settings) -> float:
    """Return for how many seconds a change waits: as long as a worker of the API may still give older rows."""
    return lag_s(settings) + SPARE_S


def sender(private: bool) -> Send:
    """Return the function that posts over the network; `private` for tests."""

    def send(webhook: Webhook, message: Message, now: int) -> None:
        headers = transport.signed(webhook.secret, message.id, message.body, now)
        transport.post(webhook.url, headers, message.body, private)

    return send


def run_round(
    storage: Storage, database: Database, send: Send, market_now: int, lag_s: float, round_s: float = ROUND_S
) -> Counter[str]:
    """Deliver what is due, within `round_s`. Raises AccountsUnavailable.

    Return how many `subscriptions` there are, messages were `created`, `delivered` or `failed`, and subscriptions were
    `disabled`. Changes younger than `lag_s` wait: a reader might not see their rows yet.
    """
    begun = time.monotonic()
    documents = Documents(storage, lag_s)
    subscribed = webhooks.deliverable(database)
    counts = Counter(subscriptions=len(subscribed), created=0, delivered=0, failed=0, disabled=0)
    waiting: list[Webhook] = []
    for webhook in subscribed:
        created = 0
        if time.monotonic() < begun + round_s / 2:
            with logged(f"webhook {webhook.id}"):
                created = _enqueue_news(documents, database, webhook, market_now)
        counts["created"] += created
        if webhook.waiting + created and webhook.next_at <= time.time():
            waiting.append(replace(webhook, waiting=webhook.waiting + created))
    _deliver(database, send, in_turns(waiting), begun + round_s, counts)
    return counts


def _enqueue_news(documents: Documents, database: Database, webhook: Webhook, market_now: int) -> int:
    """Turn what is new for a subscription into messages; return how many. While many wait, news wait in the log."""
    now, created = int(time.time()), 0
    while webhook.waiting + created < webhooks.MOST_WAITING:
        news = events.news_for(documents, webhook, now, market_now)
        if not (news.bodies or news.states != webhook.states or events.is_far(webhook.cursor, news.cursor)):
            break  # idle subscriptions are read and not written
        if not webhooks.enqueue_batch(database, webhook, news.bodies, news.cursor, news.states, now):
            break  # another process was first
        created += len(news.bodies)
        if not news.more:
            break
        webhook = replace(webhook, cursor=news.cursor, states=news.states)
    return created


def in_turns(subscribed: Sequence[Webhook]) -> list[Webhook]:
    """Order subscriptions so that keys take turns, the key served longest ago first.

    `subscribed`: the subscription served longest ago first.
    """
    by_key: dict[int, list[Webhook]] = {}
    for webhook in subscribed:
        by_key.setdefault(webhook.key, []).append(webhook)
    keys = sorted(by_key.values(), key=lambda own: max(webhook.next_at for webhook in own))
    return [webhook for turn in zip_longest(*keys) for webhook in turn if webhook is not None]


def _deliver(database: Database, send: Send, subscribed: Sequence[Webhook], ends: float, counts: Counter[str]) -> None:
    """Send the oldest message of each; a subscription that has more goes to the end of the line."""
    active: dict[Future[Attempt], Webhook] = {}
    with ThreadPoolExecutor(THREADS) as prompt, ThreadPoolExecutor(THREADS) as slow:

        def enqueue(webhook: Webhook) -> None:
            pool = slow if webhook.slow else prompt
            active[pool.submit(_attempt, database, send, webhook, ends)] = webhook

        try:
            for webhook in subscribed:
                enqueue(webhook)
            while active:
                for future in wait(active, return_when=FIRST_COMPLETED).done:
                    webhook = active.pop(future)
                    with logged(f"webhook {webhook.id}") as outcome:
                        counted, after = future.result()
                        counts.update(counted)
                        if after is not None:
                            enqueue(after)
                    if isinstance(outcome.error, AccountsUnavailable):
                        raise outcome.error
        finally:
            for future in active:  # whoever ends this waits for what is under way alone
                future.cancel()


def _attempt(database: Database, send: Send, webhook: Webhook, ends: float) -> Attempt:
    """Send a subscription's oldest message, where its time limit lies within the round's and no other deliverer has it.

    Return what to count, and the subscription as it stands then where another message may follow now.
    """
    message = None
    if time.monotonic() + TOTAL_S <= ends:
        message = webhooks.claim(database, webhook.id, int(time.time()))
    if message is None:
        return {}, None
    begun = time.monotonic()
    try:
        send(webhook, message, int(time.time()))
    except NotDelivered as fault:
        if why := webhooks.record_failure(database, webhook, str(fault), int(time.time())):
            _LOG.warning("webhook %s is disabled: %s", webhook.id, why)
        return {"failed": 1, "disabled": int(bool(why))}, None
    slow = time.monotonic() - begun > SLOW_S
    webhooks.record_delivery(database, webhook.id, message, slow, int(time.time()))
    left = webhook.waiting - 1
    after = replace(webhook, slow=slow, waiting=left, failing_since=None, attempts=0) if left else None
    return {"delivered": 1}, after
