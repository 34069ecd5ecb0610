"""Folds into the series store against the model: revisions, evictions, ranks, rights, what is counted and written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stand_ins import stored_rows
from tests.warehouse.series_model import BASE, EVERYTHING, FEEDS, RANKS, Model, feed_rows, fold, spans, tuples, values
from warehouse.market.clock import Window
from warehouse.rows.schema import Rows
from warehouse.series import series
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
        assert tuples(stored_rows.read(folder, "GB", "demand", EVERYTHING)) == model.served(ranks)
        instants.append(now)
    for at in instants:
        then = stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, at, ranks)
        assert tuples(then) == model.served(ranks, at)


def rerun(folder, feed, rows, covered, ranks, now):
    """The same answers again change no file."""
    before = everything(folder)
    again = series.fold(folder, feed, rows, {("GB", "demand"): covered}, ranks, now, "live")
    assert not any(f.wrote for f in again)
    assert everything(folder) == before


def test_fold_counts(folder):
    fold(folder, "one.fast", BASE, [1, 2, 3, 4])
    (done,) = fold(folder, "one.fast", BASE, [1, 9], known_at=2, spans=[Window(BASE, BASE + 3 * 3600)])
    assert (done.added, done.changed, done.evicted, done.unchanged) == (0, 1, 1, 1)
    assert done.wrote
    assert values(folder) == [1, 9, 4]
