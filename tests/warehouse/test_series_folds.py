"""Folds into the series store against the model: revisions, evictions, ranks, rights, what is counted and written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.warehouse.series_model import BASE, EVERYTHING, FEEDS, RANKS, Model, feed_rows, fold, spans, tuples, values
from warehouse.market.clock import Window
from warehouse.rows.schema import Rows
from warehouse.series import change_log, series
from warehouse.series.vintages import Month
from warehouse.store import layout
from warehouse.store.storage import Folder


def everything(folder) -> dict[str, tuple]:
    """Every file's identity."""
    return {key: folder.stat(key) for key in folder.keys("series/")}


folds = st.tuples(st.sampled_from(FEEDS), feed_rows(), spans(), st.integers(0, 3))
rights = st.fixed_dictionaries({}, optional={f: st.just(RANKS[f]) for f in FEEDS})


@pytest.mark.slow
def test_folds_agree_with_the_model(tmp_path_factory, thorough):
    """Other folds in every run: 40 chains of them, thorough: 120."""

    @settings(max_examples=120 if thorough else 40)
    @given(st.lists(st.one_of(folds, folds, folds, rights), min_size=1, max_size=9))
    def agree(steps):
        check(Folder(tmp_path_factory.mktemp("w")), steps)

    agree()


def check(folder, steps):
    """Takes the steps in the folder and in the model, and compares what is served after each and as of each."""
    model, ranks, now = Model(), dict(RANKS), 1_000
    instants = []
    for step in steps:
        if isinstance(step, dict):
            ranks = step
            for place in series.places(folder):
                series.resolve_again(folder, *place, ranks)
        else:
            feed, rows, covered, later = step
            now += later
            parsed = Rows.of(rows)
            model.fold(feed, parsed, covered, now)
            series.fold(folder, feed, parsed, {("GB", "demand"): covered}, ranks, now, "live")
            rerun(folder, feed, parsed, covered, ranks, now + 1)
        assert tuples(series.read(folder, "GB", "demand", EVERYTHING)) == model.served(ranks)
        instants.append(now)
    for at in instants:
        then = series.read_as_of(folder, "GB", "demand", EVERYTHING, at, ranks)
        assert tuples(then) == model.served(ranks, at)


def rerun(folder, feed, rows, covered, ranks, now):
    """The same answers again change no file."""
    before = everything(folder)
    again = series.fold(folder, feed, rows, {("GB", "demand"): covered}, ranks, now, "live")
    assert not any(f.wrote for f in again)
    assert everything(folder) == before


def test_a_value_that_comes_back_is_a_new_version(folder):
    for now, value in ((1, 10), (2, 11), (3, 10)):
        fold(folder, "one.fast", BASE, [value], known_at=now)
    assert [
        series.read_as_of(folder, "GB", "demand", EVERYTHING, at, RANKS).column("value").to_pylist()
        for at in (0, 1, 2, 3)
    ] == [
        [],
        [10],
        [11],
        [10],
    ]


def test_a_lower_rank_steps_in_where_the_higher_one_is_withdrawn(folder):
    fold(folder, "three.back", BASE, [1, 2, 3])
    fold(folder, "one.fast", BASE, [10, 20, 30])
    fold(folder, "one.fast", BASE, [10], known_at=2, spans=[Window(BASE, BASE + 3 * 3600)])
    assert values(folder) == [10, 2, 3]


def test_rights_taken_away_and_given_back(folder):
    fold(folder, "three.back", BASE, [1, 2])
    fold(folder, "one.fast", BASE, [10, 20])
    place = Month("demand", "GB", "2026-10")
    assert series.resolve_again(folder, *place, {"three.back": 9})
    assert values(folder) == [1, 2]
    assert not series.resolve_again(folder, *place, {"three.back": 9})
    assert series.resolve_again(folder, *place, RANKS)
    assert values(folder) == [10, 20]
    assert series.resolve_again(folder, *place, {})
    assert values(folder) == []


def test_a_lower_ranks_rows_change_nothing_that_is_served(folder):
    fold(folder, "one.fast", BASE, [10, 20])
    before, cursor = series.read(folder, "GB", "demand", EVERYTHING), change_log.newest(folder)
    fold(folder, "three.back", BASE, [1, 2])
    assert series.read(folder, "GB", "demand", EVERYTHING).equals(before)
    assert change_log.newest(folder) == cursor


def test_a_correction_writes_each_file_once(folder, monkeypatch):
    fold(folder, "one.fast", BASE, [10, 20])
    put = []
    real = Folder.put
    monkeypatch.setattr(
        Folder, "put", lambda self, key, *rest, **named: put.append(key) or real(self, key, *rest, **named)
    )
    for now in (2, 3, 4):
        put.clear()
        fold(folder, "one.fast", BASE, [10 + now], known_at=now)
        [history] = folder.keys(layout.history_prefix())
        months = [history, layout.series("demand", "GB", "2026-10")]
        assert [key for key in put if layout.is_month_file(key)] == months


def test_fold_counts(folder):
    fold(folder, "one.fast", BASE, [1, 2, 3, 4])
    (done,) = fold(folder, "one.fast", BASE, [1, 9], known_at=2, spans=[Window(BASE, BASE + 3 * 3600)])
    assert (done.added, done.changed, done.evicted, done.unchanged) == (0, 1, 1, 1)
    assert done.wrote
    assert values(folder) == [1, 9, 4]


def test_border_and_net_are_resolved_apart(folder):
    fold(folder, "one.fast", BASE, [1])
    fold(folder, "two.slow", BASE, [2], counterparty="FR")
    table = series.read(folder, "GB", "demand", EVERYTHING)
    assert series.net(table).column("value").to_pylist() == [1]
    assert series.borders(table).column("value").to_pylist() == [2]
