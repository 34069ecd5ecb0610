"""Test deliveries of webhooks: in order, at least once despite kills, retried, and limited whatever receivers do."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event

from api.access import sign_up as sign_ups
from api.access import webhooks
from api.access.accounts_engine import AccountsUnavailable
from api.access.key_spelling import digest_of
from api.access.webhooks import Message, Webhook
from api.http.problems import Problem
from orchestration.webhooks import delivery, transport
from tests.orchestration.webhook_receivers import NOW, Post, firsts


def test_changes_arrive_signed_and_in_order(post_anywhere: Post) -> None:
    post = post_anywhere
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url, zones=("GB",))
    receiver.secret = webhook.secret
    for at in range(1, 6):
        post.change("GB", at)
        post.change("FR", at)
    done = post.round()
    assert (done.delivered, done.failed) == (1, 0)
    assert firsts(receiver) == [1, 2, 3, 4, 5]
    assert receiver.taken[0]["type"] == "changes"
    post.change("GB", 6)
    post.round()
    assert firsts(receiver) == [1, 2, 3, 4, 5, 6]
    assert post.state(webhook).delivered == 2
    assert post.round().delivered == 0
    usage = post.accounts.usage(digest_of(post.key), int(time.time()))
    assert usage is not None
    assert usage.used == 0, "messages cost nothing of the key's day"


def test_a_message_that_fails_holds_back_the_later_ones_and_comes_again(post: Post) -> None:
    receiver = post.receiver(answer=lambda tries: 500 if tries < 3 else 200)
    webhook = post.subscribe(receiver.url)
    post.change(at=1)
    assert post.round().failed == 1
    assert post.state(webhook).next_at > 0
    assert post.state(webhook).last_error == "returned 500"
    post.change(at=2)
    assert post.round().failed == 0, "not before its time"
    assert len(receiver.tries) == 1
    for _ in range(2):
        post.due_now()
        post.round()
    assert firsts(receiver) == [1, 2]
    assert len({number for number, _ in receiver.tries[:3]}) == 1, "the same id each time"
    assert post.state(webhook).failing_since is None


def test_after_a_day_without_delivery_it_is_disabled_and_says_so(post: Post) -> None:
    receiver = post.receiver(answer=lambda _: 404)
    webhook = post.subscribe(receiver.url)
    post.change(at=1)
    post.round()
    post.sql("UPDATE webhooks SET next_at = 0, failing_since = failing_since - 90000")
    assert post.round().disabled == 1
    assert post.state(webhook).disabled.startswith("not reached for 24 hours: returned 404")
    assert post.state(webhook).waiting == 0
    post.due_now()
    assert post.round().subscriptions == 0
    webhooks.enable(post.accounts.database, webhook.id)
    receiver.answer = lambda _: 200
    assert post.round().failed == 0


@pytest.mark.slow
def test_a_deliverer_killed_at_any_point_loses_and_disorders_nothing(post_anywhere: Post) -> None:
    """Kill it before each statement of the database, and right after each request; the next round continues."""
    post, point, killed = post_anywhere, 0, True
    receiver = post.receiver()
    webhook = post.subscribe(receiver.url)
    sent = 0
    while killed and point < 60:
        point += 2
        for _ in range(2):
            sent += 1
            post.change(at=sent)
        killed = _killed_at_statement(post, point)
        post.due_now()
        post.round()
        assert firsts(receiver) == list(range(1, sent + 1))
    assert not killed, "the last round came to its end"
    assert post.state(webhook).waiting == 0


def _killed_at_statement(post: Post, step: int) -> bool:
    """Run a round in a child that gets SIGKILL before statement `step`; return whether it was killed."""
    pid = os.fork()
    if pid == 0:
        accounts, count = post.open(), 0

        def before(*_: object) -> None:
            nonlocal count
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(accounts.database.open(), "before_cursor_execute", before)
        try:
            delivery.run_round(post.storage, accounts.database, delivery.sender(True), NOW, 0.0)
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def test_two_deliverers_at_once_send_nothing_twice(post_anywhere: Post) -> None:
    post = post_anywhere
    receiver = post.receiver()
    post.subscribe(receiver.url)
    post.change(at=1)
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                accounts = post.open()
                delivery.run_round(post.storage, accounts.database, delivery.sender(True), NOW, 0.0)
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert len(receiver.tries) == 1


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_slow_receivers_of_other_keys_hold_up_nobody(post: Post, how: str) -> None:
    """Serve a fourth key's subscription among the first, despite thirty older ones of keys with slow receivers."""
    slow, prompt = post.receiver(answer=lambda _: how), post.receiver()
    for number in range(2, 5):
        sign_ups.sign_up(post.accounts.database, f"{number}@example.org", "127.0.0.1", 1)
        for _ in range(10):
            post.subscribe(slow.url, key=number)
    post.subscribe(prompt.url)
    post.change(at=1)
    before: list[int] = []

    def send(webhook: Webhook, message: Message, now: int) -> None:
        headers = transport.signed(webhook.secret, message.id, message.body, now)
        if webhook.url == prompt.url:
            before.append(len(slow.tries))
        transport.post(webhook.url, headers, message.body, True, 0.5)

    counts = delivery.run_round(post.storage, post.accounts.database, send, NOW, 0.0)
    assert firsts(prompt) == [1]
    assert before[0] < delivery.THREADS, "it is among the first that are under way"
    assert (counts["delivered"], counts["failed"]) == (1, 30)
    states = [each for each in webhooks.listed(post.accounts.database) if each.url == slow.url]
    assert all(each.slow and "before the timeout" in each.last_error for each in states)


def test_keys_whose_prompt_receivers_turn_slow_hold_up_nobody(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the formerly prompt receivers of sixty keys hang until fifteen honest ones have their messages."""
    monkeypatch.setattr(delivery, "SLOW_S", 0.02)
    arrived, in_time, honest = threading.Event(), list[bool](), list[str]()
    for number in range(2, 62):
        sign_ups.sign_up(post.accounts.database, f"{number}@example.org", "127.0.0.1", 1)
        post.subscribe("https://hang.example/", key=number)
    for number in range(62, 77):
        sign_ups.sign_up(post.accounts.database, f"{number}@example.org", "127.0.0.1", 1)
        post.subscribe("https://honest.example/", key=number)
    post.sql("UPDATE webhooks SET slow = 0")
    post.sql("UPDATE webhooks SET next_at = 2 WHERE url = 'https://honest.example/'")
    post.change(at=1)

    def send(webhook: Webhook, message: Message, now: int) -> None:
        if "hang" in webhook.url:
            in_time.append(arrived.wait(20))
            return
        honest.append(webhook.id)
        if len(honest) == 15:
            arrived.set()

    counts = delivery.run_round(post.storage, post.accounts.database, send, NOW, 0.0)
    assert (in_time, counts["delivered"]) == ([True] * 60, 75)
    slow = {each.url: each.slow for each in webhooks.listed(post.accounts.database)}
    assert slow == {"https://hang.example/": True, "https://honest.example/": False}


def test_a_key_gets_a_few_seconds_of_the_prompt_threads(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "PROMPT_S_OF_KEY", 0.05)
    monkeypatch.setattr(delivery, "THREADS", 1)
    for _ in range(5):
        post.subscribe("https://hook.example/")
    post.sql("UPDATE webhooks SET slow = 0")
    post.change(at=1)
    threads = list[str]()

    def send(webhook: Webhook, message: Message, now: int) -> None:
        threads.append(threading.current_thread().name.partition("_")[0])
        time.sleep(0.03)

    counts = delivery.run_round(post.storage, post.accounts.database, send, NOW, 0.0)
    assert counts["delivered"] == 5
    assert 1 <= threads.count("sending") <= 2, "two take more than the key's share"
    assert threads.count("slow") == 5 - threads.count("sending")


def test_a_receiver_is_prompt_after_three_prompt_deliveries_and_slow_for_an_hour_after_a_slow_one(post: Post) -> None:
    database, webhook = post.accounts.database, post.subscribe("https://hook.example/")
    message, now = Message(0, "", b""), int(time.time())

    def delivered(slow: bool, at: int) -> bool:
        return webhooks.record_delivery(database, webhook.id, message, slow, at)

    assert webhook.slow, "a new one"
    assert [delivered(False, now) for _ in range(4)] == [True, True, False, False]
    assert delivered(True, now)
    assert [delivered(False, now + 3599) for _ in range(4)] == [True] * 4
    assert post.state(webhook).slow
    assert not delivered(False, now + 3600)
    webhooks.record_failure(database, webhook, "returned 500", now + 3600)
    assert delivered(False, now + 7199)


def test_a_round_that_is_stopped_waits_for_what_is_under_way_alone(post: Post) -> None:
    for number in range(2, 5):
        sign_ups.sign_up(post.accounts.database, f"{number}@example.org", "127.0.0.1", 1)
        for _ in range(10):
            post.subscribe("https://hook.example/", key=number)
    post.change(at=1)
    begun: list[str] = []

    def send(webhook: Webhook, message: Message, now: int) -> None:
        begun.append(webhook.id)
        if len(begun) == delivery.THREADS:
            raise AccountsUnavailable("OperationalError")
        time.sleep(0.5)

    with pytest.raises(AccountsUnavailable):
        delivery.run_round(post.storage, post.accounts.database, send, NOW, 0.0)
    assert len(begun) < 2 * delivery.THREADS


@pytest.mark.slow
def test_a_round_ends_within_its_time(post: Post) -> None:
    receiver = post.receiver(answer=lambda tries: 500 if tries == 1 else 200)
    webhook = post.subscribe(receiver.url)
    for at in range(1, 400):
        post.change(at=at)
    assert post.round().failed == 1
    post.due_now()
    assert post.round(round_s=0.0).delivered == 0, "though messages wait"
    assert post.round().delivered == 4, "pages of a hundred entries"
    assert max(len(body) for _, body in receiver.tries) < 64_000
    assert firsts(receiver) == list(range(1, 400))
    assert post.state(webhook).waiting == 0


@pytest.mark.slow
def test_however_many_ask_at_once_a_key_has_at_most_ten(post_anywhere: Post) -> None:
    post = post_anywhere

    def ask(number: int) -> bool:
        try:
            post.subscribe(f"https://hook.example/{number}")
        except Problem:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(18))) == 10
    assert len(webhooks.listed(post.accounts.database, 1)) == 10


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(post: Post, status: int) -> None:
    receiver = post.receiver(answer=lambda _: status)
    webhook = post.subscribe(receiver.url)
    post.change()
    post.round()
    assert len(receiver.tries) == 1
    assert post.state(webhook).last_error == f"returned {status}"


def webhook(number: int, key: int) -> Webhook:
    wanted = ("https://hook.example/", ("changes",), (), None)
    return Webhook(f"wh_{number}", key, *wanted, "", 0, "", {}, "", None, 0, number, False, 0, None, "", waiting=1)


@given(st.lists(st.integers(1, 16), min_size=1, max_size=40))
def test_keys_with_messages_take_turns(keys: list[int]) -> None:
    served = [each.key for each in delivery.in_turns([webhook(number, key) for number, key in enumerate(keys)])]
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
