"""Deliver webhooks: each subscription's messages in order and at least once; slow receivers do not delay others.

A round first turns news into messages and then sends them. The key served longest ago comes first, so that the next
round continues where this round ended. New, slow and failing receivers have separate threads. If a prompt receiver
turns out to be slow, its delivery leaves its thread to the next delivery. No key uses the threads for prompt receivers
for more than a few seconds of a round.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from api.access import webhooks
from api.access.accounts_engine import AccountsUnavailable
from api.access.database import Database
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
"""A delivery that took longer marks its receiver as slow."""
THREADS = 8
"""The number of threads for prompt receivers, and for slow receivers."""
PROMPT_S_OF_KEY = 5.0
"""Seconds of the prompt receivers' threads that a key gets per round; its further messages use the slow threads."""
_SENDING = 64
"""Threads that post for prompt receivers: each of the eight waits two seconds, and a post ends within ten."""
SPARE_S = 1.0
"""Margin for clock differences between machines."""
_LOG = logging.getLogger("emds.webhooks")

Send = Callable[[Webhook, Message, int], None]
"""Posts a message of a subscription; raises NotDelivered."""


class Attempt(NamedTuple):
    """The outcome of an attempt."""

    counts: Mapping[str, int]
    after: Webhook | None = None
    """The subscription after the attempt, if another message may follow now."""
    sending: Future[Attempt] | None = None
    """The delivery that continues in another thread because it took too long for a prompt receiver's thread."""


def run_now() -> dict[str, int]:
    """Run a round in this environment and return its counts by name. Raises AccountsUnavailable."""
    settings = Settings.from_environ(os.environ)
    with closing(Database(settings.database_url)) as database:
        send = sender(settings.allow_private_webhooks)
        return dict(run_round(opened(os.environ), database, send, clock.now(), settled_s(settings)))


def position() -> str:
    """Return the position of the change log and the version of the documents; a change may be news."""
    storage, until = opened(os.environ), changes.settled(settled_s(Settings.from_environ(os.environ)))
    snapshot = storage.stat(layout.published(layout.SNAPSHOT))
    return f"{change_log.newest(storage, until)} {snapshot.version if snapshot else 0}"


def due() -> tuple[bool, bool]:
    """Return whether there are subscriptions, and whether a waiting message is due. Raises AccountsUnavailable."""
    with closing(Database(Settings.from_environ(os.environ).database_url)) as database:
        subscribed = webhooks.deliverable(database)
    return bool(subscribed), any(each.waiting and each.next_at <= time.time() for each in subscribed)


def settled_s(settings: Settings) -> float:
    """Return the seconds for which a change waits: as long as a worker of the API may return older rows."""
    return lag_s(settings) + SPARE_S


def sender(private: bool) -> Send:
    """Return the function that posts over the network. `private` allows private receivers, for tests."""

    def send(webhook: Webhook, message: Message, now: int) -> None:
        headers = transport.signed(webhook.secret, message.id, message.body, now)
        transport.post(webhook.url, headers, message.body, private)

    return send


def run_round(
    storage: Storage, database: Database, send: Send, market_now: int, lag_s: float, round_s: float = ROUND_S
) -> Counter[str]:
    """Deliver what is due within `round_s` seconds. Raises AccountsUnavailable.

    Return the number of `subscriptions`, of messages `created`, `delivered` and `failed`, and of subscriptions
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
    """Turn a subscription's news into messages and return their number. If too many wait, news stays in the log."""
    now, created = int(time.time()), 0
    while webhook.waiting + created < webhooks.MOST_WAITING:
        news = events.news_for(documents, webhook, now, market_now)
        if not (news.bodies or news.states != webhook.states or events.is_far(webhook.cursor, news.cursor)):
            break  # idle subscriptions are read but not written
        if not webhooks.enqueue_batch(database, webhook, news.bodies, news.cursor, news.states, now):
            break  # another process was first
        created += len(news.bodies)
        if not news.more:
            break
        webhook = replace(webhook, cursor=news.cursor, states=news.states)
    return created


def in_turns(subscribed: Sequence[Webhook]) -> list[Webhook]:
    """Order subscriptions so that keys take turns, starting with the key served longest ago.

    `subscribed` starts with the subscription served longest ago.
    """
    by_key: dict[int, list[Webhook]] = {}
    for webhook in subscribed:
        by_key.setdefault(webhook.key, []).append(webhook)
    keys = sorted(by_key.values(), key=lambda own: max(webhook.next_at for webhook in own))
    return [webhook for turn in zip_longest(*keys) for webhook in turn if webhook is not None]


def _deliver(database: Database, send: Send, subscribed: Sequence[Webhook], ends: float, counts: Counter[str]) -> None:
    """Send the oldest message of each subscription; a subscription with more messages rejoins the end of the queue."""
    active: dict[Future[Attempt], Webhook] = {}
    taken, counting = defaultdict[int, float](float), threading.Lock()  # seconds of prompt receivers' threads by key
    with (
        ThreadPoolExecutor(THREADS) as prompt,
        ThreadPoolExecutor(THREADS, "slow") as slow,
        ThreadPoolExecutor(_SENDING, "sending") as line,
    ):

        def attempt_promptly(webhook: Webhook) -> Attempt:
            if taken[webhook.key] >= PROMPT_S_OF_KEY:
                return Attempt({}, replace(webhook, slow=True))
            message = _claim(database, webhook, ends)
            if message is None:
                return Attempt({})
            begun = time.monotonic()
            sending = line.submit(_send, database, send, webhook, message)
            done = wait([sending], SLOW_S).done
            with counting:
                taken[webhook.key] += time.monotonic() - begun
            return sending.result() if done else Attempt({}, sending=sending)

        def attempt_slowly(webhook: Webhook) -> Attempt:
            message = _claim(database, webhook, ends)
            return Attempt({}) if message is None else _send(database, send, webhook, message)

        def enqueue(webhook: Webhook) -> None:
            pool, attempt = (slow, attempt_slowly) if webhook.slow else (prompt, attempt_promptly)
            active[pool.submit(attempt, webhook)] = webhook

        try:
            for webhook in subscribed:
                enqueue(webhook)
            while active:
                for future in wait(active, return_when=FIRST_COMPLETED).done:
                    webhook = active.pop(future)
                    with logged(f"webhook {webhook.id}") as outcome:
                        attempt = future.result()
                        counts.update(attempt.counts)
                        if attempt.sending is not None:
                            active[attempt.sending] = webhook
                        if attempt.after is not None:
                            enqueue(attempt.after)
                    if isinstance(outcome.error, AccountsUnavailable):
                        raise outcome.error
        finally:
            for future in active:  # a process that ends this waits only for messages in progress
                future.cancel()


def _claim(database: Database, webhook: Webhook, ends: float) -> Message | None:
    """Claim a subscription's oldest message, if the round has time for it and no other process has claimed it."""
    if time.monotonic() + TOTAL_S > ends:
        return None
    return webhooks.claim(database, webhook.id, int(time.time()))


def _send(database: Database, send: Send, webhook: Webhook, message: Message) -> Attempt:
    """Send a claimed message and record the outcome."""
    begun = time.monotonic()
    try:
        send(webhook, message, int(time.time()))
    except NotDelivered as fault:
        if why := webhooks.record_failure(database, webhook, str(fault), int(time.time())):
            _LOG.warning("webhook %s is disabled: %s", webhook.id, why)
        return Attempt({"failed": 1, "disabled": int(bool(why))})
    was_slow = time.monotonic() - begun > SLOW_S
    slow = webhooks.record_delivery(database, webhook.id, message, was_slow, int(time.time()))
    left = webhook.waiting - 1
    after = replace(webhook, slow=slow, waiting=left, failing_since=None, attempts=0) if left else None
    return Attempt({"delivered": 1}, after)
