"""Calls of many threads answered in one batch: each gets its own answer, a fault reaches one batch alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from api.access.accounts import batcher as batchers
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


def raising(fault: Exception) -> Callable[[], None]:
    """What fails like this."""

    def fail() -> None:
        raise fault

    return fail


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


def test_after_a_fault_the_next_is_answered_alone_and_among_others() -> None:
    doubler = GatedDoubler()
    batcher = Batcher(doubler.answer)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(batcher.ask, 13)
        assert doubler.started.wait(10)
        others = [threads.submit(batcher.ask, number) for number in (1, 2)]
        while len(batcher._waiting) < len(others):
            pass
        doubler.release.set()
        with pytest.raises(ValueError, match="thirteen"):
            first.result(10)
        assert [each.result(10) for each in others] == [2, 4]
    with pytest.raises(ValueError, match="thirteen"):
        batcher.ask(13)
    assert batcher.ask(4) == 8
    assert doubler.batch_sizes == [1, 2, 1, 1]


def test_threads_that_ask_on_and_on_each_get_their_own_and_none_is_left_waiting() -> None:
    at_work = threading.Lock()

    def answer(numbers: Sequence[int]) -> Sequence[int]:
        assert at_work.acquire(blocking=False), "two batches at once"
        doubled = [2 * each for each in numbers]
        time.sleep(0)  # others come meanwhile
        at_work.release()
        return doubled

    batcher = Batcher(answer)

    def ask(first: int) -> bool:
        return all(batcher.ask(number) == 2 * number for number in range(first, first + 300))

    with ThreadPoolExecutor(12) as threads:
        assert all(each.result(60) for each in [threads.submit(ask, 1000 * n) for n in range(12)])
    assert not batcher._at_work
    assert not batcher._waiting


def test_what_runnable_threads_ask_before_a_batch_begins_is_answered_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    doubler = GatedDoubler()
    doubler.release.set()
    batcher = Batcher(doubler.answer)
    with ThreadPoolExecutor(4) as threads:
        others = []

        def let_others_run() -> None:
            others.extend(threads.submit(batcher.ask, number) for number in (1, 2, 3, 4))
            while len(batcher._waiting) < 5:
                pass

        monkeypatch.setattr(batchers.os, "sched_yield", let_others_run)
        assert batcher.ask(7) == 14
        assert [each.result(10) for each in others] == [2, 4, 6, 8]
    assert doubler.batch_sizes == [5]


def test_others_are_let_run_behind_a_crowd_and_else_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    yields: list[int] = []
    doubler = GatedDoubler()
    doubler.release.set()
    batcher = Batcher(doubler.answer)
    # Clocks that stand, as if no other program took the core.
    monkeypatch.setattr(batchers, "time", SimpleNamespace(perf_counter=lambda: 0.0, process_time=lambda: 0.0))
    monkeypatch.setattr(batchers.os, "sched_yield", lambda: yields.append(len(doubler.batch_sizes)))
    for number in range(20, 280):
        batcher.ask(number)
    assert yields == [0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256]
    yields.clear()
    doubler.release.clear()
    doubler.started.clear()
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(batcher.ask, 1)]
        assert doubler.started.wait(10)
        asked += [threads.submit(batcher.ask, number) for number in (2, 3, 4)]
        while len(batcher._waiting) < 3:
            pass
        doubler.release.set()
        assert [each.result(10) for each in asked] == [2, 4, 6, 8]
    assert doubler.batch_sizes[260:] == [1, 3]
    batcher.ask(5)
    assert yields == [262]


def test_after_another_program_took_the_core_nobody_is_let_run_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {"wall": 0.0, "own": 0.0}
    took = [(0.002, 0.002), (0.002, 0.0005), (0.0005, 0.0)]  # of the wall's time, and of it on this process's threads
    yields: list[int] = []

    def let_others_run() -> None:
        yields.append(len(doubler.batch_sizes))
        wall, own = took[min(len(yields), len(took)) - 1]
        clocks["wall"] += wall
        clocks["own"] += own

    fake = SimpleNamespace(perf_counter=lambda: clocks["wall"], process_time=lambda: clocks["own"])
    monkeypatch.setattr(batchers, "time", fake)
    monkeypatch.setattr(batchers.os, "sched_yield", let_others_run)
    doubler = GatedDoubler()
    doubler.release.set()
    batcher = Batcher(doubler.answer)
    monkeypatch.setattr(batchers, "_CROWD", 1)  # every batch is a crowd
    for number in range(20, 88):
        batcher.ask(number)
    assert yields == [0, 1, 66, 67]
    took.append((0.002, 0.0))
    monkeypatch.setattr(batchers, "_WORTH_IT", 1)  # each batch is worth what was taken
    for number in range(3):
        batcher.ask(number)
    assert yields[4:] == [68, 69, 70]


@pytest.mark.parametrize("fault", [AttributeError("no sched_yield"), PermissionError("forbidden")])
def test_a_system_that_lets_nobody_run_answers_all_the_same(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    monkeypatch.setattr(batchers.os, "sched_yield", raising(fault))
    doubler = GatedDoubler()
    doubler.release.set()
    batcher = Batcher(doubler.answer)
    assert [batcher.ask(number) for number in (1, 2)] == [2, 4]


def test_who_fails_before_the_batch_begins_leaves_the_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    doubler = GatedDoubler()
    doubler.release.set()
    batcher = Batcher(doubler.answer)
    with ThreadPoolExecutor(2) as threads:
        others = []

        def interrupted() -> None:
            monkeypatch.setattr(batchers.os, "sched_yield", lambda: None)
            others.extend(threads.submit(batcher.ask, number) for number in (1, 2))
            while len(batcher._waiting) < 3:
                pass
            raise KeyboardInterrupt

        monkeypatch.setattr(batchers.os, "sched_yield", interrupted)
        with pytest.raises(KeyboardInterrupt):
            batcher.ask(7)
        assert [each.result(10) for each in others] == [2, 4]
    assert batcher.ask(4) == 8
    assert [sum(doubler.batch_sizes), batcher._waiting, batcher._at_work] == [3, [], False]


def test_an_answer_too_few_is_a_fault() -> None:
    batcher: Batcher[int, int] = Batcher(lambda numbers: [])
    with pytest.raises(ValueError, match="zip"):
        batcher.ask(1)
