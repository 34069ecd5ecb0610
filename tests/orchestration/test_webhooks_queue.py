"""Which subscription is served next: by key, the key served longest ago first; slow receivers share few threads."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from api.access.webhooks import Subscription, Webhook
from orchestration.webhooks.delivery import KEY_THREADS, SLOW_THREADS, THREADS, _Queue

SUBSCRIPTION = Subscription("https://hook.example/", ("changes",))
KEYS, SLOW = st.integers(1, 16), st.booleans()


def webhook(number: int, key: int, slow: bool) -> Webhook:
    return Webhook(
        f"wh_{number}", key, SUBSCRIPTION, "", 0, "", {}, "", None, 0, number, slow, 0, None, "", waiting=1
    )  # fmt: skip


@example([(key, True) for key in range(1, 13)], [])
@given(st.lists(st.tuples(KEYS, SLOW), max_size=80), st.lists(st.integers(0, THREADS - 1), max_size=60))
def test_no_key_and_no_slow_receivers_take_all_threads(subscribed: list[tuple[int, bool]], ends: list[int]) -> None:
    queue = _Queue([webhook(number, *each) for number, each in enumerate(subscribed)])
    active: list[Webhook] = []
    for end in [*ends, *range(THREADS)]:
        while len(active) < THREADS and (taken := queue.take()):
            active.append(taken)
        assert max(Counter(each.key for each in active).values(), default=0) <= KEY_THREADS
        assert sum(each.slow for each in active) <= SLOW_THREADS
        if end < len(active):
            queue.end(active.pop(end), None)


@given(st.lists(KEYS, min_size=1, max_size=40))
def test_keys_with_messages_take_turns(keys: list[int]) -> None:
    queue = _Queue([webhook(number, key, slow=False) for number, key in enumerate(keys)])
    served: list[int] = []
    while taken := queue.take():
        served.append(taken.key)
        queue.end(taken, None)
    assert Counter(served) == Counter(keys)
    waiting, turn = Counter(keys), set[int]()
    for key in served:
        if key in turn:
            assert all(not waiting[other] for other in set(keys) - turn), "a key waited for two turns of another"
            turn = set()
        turn.add(key)
        waiting[key] -= 1
