"""Check that a follower of the change log ends with the served rows after folds, kills, losses and new ranks."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings

from tests.warehouse.change_followers import CASES, Follower, follow_steps, number, publication, rebuild, rows_of, steps
from tests.warehouse.series_model import BASE, fold
from warehouse.errors import DamagedFile, StorageError
from warehouse.market.clock import HOUR, Window
from warehouse.series import change_log
from warehouse.series.change_log import Change, UnknownCursor
from warehouse.store import layout
from warehouse.store.storage import Folder

pytestmark = [pytest.mark.usefixtures("short_segments"), pytest.mark.slow]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_a_follower_ends_with_exactly_the_rows_served(tmp_path_factory, steps):
    follow_steps(Folder(tmp_path_factory.mktemp("w")), steps)


def test_an_entry_counts_what_readers_see(tmp_path):
    folder = Folder(tmp_path)
    fold(folder, "three.back", BASE, [1, 2, 3])
    fold(folder, "one.fast", BASE, [10, 20, 30, 40])
    fold(folder, "three.back", BASE, [5, 6, 7])  # not served, so there is no entry
    fold(folder, "one.fast", BASE, [10, 21], spans=[Window(BASE, BASE + 4 * HOUR)])
    entries = [entry.change for entry in change_log.read(folder, None, 10).entries]
    last = BASE + 3 * HOUR
    assert entries == [
        Change("GB", "demand", "three.back", BASE, BASE + 2 * HOUR, 3, 0, 0),
        Change("GB", "demand", "one.fast", BASE, last, 1, 3, 0),
        # the third value now comes from the feed of lower rank
        Change("GB", "demand", "one.fast", BASE + HOUR, last, 0, 2, 1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "first"), [(case, 1 + number % 2) for number, case in enumerate(CASES) if case != "new"]
)
def test_a_kill_at_any_point_loses_no_entry_and_invents_none(tmp_path, killed_at, case, first):
    """Kill each case at every second operation: alternate cases at odd and at even operations."""
    made, followed = Folder(tmp_path / "made"), Follower()
    fold(made, "three.back", BASE, [11, 12])
    fold(made, "one.fast", BASE, [1, 2, 3])
    followed.follow(made)
    before, told = rows_of(made), number(made)
    step, killed = first - 2, True
    while killed:
        step += 2
        folder, follower = Folder(shutil.copytree(made.root, tmp_path / str(step))), deepcopy(followed)
        killed = killed_at(lambda folder=folder: CASES[case](folder), step)
        assert number(folder) == told or rows_of(folder) != before, "never an entry ahead of its rows"
        CASES[case](folder)
        publication(folder)
        follower.follow(folder)
        assert follower.rows == rows_of(folder)
        assert number(folder) - told == (case != "nothing"), "once, however often it was tried"
    assert step > 3


@pytest.mark.slow
def test_a_kill_of_a_publication_loses_no_entry(tmp_path, killed_at):
    """Kill the first publication after a fold without an entry: the next one appends the entry once."""
    made, followed = Folder(tmp_path / "made"), Follower()
    fold(made, "one.fast", BASE, [1, 2, 3])
    publication(made)
    followed.follow(made)
    told = number(made)
    with unlogged():
        fold(made, "one.fast", BASE, [1, 7, 3], known_at=5)
    step, killed = 0, True
    while killed:
        step += 1
        folder, follower = Folder(shutil.copytree(made.root, tmp_path / str(step))), deepcopy(followed)
        killed = killed_at(lambda folder=folder: publication(folder), step)
        publication(folder)
        publication(folder)
        follower.follow(folder)
        assert follower.rows == rows_of(folder)
        assert follower.entries[-1] == change_log.whole_month("demand", "GB", "2026-10")
        assert number(folder) - told == 1
    assert step > 3


def test_a_month_that_is_gone_is_told(tmp_path):
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    publication(folder)
    key = layout.series("demand", "GB", "2026-10")
    folder.delete(key)
    publication(folder)
    publication(folder)
    with pytest.raises(DamagedFile):
        follower.follow(folder)
    rebuild(folder, key)
    follower.follow(folder)
    assert follower.rows == {}
    assert follower.entries[-1] == change_log.whole_month("demand", "GB", "2026-10")


@contextmanager
def unlogged(error=StorageError("the disk is broken")):  # noqa: B008  raised, not changed
    """Make every append to the log raise `error`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_log, "append", raising(error))
        yield


@pytest.mark.parametrize("error", [StorageError("the disk is broken"), PermissionError(13, "denied"), KeyError("at")])
def test_a_log_that_cannot_be_used_holds_up_no_rows_and_is_completed_later(tmp_path, error):
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    follower.follow(folder)
    with unlogged(error):
        fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
        publication(folder)
        assert [value for value, *_ in rows_of(folder).values()] == [1, 7, 3]
        fold(folder, "one.fast", BASE, [1, 7, 9], known_at=6)
    publication(folder)
    follower.follow(folder)
    assert len(follower.entries) == 2
    assert follower.rows == rows_of(folder)


@pytest.mark.parametrize("harm", ["manifest", "part", "both", "log"])
def test_what_is_lost_of_the_log_or_the_manifest_costs_no_follower_rows(tmp_path, harm):
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    publication(folder)
    follower.follow(folder)
    for key in folder.keys("changes/") if harm == "log" else folder.keys(layout.published()):
        is_part = key.startswith(layout.published("manifest/"))
        if harm in ("both", "log") or is_part == (harm == "part"):
            folder.put(key, b"spoilt")
    publication(folder)
    with unlogged():
        fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
    publication(folder)
    if harm == "log":
        with pytest.raises(UnknownCursor):
            follower.follow(folder)
        return
    follower.follow(folder)
    assert follower.rows == rows_of(folder)


def raising(error):
    def fails(*_, **__):
        raise error

    return fails
