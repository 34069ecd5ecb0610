"""A day of folds with kills: followers by changes, by webhook and by polling hold the same rows at the end."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.orchestration.webhook_receivers import Post
from tests.warehouse.change_followers import Follower, publication, rows_of
from tests.warehouse.series_model import BASE, fold
from warehouse.market.clock import Window
from warehouse.series.changes import Change


@pytest.mark.slow
def test_three_followers_hold_the_same_rows_through_kills(
    tmp_path: Path, killed_at: Callable[[Callable[[], object], int], bool]
) -> None:
    """Folds of two feeds are killed anywhere; a receiver loses its answer, takes, or fails, in turn."""
    post, follower, chance = Post(tmp_path), Follower(), random.Random(20)
    receiver = post.receiver(answer=lambda tries: ("drop", 200, 500)[tries % 3])
    post.subscribe(receiver.url, zones=("GB",))
    for hour in range(24):
        values = [chance.randrange(5) for _ in range(chance.randrange(1, 5))]
        start = BASE - hour % 5 * 3600
        feed = chance.choice(["one.fast", "three.back"])
        spans = [Window(start, start + 4 * 3600)] if chance.random() < 0.3 else []

        def work(feed: str = feed, start: int = start, hour: int = hour, values=values, spans=spans) -> None:
            fold(post.storage, feed, start, values, known_at=hour + 1, spans=spans)

        if killed_at(work, chance.randrange(1, 40)) and chance.random() < 0.7:
            work()
        if hour % 4 == 3:
            publication(post.storage)
            follower.follow(post.storage)
            post.due_now()
            post.round()
    publication(post.storage)
    follower.follow(post.storage)
    for _ in range(9):
        post.due_now()
        post.round()
    told = Follower()
    for message in receiver.taken:
        for entry in message["data"]["entries"]:
            told.take(post.storage, Change("GB", "demand", None, entry["first"], entry["last"], 0, 0, 0))
    polled = rows_of(post.storage)
    assert len(polled) > 3
    assert follower.rows == told.rows == polled
    numbers = [int(e["id"].rpartition("-")[2]) for m in receiver.taken for e in m["data"]["entries"]]
    assert numbers == list(range(1, len(follower.entries) + 1)), "each once, in order"
    for each in post.receivers:
        each.close()
    for accounts in post.opened:
        accounts.close()
