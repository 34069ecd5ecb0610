"""Calls of many threads answered in one batch: each gets its own answer, a fault reaches one batch alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.access.accounts.batcher import Batcher


class GatedDoubler:
    """Doubles each number. The first batch waits for `release`, so that further calls queue up."""

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []
        self.started, self.release = threading.Event(), threading.Event()

    def answer(self, numbers: Sequence[int]) -> Sequence[int]:
        self.batch_sizes.append(len(numbers))
        self.started.set()
        assert self.release.wait(10)
        if 13 in numbers:
            raise ValueError("thirteen")
        return [2 * each for each in numbers]


def ask_all(doubler: GatedDoubler, first: int, others: Sequence[int]) -> list[int | Exception]:
    """Asks for `first` and, while that batch runs, for all others. Returns results or errors in order."""
    batcher = Batcher(doubler.answer)
    with ThreadPoolExecutor(1 + len(others)) as threads:
        futures = [threads.submit(batcher.ask, first)]
        assert doubler.started.wait(10)
        futures += [threads.submit(batcher.ask, other) for other in others]
        while len(batcher._waiting) < len(others):
            pass
        doubler.release.set()
        results: list[int | Exception] = []
        for each in futures:
            fault = each.exception(10)
            results.append(fault if isinstance(fault, Exception) else each.result())
    return results


def test_one_that_asks_alone_is_answered_alone() -> None:
    doubler = GatedDoubler()
    doubler.release.set()
    batcher = Batcher(doubler.answer)
    assert [batcher.ask(n) for n in (1, 2, 3)] == [2, 4, 6]
    assert doubler.batch_sizes == [1, 1, 1]


def test_those_that_wait_are_answered_in_one_batch_each_with_its_own() -> None:
    doubler = GatedDoubler()
    assert ask_all(doubler, 7, range(20, 40)) == [14, *(2 * n for n in range(20, 40))]
    assert doubler.batch_sizes == [1, 20]


def test_a_fault_reaches_all_of_its_batch_and_none_of_another() -> None:
    doubler = GatedDoubler()
    results = ask_all(doubler, 7, [1, 13, 2])
    assert results[0] == 14
    assert [str(each) for each in results[1:]] == ["thirteen"] * 3


def test_an_answer_too_few_is_a_fault() -> None:
    batcher: Batcher[int, int] = Batcher(lambda numbers: [])
    with pytest.raises(ValueError, match="zip"):
        batcher.ask(1)
