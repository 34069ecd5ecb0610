"""Kill folds at any point, in a folder and in a bucket: readers see the old or the new rows, and a rerun repairs."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial

import pytest

from tests.stand_ins import stored_rows
from tests.stand_ins.places import FolderPlace
from tests.warehouse.series_model import BASE, EVERYTHING, RANKS, WIDE, fold, spelled, tuples, values
from warehouse.market.clock import Window
from warehouse.series import month_versions, monthfile
from warehouse.series.month_versions import Month
from warehouse.store import layout


def state(folder):
    return values(folder), stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, 10**9, RANKS).column(
        "value"
    ).to_pylist()


_WHOLE = [Window(BASE, BASE + 3 * 3600)]
_CASES = {
    "new": ("one.fast", [1, 2, 3, 4], (), [1, 2, 3, 4]),
    "corrected": ("one.fast", [1, 7, 3], _WHOLE, [1, 7, 3]),
    "evicted": ("one.fast", [1], _WHOLE, [1]),
    "promoted": ("one.fast", [], _WHOLE, [11, 12]),
    "demoted": ("one.fast", [5, 6, 7], (), [5, 6, 7]),
}
"""The feed, values and covered ranges of a fold, and the values that are served after it."""


def _fold_case(storage, case):
    feed, stated, spans, _ = _CASES[case]
    fold(storage, feed, BASE, stated, known_at=5, spans=spans)


def _prepared(storage, case):
    """Store the rows that exist before the fold, and return their values."""
    if case in ("promoted", "demoted"):
        fold(storage, "three.back", BASE, [11, 12])
    if case != "demoted":
        fold(storage, "one.fast", BASE, [1, 2, 3])
    return values(storage)


def _killed_in(place, case, step):
    """Kill a fold at `step`, check what a reader sees, rerun it and check again. Return whether it was killed."""
    storage, after = place.open(), _CASES[case][3]
    before = _prepared(storage, case)
    killed = place.killed_at(partial(_fold_case, case=case), step)
    served, known = state(storage)
    assert served in (before, after)
    assert known == served
    assert stored_rows.read_as_of(storage, "GB", "demand", EVERYTHING, 4, RANKS).column("value").to_pylist() == before
    _fold_case(storage, case)  # the rerun repairs
    assert state(storage) == (after, after)
    assert stored_rows.read_as_of(storage, "GB", "demand", EVERYTHING, 4, RANKS).column("value").to_pylist() == before
    once = month_versions.read(storage, Month("demand", "GB", "2026-10"))
    assert len(once) == len({str(version) for version in spelled(once)})
    past = monthfile.past(storage, layout.series("demand", "GB", "2026-10"))
    month_versions.sweep(storage, older_than_s=-1)
    assert storage.keys(layout.history_prefix()) == [key for key in [past.history] if key]
    return killed


@pytest.mark.slow
@pytest.mark.parametrize(("case", "first"), [(case, 1 + number % 2) for number, case in enumerate(_CASES)])
def test_a_kill_at_any_point_of_a_fold_leaves_the_old_or_the_new(tmp_path, killed_at, case, first):
    """Check that readers see the rows of before or after, the rerun repairs, and the past stays readable.

    Kill at every second operation: alternate cases at odd and at even operations.
    """
    step = first
    while _killed_in(FolderPlace(tmp_path / str(step), killed_at), case, step):
        step += 2
    assert step > 5


@pytest.mark.slow
@pytest.mark.parametrize(("case", "first"), [("promoted", 1), ("demoted", 4), ("corrected", 7)])
def test_a_kill_at_any_request_of_a_fold_leaves_the_old_or_the_new(bucket_place, case, first):
    """Kill over a bucket at every ninth step, in turn before a request and before its response."""
    step = first
    while _killed_in(replace(bucket_place, prefix=f"{bucket_place.prefix}/{step}"), case, step):
        step += 9
    assert step > 20


@pytest.mark.slow
def test_a_kill_during_two_concurrent_folds_leaves_the_other_whole(folder, killed_at, thorough):
    """Kill one writer at every third point of its fold (thorough: at each point) while another folds steadily."""
    ends = time.time() + 60
    steady = os.fork()
    if steady == 0:
        turn = 0
        try:
            while time.time() < ends and folder.get("stop") is None:
                turn += 1
                fold(folder, "one.fast", BASE + turn % 3 * 3600, [turn], known_at=turn)
        except BaseException:
            os._exit(1)
        os._exit(0)
    stride, killed = 1 if thorough else 3, True
    step = 1 - stride
    while killed:
        step += stride
        start = BASE - step * 3600
        killed = killed_at(lambda start=start, step=step: fold(folder, "two.slow", start, [step], known_at=step), step)
        rows = stored_rows.read(folder, "GB", "demand", WIDE)
        assert len(set(rows.column("ts").to_pylist())) == rows.num_rows
    folder.put("stop", b"")
    assert os.waitpid(steady, 0)[1] == 0
    numbers = range(1, step + 1, stride)
    for number in numbers:
        fold(folder, "two.slow", BASE - number * 3600, [number], known_at=number)
    own = [row for row in tuples(stored_rows.read(folder, "GB", "demand", WIDE)) if row[7] == "two.slow"]
    assert [row[4] for row in own] == [*reversed(numbers)]
