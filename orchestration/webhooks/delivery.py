"""Delivers webhooks: each subscription's messages in order, at least once, and no receiver at another's expense.

A round first turns news into messages, then sends them. The key served longest ago comes first, so that the next round
goes on where this one ended. Receivers that failed or were slow, and new ones, have threads of their own. A delivery to
a prompt receiver that turns out to be slow leaves its thread to the next one, and no key takes the prompt receivers'
threads for more than a few seconds of a round.
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
"""A delivery that took longer makes its receiver a slow one."""
THREADS = 8
"""For prompt receivers, and as many for slow ones."""
PROMPT_S_OF_KEY = 5.0
"""Seconds of the prompt receivers' threads that one key gets in a round; its further messages go with the slow ones."""
_SENDING = 64
"""Threads that post for prompt receivers: eight wait two seconds each, and a post ends within ten."""
SPARE_S = 1.0
"""The clocks of machines differ."""
_LOG = logging.getLogger("emds.webhooks")

Send = Callable[[Webhook, Message, int], None]
"""Posts a message of a subscription; raises NotDelivered."""


class Attempt(NamedTuple):
    """What came of an attempt."""

    counts: Mapping[str, int]
    after: Webhook | None = None
    """The subscription as it stands then, where another message may follow now."""
    sending: Future[Attempt] | None = None
    """The delivery that goes on elsewhere, since it took too long for a prompt receiver's thread."""


def run_now() -> dict[str, int]:
    """Run one round in this environment; return what it did, by name. Raises AccountsUnavailable."""
    settings = Settings.from_environ(os.environ)
    with closing(Database(settings.database_url)) as database:
        send = sender(settings.allow_private_webhooks)
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
    taken, counting = defaultdict[int, float](float), threading.Lock()  # seconds of prompt receivers' threads, by key
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
            for future in active:  # whoever ends this waits for what is under way alone
                future.cancel()


def _claim(database: Database, webhook: Webhook, ends: float) -> Message | None:
    """Claim a subscription's oldest message, if it can be sent within the round and no other deliverer has it."""
    if time.monotonic() + TOTAL_S > ends:
        return None
    return webhooks.claim(database, webhook.id, int(time.time()))


def _send(database: Database, send: Send, webhook: Webhook, message: Message) -> Attempt:
    """Send a claimed message, and record what came of it."""
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
