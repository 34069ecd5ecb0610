"""Delivers webhooks: each subscription's messages in order, at least once, and no receiver at another's expense.

A round first turns news into messages, then sends them from one pool of threads. The key served longest ago comes next,
and of its subscriptions the one served longest ago, so that the next round goes on where this one ended. Receivers that
failed or were slow, and new ones, share half of the threads.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace

from api.access import webhooks
from api.access.database import AccountsUnavailable, Database
from api.access.webhooks import Message, Webhook
from orchestration.webhooks import events, transport
from orchestration.webhooks.events import Documents
from orchestration.webhooks.transport import TOTAL_S, NotDelivered
from warehouse.bookkeeping import logged
from warehouse.store.storage import Storage

ROUND_S = 60.0
SLOW_S = 2.0
"""A delivery that took longer makes its receiver a slow one."""
THREADS = 16
SLOW_THREADS = 8
KEY_THREADS = 2
"""Deliveries of one key that may be under way at once."""
_LOG = logging.getLogger("emds.webhooks")

Send = Callable[[Webhook, Message, int], None]
"""Posts a message of a subscription; raises NotDelivered."""


@dataclass(slots=True)
class RoundCounts:
    """What a round did."""

    subscriptions: int = 0
    created: int = 0
    """Messages."""
    delivered: int = 0
    failed: int = 0
    disabled: int = 0

    def by_name(self) -> dict[str, int]:
        return asdict(self)


def sender(private: bool) -> Send:
    """Return the function that posts over the network; `private` for tests."""

    def send(webhook: Webhook, message: Message, now: int) -> None:
        headers = transport.signed(webhook.secret, message.id, message.body, now)
        transport.post(webhook.subscription.url, headers, message.body, private)

    return send


def run_round(
    storage: Storage, database: Database, send: Send, market_now: int, lag_s: float, round_s: float = ROUND_S
) -> RoundCounts:
    """Deliver what is due, within `round_s`. Raises AccountsUnavailable.

    Changes younger than `lag_s` wait: a reader might not see their rows yet.
    """
    begun = time.monotonic()
    documents = Documents(storage, lag_s)
    subscribed = webhooks.deliverable(database)
    counts = RoundCounts(subscriptions=len(subscribed))
    waiting: list[Webhook] = []
    for webhook in subscribed:
        created = 0
        if time.monotonic() < begun + round_s / 2:
            with logged(f"webhook {webhook.id}"):
                created = _enqueue_news(documents, database, webhook, market_now)
        counts.created += created
        if webhook.waiting + created and webhook.next_at <= time.time():
            waiting.append(replace(webhook, waiting=webhook.waiting + created))
    _deliver(database, send, _Queue(waiting), begun + round_s, counts)
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


class _Queue:
    """Decides which subscription is served next: by key, the key served longest ago first."""

    def __init__(self, subscribed: Sequence[Webhook]) -> None:
        """`subscribed`: those with messages that are due, the one served longest ago first."""
        served: dict[int, int] = {}
        for webhook in subscribed:
            served[webhook.key] = max(webhook.next_at, served.get(webhook.key, 0))
        self._keys: dict[int, deque[Webhook]] = {key: deque() for key in sorted(served, key=lambda key: served[key])}
        for webhook in subscribed:
            self._keys[webhook.key].append(webhook)
        self._active: Counter[int] = Counter()
        self._slow = 0

    def take(self) -> Webhook | None:
        """Return the next subscription to serve, or None while none may be."""
        for key, waiting in self._keys.items():
            if self._active[key] == KEY_THREADS:
                continue
            webhook = next((each for each in waiting if self._slow < SLOW_THREADS or not each.slow), None)
            if webhook is not None:
                waiting.remove(webhook)
                self._keys[key] = self._keys.pop(key)  # to the end of the line
                self._active[key] += 1
                self._slow += webhook.slow
                return webhook
        return None

    def end(self, webhook: Webhook, after: Webhook | None) -> None:
        """End a turn; `after` is the subscription as it stands now, where it has more to send."""
        self._active[webhook.key] -= 1
        self._slow -= webhook.slow
        if after is not None:
            self._keys[webhook.key].append(after)


def _deliver(database: Database, send: Send, queue: _Queue, ends: float, counts: RoundCounts) -> None:
    active: dict[Future[_Attempt], Webhook] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        while True:
            # A delivery begins only where its own time limit lies within the round's.
            while len(active) < THREADS and time.monotonic() + TOTAL_S <= ends and (webhook := queue.take()):
                active[pool.submit(_attempt, database, send, webhook)] = webhook
            if not active:
                return
            for future in wait(active, return_when=FIRST_COMPLETED).done:
                webhook, attempt = active.pop(future), _Attempt()
                with logged(f"webhook {webhook.id}") as outcome:
                    attempt = future.result()
                if isinstance(outcome.error, AccountsUnavailable):
                    raise outcome.error
                counts.delivered += attempt.delivered
                counts.failed += attempt.failed
                counts.disabled += bool(attempt.disabled)
                queue.end(webhook, attempt.after)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """How one attempt ended; neither delivered nor failed where another deliverer was first."""

    delivered: bool = False
    failed: bool = False
    disabled: str = ""
    after: Webhook | None = None
    """The subscription as it stands then, where another message may follow now."""


def _attempt(database: Database, send: Send, webhook: Webhook) -> _Attempt:
    """Send a subscription's oldest message."""
    message = webhooks.claim(database, webhook.id, int(time.time()))
    if message is None:
        return _Attempt()
    begun = time.monotonic()
    try:
        send(webhook, message, int(time.time()))
    except NotDelivered as fault:
        if why := webhooks.record_failure(database, webhook, str(fault), int(time.time())):
            _LOG.warning("webhook %s is disabled: %s", webhook.id, why)
        return _Attempt(failed=True, disabled=why)
    slow = time.monotonic() - begun > SLOW_S
    webhooks.record_delivery(database, webhook.id, message, slow, int(time.time()))
    left = webhook.waiting - 1
    after = replace(webhook, slow=slow, waiting=left, failing_since=None, attempts=0) if left else None
    return _Attempt(delivered=True, after=after)
