"""The log of changes: who follows it ends with the rows served, whatever is folded, killed, lost or resolved."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings

from tests.warehouse.change_followers import CASES, Follower, follow_steps, number, rows_of, steps
from tests.warehouse.series_model import BASE, fold
from warehouse import artefact, change_log, damaged, layout, untold
from warehouse.change_log import UnknownCursor
from warehouse.changes import Change
from warehouse.clock import HOUR, Window
from warehouse.errors import StorageError
from warehouse.storage import Folder

pytestmark = pytest.mark.usefixtures("short_segments")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_a_follower_ends_with_exactly_the_rows_served(tmp_path_factory, steps):
    follow_steps(Folder(tmp_path_factory.mktemp("w")), steps)


def test_an_entry_counts_what_readers_see(tmp_path):
    folder = Folder(tmp_path)
    fold(folder, "three.back", BASE, [1, 2, 3])
    fold(folder, "one.fast", BASE, [10, 20, 30, 40])
    fold(folder, "three.back", BASE, [5, 6, 7])  # served nowhere: no entry
    fold(folder, "one.fast", BASE, [10, 21], spans=[Window(BASE, BASE + 4 * HOUR)])
    entries = [entry.change for entry in change_log.read(folder, None, 10).entries]
    last = BASE + 3 * HOUR
    assert entries == [
        Change("GB", "demand", "three.back", BASE, BASE + 2 * HOUR, 3, 0, 0),
        Change("GB", "demand", "one.fast", BASE, last, 1, 3, 0),
        Change("GB", "demand", "one.fast", BASE + HOUR, last, 0, 2, 1),  # the third comes from the lower rank now
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "heals", "first"),
    [
        *((case, "publication", 1 + number % 2) for number, case in enumerate(CASES) if case != "new"),
        ("corrected", "rerun", 1),
    ],
)
def test_a_kill_at_any_point_loses_no_entry_and_invents_none(tmp_path, killed_at, case, heals, first):
    """At every second operation, the odd ones and the even ones of the cases in turn."""
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
        # Never an entry ahead of its rows.
        assert number(folder) == told or rows_of(folder) != before
        if heals == "publication":
            untold.tell_all(folder)
            follower.follow(folder)
            assert follower.rows == rows_of(folder)
            assert number(folder) - told == (rows_of(folder) != before)
        CASES[case](folder)
        follower.follow(folder)
        assert follower.rows == rows_of(folder)
        assert number(folder) - told == (case != "nothing"), "once, however often it was tried"
        assert not folder.keys(layout.UNTOLD)
    assert step > 3


def test_a_kill_while_a_damaged_month_is_set_aside_is_told(tmp_path, killed_at):
    made, followed = Folder(tmp_path / "made"), Follower()
    fold(made, "one.fast", BASE, [1, 2, 3])
    followed.follow(made)
    made.put(layout.series("demand", "GB", "2026-10"), b"spoilt")
    step, killed = 0, True
    while killed:
        step += 1
        folder, follower = Folder(shutil.copytree(made.root, tmp_path / str(step))), deepcopy(followed)
        killed = killed_at(lambda folder=folder: fold(folder, "one.fast", BASE + HOUR, [8], known_at=5), step)
        fold(folder, "one.fast", BASE + HOUR, [8], known_at=6)
        follower.follow(folder)
        assert follower.rows == rows_of(folder)
        assert [value for value, *_ in follower.rows.values()] == [8]
    assert step > 5


@contextmanager
def failing(verb, error):
    """A folder whose log of changes cannot be used."""
    works = getattr(Folder, verb)

    def fails(folder, key, *rest, **named):
        if key.startswith(layout.CHANGES):
            raise error
        return works(folder, key, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, verb, fails)
        yield


@pytest.mark.parametrize("error", [StorageError("the disk is broken"), PermissionError(13, "denied"), KeyError("at")])
@pytest.mark.parametrize("verb", ["get", "put", "delete", "stat"])
@pytest.mark.parametrize("spoilt", [False, True])
def test_a_log_that_cannot_be_used_holds_up_no_rows_and_sends_followers_back(tmp_path, verb, error, spoilt):
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    follower.follow(folder)
    if spoilt:
        folder.put(layout.series("demand", "GB", "2026-10"), b"spoilt")
    with failing(verb, error):
        fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
        assert [value for value, *_ in rows_of(folder).values()] == [1, 7, 3]
    untold.tell_all(folder)
    if verb != "delete" or spoilt:  # two changes, and the note of the first one stays in the way
        with pytest.raises(UnknownCursor) as refused:
            follower.follow(folder)
        follower.cursor, follower.rows = refused.value.oldest, rows_of(folder)
    fold(folder, "one.fast", BASE, [1, 7, 4, 9], known_at=6)
    follower.follow(folder)
    assert follower.rows == rows_of(folder)
    assert folder.keys(layout.UNTOLD) == []
    assert folder.stat(layout.CHANGES_MISSED) is None


@pytest.mark.parametrize("spoilt", [False, True])
def test_followers_sent_back_before_the_rows_were_in_place_are_sent_back_again(tmp_path, monkeypatch, spoilt):
    """A publication finds the mark of a change that could not be noted, while its writer has yet to put the file."""
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    follower.follow(folder)
    key, verb, noted = layout.series("demand", "GB", "2026-10"), "move" if spoilt else "put", change_log.tail
    works = getattr(Folder, verb)

    def publication_first(folder, at, *rest):
        if at == key:
            monkeypatch.setattr(change_log, "tail", noted)
            monkeypatch.setattr(Folder, verb, works)
            untold.tell_all(folder)
            with pytest.raises(UnknownCursor) as refused:
                follower.follow(folder)
            follower.cursor, follower.rows = refused.value.oldest, {} if spoilt else rows_of(folder)
        return works(folder, at, *rest)

    monkeypatch.setattr(change_log, "tail", raising(StorageError("the disk is broken")))
    monkeypatch.setattr(Folder, verb, publication_first)
    if spoilt:
        damaged.set_aside(folder, key, "spoilt")
    else:
        fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
    untold.tell_all(folder)
    with pytest.raises(UnknownCursor):
        follower.follow(folder)


def test_a_change_that_two_writers_could_not_tell_is_missed_by_nobody(tmp_path):
    """The second one's note would take the place of the first one's."""
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    follower.follow(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_log, "append", raising(StorageError("the disk is broken")))
        fold(folder, "one.fast", BASE, [7, 2, 3], known_at=5)
        fold(folder, "one.fast", BASE, [7, 2, 8], known_at=6)
    untold.tell_all(folder)
    with pytest.raises(UnknownCursor):
        follower.follow(folder)


def raising(error):
    def fails(*_, **__):
        raise error

    return fails


@pytest.mark.parametrize("stored", [b"", b"nonsense", artefact.sealed(b"[]"), artefact.sealed(b'{"change": {}}')])
def test_a_note_that_nobody_understands_is_told_as_the_whole_month(tmp_path, stored):
    folder, follower = Folder(tmp_path), Follower()
    fold(folder, "one.fast", BASE, [1, 2, 3])
    folder.put(layout.untold("demand", "GB", "2026-10"), stored)
    fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
    follower.follow(folder)
    assert [change.withdrawn for change in follower.entries] == [0, None, 0]
    assert follower.rows == rows_of(folder)
