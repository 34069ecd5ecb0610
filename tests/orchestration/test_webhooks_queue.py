"""The order in which subscriptions are served: keys take turns, the key served longest ago first."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from api.access.webhooks import Subscription, Webhook
from orchestration.webhooks.delivery import in_turns

SUBSCRIPTION = Subscription("https://hook.example/", ("changes",))


def webhook(number: int, key: int) -> Webhook:
    return Webhook(
        f"wh_{number}", key, SUBSCRIPTION, "", 0, "", {}, "", None, 0, number, False, 0, None, "", waiting=1
    )  # fmt: skip


@given(st.lists(st.integers(1, 16), min_size=1, max_size=40))
def test_keys_with_messages_take_turns(keys: list[int]) -> None:
    served = [each.key for each in in_turns([webhook(number, key) for number, key in enumerate(keys)])]
    assert Counter(served) == Counter(keys)
    last = {key: number for number, key in enumerate(keys)}
    assert served[: len(last)] == sorted(last, key=lambda key: last[key]), "the key served longest ago first"
    waiting, turn = Counter(keys), set[int]()
    for key in served:
        if key in turn:
            assert all(not waiting[other] for other in set(keys) - turn), "a key waited for two turns of another"
            turn = set()
        turn.add(key)
        waiting[key] -= 1
