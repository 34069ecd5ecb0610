"""Test how the raw archive restores a lost file of a month: values known at a time are known again, once each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.market.clock import HOUR
from warehouse.rows import resolve
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import Versions
from warehouse.series import folding, month_versions, monthfile, restore
from warehouse.series.month_versions import Month
from warehouse.series.restore import Statement
from warehouse.store import layout
from warehouse.store.storage import Folder

START = 1793577600
"""2 November 2026."""
KEY = SeriesKey("GB", "demand", "MW", "1h", factors="set-1")
PLACE = Month("demand", "GB", "2026-11")
FEED, RANKS = "neso.demand", {"neso.demand": 1}
Bodies = list[dict[int, int]]
"""The values by hour that each body states."""
bodies = st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 3), max_size=4), min_size=1, max_size=6)
few = settings(max_examples=40)


def rows(body: dict[int, int]) -> Rows:
    """Return estimates; some differ only in their upper bound."""
    made = Rows()
    values = [float((stated + 1) // 2) for stated in body.values()]
    made.extend(KEY, [START + hour * HOUR for hour in body], values, [(0.0, float(high)) for high in body.values()])
    return made


def published(folder: Folder, stated: Bodies, delay: int = 0) -> None:
    """Fold each body ten seconds after the one before, and `delay` seconds after it arrived."""
    for number, body in enumerate(stated):
        folding.fold(folder, FEED, rows(body), {}, RANKS, 1000 + 10 * number + delay, "live")


def restored(stated: Bodies) -> Versions:
    final: dict[int, int] = {}
    for body in stated:
        final |= body
    statements = [Statement(1000 + 10 * number, rows(body)) for number, body in enumerate(stated)]
    return restore.versions(FEED, statements, rows(final), PLACE)


def known(versions: Versions, at: int) -> dict[int, float]:
    then = resolve.known(versions, at)
    hours = ((then.ts - START) // HOUR).tolist()
    assert len(set(hours)) == len(hours), "a reading is live twice"
    return dict(zip(hours, [] if then.bounds is None else then.bounds[:, 1].tolist(), strict=True))


def _instants(stated: Bodies) -> range:
    return range(995, 1000 + 10 * len(stated) + 10, 5)


@pytest.mark.slow
@few
@given(bodies, st.sampled_from(["series", "history", "both"]), st.integers(0, 4))
def test_a_month_that_lost_a_file_answers_as_before(
    tmp_path_factory: pytest.TempPathFactory, stated: Bodies, lost: str, delay: int
) -> None:
    folder = Folder(tmp_path_factory.mktemp("lost"))
    published(folder, stated, delay)
    before = month_versions.read(folder, PLACE)
    files = {"series": [layout.series(*PLACE)], "history": folder.keys(layout.history_prefix())}
    for key in files["series"] + files["history"] if lost == "both" else files[lost]:
        folder.delete(key)
    restore.put(folder, PLACE, restored(stated), RANKS, "live", 0)
    after = month_versions.read(folder, PLACE)
    for at in _instants(stated):
        if all(not (1000 + 10 * number <= at < 1000 + 10 * number + delay) for number in range(len(stated))):
            assert known(after, at) == known(before, at), "but for the seconds until a body was put"


@pytest.mark.slow
@few
@given(bodies)
def test_a_whole_month_is_left_as_it_is(tmp_path_factory: pytest.TempPathFactory, stated: Bodies) -> None:
    folder = Folder(tmp_path_factory.mktemp("whole"))
    published(folder, stated)
    files = {key: folder.stat(key) for key in folder.keys("series/") + folder.keys("history/")}
    restore.put(folder, PLACE, restored(stated), RANKS, "live", None)
    assert {key: folder.stat(key) for key in folder.keys("series/") + folder.keys("history/")} == files


def test_rows_that_came_since_the_loss_are_known_since_the_bodies_that_say_the_same(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folding.fold(folder, FEED, rows({0: 1, 1: 2}), {}, RANKS, 5000, "live")
    restore.put(folder, PLACE, restored([{0: 1, 1: 1}]), RANKS, "live", 0)
    after = month_versions.read(folder, PLACE)
    assert known(after, 1000) == known(after, 4999) == {0: 1.0, 1: 1.0}
    assert known(after, 5000) == {0: 1.0, 1: 2.0}


def test_what_no_body_states_any_more_stays_and_what_is_not_believed_comes_not_back(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folding.fold(folder, FEED, rows({0: 1}), {}, RANKS, 1000, "live")
    stated = restore.versions(FEED, [Statement(1010, rows({1: 9, 2: 2}))], rows({2: 2}), PLACE)
    restore.put(folder, PLACE, stated, RANKS, "live", 0)
    assert known(month_versions.read(folder, PLACE), 2000) == {0: 1.0, 2: 2.0}


def test_before_the_kept_days_the_month_says_since_when_all_is_known(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.put(layout.MODE, b"live")
    restore.put(folder, PLACE, restored([{0: 1}, {0: 2}]), RANKS, "live", 1005)
    past = monthfile.past(folder, layout.series(*PLACE))
    assert past is not None
    assert past.known_since == 1005
    folding.fold(folder, FEED, rows({1: 1}), {}, RANKS, 2000, "live")
    kept = monthfile.past(folder, layout.series(*PLACE))
    assert kept is not None
    assert kept.known_since == 1005, "a later fold forgets it not"
