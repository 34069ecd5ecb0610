"""Test folds into the series store against the model: in turn and concurrently, by processes and by machines."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stand_ins import stored_rows
from tests.stand_ins.bad_line import bad_line
from tests.warehouse.series_model import (
    BASE,
    EVERYTHING,
    FEEDS,
    RANKS,
    WIDE,
    Model,
    feed_rows,
    fold,
    resolve_again,
    spans,
    tuples,
    values,
)
from warehouse.errors import StorageError
from warehouse.market.clock import RESOLUTIONS, Window, month_of, month_window
from warehouse.rows import resolve
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import RowLabels, Versions
from warehouse.series import change_log, folding, month_versions, monthfile
from warehouse.series.month_versions import Month
from warehouse.store import layout, modes, seal
from warehouse.store.storage import Folder


def everything(folder) -> dict[str, tuple]:
    """Return the identity of every file."""
    return {key: folder.stat(key) for key in folder.keys("series/")}


folds = st.tuples(st.sampled_from(FEEDS), feed_rows(), spans(), st.integers(0, 3))
rights = st.fixed_dictionaries({}, optional={f: st.just(RANKS[f]) for f in FEEDS})


@pytest.mark.slow
def test_folds_agree_with_the_model(tmp_path_factory, thorough):
    """Fold random chains of steps: 40 of them, or 120 in a thorough run."""

    @settings(max_examples=120 if thorough else 40)
    @given(st.lists(st.one_of(folds, folds, folds, rights), min_size=1, max_size=9))
    def agree(steps):
        check(Folder(tmp_path_factory.mktemp("w")), steps)

    agree()


def check(folder, steps):
    """Take the steps in the folder and in the model, and compare what both serve after and as of each step."""
    model, ranks, now = Model(), dict(RANKS), 1_000
    instants = []
    for step in steps:
        if isinstance(step, dict):
            ranks = step
            for place in folding.places(folder):
                resolve_again(folder, place, ranks)
        else:
            feed, rows, covered, later = step
            now += later
            parsed = stored_rows.rows_of(rows)
            model.fold(feed, parsed, covered, now)
            folding.fold(folder, feed, parsed, {("GB", "demand"): covered}, ranks, now, "live")
            rerun(folder, feed, parsed, covered, ranks, now + 1)
        assert tuples(stored_rows.read(folder, "GB", "demand", EVERYTHING)) == model.served(ranks)
        instants.append(now)
    for at in instants:
        then = stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, at, ranks)
        assert tuples(then) == model.served(ranks, at)


def rerun(folder, feed, rows, covered, ranks, now):
    """Check that folding the same responses again changes no file."""
    before = everything(folder)
    again = folding.fold(folder, feed, rows, {("GB", "demand"): covered}, ranks, now, "live")
    assert not any(f.wrote for f in again)
    assert everything(folder) == before


def test_fold_counts(folder):
    fold(folder, "one.fast", BASE, [1, 2, 3, 4])
    (done,) = fold(folder, "one.fast", BASE, [1, 9], known_at=2, spans=[Window(BASE, BASE + 3 * 3600)])
    assert (done.added, done.changed, done.evicted, done.unchanged) == (0, 1, 1, 1)
    assert done.wrote
    assert values(folder) == [1, 9, 4]


@pytest.mark.slow
def test_concurrent_folds_of_one_month_lose_nothing(folder):
    """Run four processes that repeatedly fold: each has a feed with hours of its own and one shared hour."""
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
    entries = change_log.read(folder, None, 1000).entries
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1)), "no number is given twice"
    assert sum(entry.change.added for entry in entries) == len(rows)


@pytest.mark.slow
def test_machines_that_fold_one_month_of_a_bucket_at_once_lose_nothing(bucket_place, bucket_endpoint):
    """Use four storages, as four machines have them, over separate connections that drop and repeat requests.

    Over a shared connection a machine could meet more consecutive faults than it has retries.
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
    """Check that the values known at a time never change while corrections are folded."""
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


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["5m", "15m", "1h"]), st.integers(0, 30)), max_size=25))
def test_a_row_is_served_where_no_part_of_it_is(rows):
    """Take feeds by rank and the finest rows first; leave out a row if one of its cells is taken."""
    rows = sorted({(feed, resolution, place * 300 // RESOLUTIONS[resolution]) for feed, resolution, place in rows})
    labels = tuple(RowLabels(None, None, None, "MW", step, "s", f"s.{feed}") for feed, step, _ in rows)
    stamps = np.array([place * RESOLUTIONS[step] for _, step, place in rows], np.int64)
    same = np.full(len(rows), -1, np.int64)
    versions = Versions(labels, np.arange(len(rows)), stamps, stamps.astype(float), same + 1, same, same)
    cells = [
        range(ts, ts + RESOLUTIONS[label.resolution], 300) for ts, label in zip(stamps.tolist(), labels, strict=True)
    ]
    taken, expected = set(), np.zeros(len(rows), bool)
    for number in sorted(range(len(rows)), key=lambda number: (rows[number][0], len(cells[number]))):
        expected[number] = taken.isdisjoint(cells[number])
        taken |= {*cells[number]} if expected[number] else set()
    assert (resolve.served(versions, {"s.0": 1, "s.1": 2, "s.2": 3}) == expected).all()


def test_a_month_that_cannot_be_folded_costs_no_later_month(folder) -> None:
    turn = month_window("2026-11").start
    fold(folder, "one.fast", turn - 3600, [1, 2])
    key = layout.series("demand", "GB", "2026-10")
    of_another_release = (folder.get(key) or b"").replace(b'{"schema":%d' % seal.SCHEMA_VERSION, b'{"schema":9')
    folder.put(key, seal.stamped(of_another_release))
    with pytest.raises(StorageError, match="written by another release"):
        fold(folder, "one.fast", turn - 3600, [5, 6, 7], known_at=2)
    assert values(folder, month_window("2026-11")) == [6, 7]


T = BASE + 36 * 3600


def put_one(folder: Folder, value: float, at: int, unit: str = "EUR/MWh") -> list:
    """Fold one value of a Polish price at the time `at`."""
    rows = Rows()
    rows.extend(SeriesKey("PL", "price", unit, "30m"), [T], [value])
    return folding.fold(folder, "toy.price", rows, {}, {"toy.price": 1}, at, "simulated")


def stored_price(folder: Folder) -> Versions:
    """Return every version of the month of `T`."""
    return month_versions.read(folder, Month("price", "PL", month_of(T)))


def test_an_equal_number_in_another_currency_is_a_change(folder) -> None:
    put_one(folder, 100.0, T + 1, "PLN/MWh")
    (changed,) = put_one(folder, 100.0, T + 2, "EUR/MWh")
    assert changed.changed == 1
    found = stored_price(folder)
    assert {label.unit for label in found.take(found.superseded_at == -1).compact().labels} == {"EUR/MWh"}


def test_a_version_replaced_within_its_second_is_not_kept(folder) -> None:
    put_one(folder, 100.0, T + 1)
    put_one(folder, 200.0, T + 1)
    assert stored_price(folder).value.tolist() == [200.0]


def test_a_month_names_one_history_and_the_former_one_is_deleted(folder) -> None:
    for number in range(4):
        put_one(folder, 100.0 + number, T + 1 + number)
    assert len(folder.keys("history/")) == 1


def test_the_sweep_leaves_the_history_of_a_fold_that_has_not_finished(folder) -> None:
    put_one(folder, 1e4, T + 1)
    put_one(folder, 2e4, T + 2)
    (named,) = folder.keys("history/")
    os.utime(folder.path(named), (1e9, 1e9))
    in_flight, body = monthfile.encode_history(stored_price(folder), "price", "PL", month_of(T), "simulated")
    folder.put(in_flight, body)
    assert month_versions.sweep(folder) == 0
    assert set(folder.keys("history/")) == {named, in_flight}
    os.utime(folder.path(in_flight), (1e9, 1e9))
    assert month_versions.sweep(folder) == 1
    assert folder.keys("history/") == [named]
