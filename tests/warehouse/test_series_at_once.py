"""Folds and readings of one month at once, by processes and by machines: nothing is lost and the past is steady."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.stand_ins import stored_rows
from tests.stand_ins.bad_line import bad_line
from tests.warehouse.series_model import BASE, FEEDS, RANKS, WIDE, fold, tuples
from warehouse.errors import StorageError
from warehouse.store import modes


@pytest.mark.slow
def test_concurrent_folds_of_one_month_lose_nothing(folder):
    """Four processes, each a feed of its own hours and one shared hour, over and over."""
    pids = []
    for number, feed in enumerate(FEEDS):
        pid = os.fork()
        if pid == 0:
            try:
                for turn in range(12):
                    fold(
                        folder,
                        feed,
                        BASE - (number + 1) * 86400 // 2 + turn * 3600,
                        [number * 100 + turn],
                        known_at=turn + 1,
                    )
                    fold(folder, feed, BASE, [turn], known_at=turn + 1)
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    rows = tuples(stored_rows.read(folder, "GB", "demand", WIDE))
    assert len(rows) == 4 * 12 + 1
    assert rows[-1][4] == 11
    assert rows[-1][7] == "one.fast"


@pytest.mark.slow
def test_machines_that_fold_one_month_of_a_bucket_at_once_lose_nothing(bucket_place, bucket_endpoint):
    """Four storages as four machines have them, each over a line of its own that drops and repeats requests.

    Over one line a machine would meet, by chance, more faults in a row than it has retries.
    """
    faults = ("", "", "lost", "unanswered", "repeat", "slow_down", "")
    failed = []

    def work(storage, number, feed):
        try:
            for turn in range(2):
                start = BASE - (number + 1) * 86400 // 2 + turn * 3600
                fold(storage, feed, start, [number * 100 + turn], known_at=turn + 1)
        except StorageError as error:
            failed.append(error)

    modes.ensure(bucket_place.open(), "live")
    with ExitStack() as lines:
        threads = []
        for number, feed in enumerate(FEEDS):
            line = lines.enter_context(bad_line(bucket_endpoint))
            line.plan = lambda number, _: faults[number % len(faults)]
            machine = replace(bucket_place, line=line).open()
            threads.append(threading.Thread(target=work, args=(machine, number, feed)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200)
    assert not failed
    assert len(tuples(stored_rows.read(bucket_place.open(), "GB", "demand", WIDE))) == 4 * 2


@pytest.mark.slow
def test_readers_of_the_past_are_steady_while_a_month_is_folded(folder):
    """What was known at an instant never changes while corrections go on being folded."""
    hours = 200
    fold(folder, "one.fast", BASE - hours * 3600, range(hours), known_at=1)
    then = tuples(stored_rows.read_as_of(folder, "GB", "demand", WIDE, 1, RANKS))
    ends = time.time() + 2
    pid = os.fork()
    if pid == 0:
        turn = 1
        try:
            while time.time() < ends:
                turn += 1
                fold(folder, "one.fast", BASE - hours * 3600, range(turn, hours + turn), known_at=turn)
        except BaseException:
            os._exit(1)
        os._exit(0)
    reads = 0
    while time.time() < ends:
        assert tuples(stored_rows.read_as_of(folder, "GB", "demand", WIDE, 1, RANKS)) == then
        assert stored_rows.read_as_of(folder, "GB", "demand", WIDE, 10**9, RANKS).num_rows == hours
        reads += 1
    assert os.waitpid(pid, 0)[1] == 0
    assert reads > 5
