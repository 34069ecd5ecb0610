"""The log of changes: who follows it ends with the rows served, whatever is folded, killed, lost or resolved."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.warehouse.series_model import BASE, EVERYTHING, FEEDS, RANKS, feed_rows, fold, spans
from warehouse import artefact, change_log, damaged, layout, series, untold
from warehouse.change_log import UnknownCursor
from warehouse.changes import Change
from warehouse.clock import DAY, Window
from warehouse.errors import StorageError
from warehouse.schema import Rows, SeriesKey
from warehouse.storage import Folder

HOUR = 3600
SEGMENT = 8


@pytest.fixture(autouse=True, scope="module")
def _short_segments():
    """Segments of eight entries: the log's ends come soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_log, "SEGMENT", SEGMENT)
        yield


def rows_of(folder, window=EVERYTHING) -> dict[tuple, tuple]:
    """What a reader sees of GB's demand, by identity."""
    table = series.read(folder, "GB", "demand", window).to_pylist()
    return {
        (row["ts"], row["fuel"], row["counterparty"], row["link"]): (
            row["value"],
            row["unit"],
            row["resolution"],
            row["feed"],
        )
        for row in table
    }


class Follower:
    """Holds rows by the log alone: for each entry it reads the entry's span again."""

    def __init__(self) -> None:
        self.rows: dict[tuple, tuple] = {}
        self.cursor: str | None = None
        self.entries: list[Change] = []

    def follow(self, folder, limit=3) -> None:
        more = True
        while more:
            page = change_log.read(folder, self.cursor, limit)
            for entry in page.entries:
                self.take(folder, entry.change)
            self.cursor, more = page.next, page.more

    def take(self, folder, change) -> None:
        self.entries.append(change)
        self.rows = {at: row for at, row in self.rows.items() if not change.first <= at[0] <= change.last}
        self.rows |= rows_of(folder, Window(change.first, change.last + 1))


folds = st.tuples(st.sampled_from(FEEDS), feed_rows(), spans())
rights = st.fixed_dictionaries({}, optional={f: st.just(RANKS[f]) for f in FEEDS})
steps = st.lists(st.one_of(folds, folds, folds, rights, st.just("damage"), st.just("follow")), min_size=1, max_size=7)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_a_follower_ends_with_exactly_the_rows_served(tmp_path_factory, steps):
    follow_steps(Folder(tmp_path_factory.mktemp("w")), steps)


def follow_steps(folder, steps):
    """Backfills, corrections, withdrawals, rights taken and given, and a month file that is damaged and set aside."""
    follower, now = Follower(), 1000
    for step in steps:
        now += 1
        before = rows_of(folder)
        told = number(folder)
        if step == "follow":
            follower.follow(folder)
        elif step == "damage":
            spoil(folder)
        elif isinstance(step, dict):
            for place in series.held(folder):
                series.resolve_again(folder, *place, step)
        else:
            feed, rows, covered = step
            series.fold(folder, feed, Rows.of(rows), {("GB", "demand"): covered}, RANKS, now, "live")
        assert (number(folder) > told) == (rows_of(folder) != before) or step == "damage"
    follower.follow(folder)
    assert follower.rows == rows_of(folder)
    assert not folder.keys(layout.UNTOLD)


def number(folder) -> int:
    return int(change_log.newest(folder).rpartition("-")[2])


def spoil(folder) -> None:
    """A served month's bytes go wrong, and the next fold finds it."""
    for key in folder.keys("series/")[:1]:
        folder.put(key, b"PAR1" + os.urandom(50))
        metric, zone, month, _ = layout.of_series(key)
        with folder.locked([key]):
            damaged.set_aside(folder, key, "spoilt by a test")
        assert not rows_of(folder, Window(0, 1))
        assert (metric, zone) == ("demand", "GB")
        assert month


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


CASES: dict[str, Callable[[Folder], object]] = {
    "new": lambda folder: fold(folder, "one.fast", BASE, [1, 2, 3, 4], known_at=5),
    "corrected": lambda folder: fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5),
    "withdrawn": lambda folder: fold(folder, "one.fast", BASE, [1], known_at=5, spans=[Window(BASE, BASE + 3 * HOUR)]),
    "rights": lambda folder: [series.resolve_again(folder, *place, {"three.back": 9}) for place in series.held(folder)],
    "nothing": lambda folder: fold(folder, "one.fast", BASE, [1, 2, 3], known_at=5),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "heals"), [*((case, "publication") for case in CASES if case != "new"), ("corrected", "rerun")]
)
def test_a_kill_at_any_point_loses_no_entry_and_invents_none(tmp_path, killed_at, case, heals):
    step, killed = 0, True
    while killed:
        step += 1
        folder, follower = Folder(tmp_path / str(step)), Follower()
        fold(folder, "three.back", BASE, [11, 12])
        fold(folder, "one.fast", BASE, [1, 2, 3])
        follower.follow(folder)
        before, told = rows_of(folder), number(folder)
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
    step, killed = 0, True
    while killed:
        step += 1
        folder, follower = Folder(tmp_path / str(step)), Follower()
        fold(folder, "one.fast", BASE, [1, 2, 3])
        follower.follow(folder)
        key = layout.series("demand", "GB", "2026-10")
        folder.put(key, b"spoilt")
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


def test_the_newest_cursor_of_a_log_whose_end_is_damaged_is_behind_it(tmp_path):
    """Webhooks go on there at once, not only after the next change."""
    folder = Folder(tmp_path)
    fold(folder, "one.fast", BASE, [1, 2, 3])
    folder.put(layout.change_segment(0), b"spoilt")
    newest = change_log.newest(folder)
    assert change_log.read(folder, newest, 9).entries == []
    fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
    assert [entry.change.changed for entry in change_log.read(folder, newest, 9).entries] == [1]


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


def test_concurrent_writers_share_one_log(tmp_path):
    """Three processes, each a zone of its own: every change has its number, and none is given twice."""
    folder, pids = Folder(tmp_path), []
    fold(folder, "one.fast", BASE, [0])
    for zone in ("FR", "NL", "BE"):
        pid = os.fork()
        if pid == 0:
            try:
                for turn in range(8):
                    rows = Rows()
                    rows.extend(SeriesKey(zone, "demand", "MW", "1h"), [BASE], [float(turn)])
                    series.fold(folder, "one.fast", rows, {}, RANKS, turn + 1, "live")
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 3
    entries = change_log.read(folder, None, 1000).entries
    assert [entry.number for entry in entries] == list(range(1, 26))
    assert len({entry.token for entry in entries}) == 25
    for zone in ("FR", "NL", "BE"):
        assert [e.change.added + e.change.changed for e in entries if e.change.zone == zone] == [1] * 8


def change(number: int) -> Change:
    return Change("GB", "demand", "one.fast", number, number, 1, 0, 0)


END = 2 * SEGMENT + 4


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Two and a half segments, an entry a minute."""
    folder = Folder(tmp_path_factory.mktemp("long"))
    for n in range(1, END + 1):
        change_log.append(folder, change(n), f"t{n}", n * 60)
    return folder


def test_pages_give_every_entry_once_in_order(long):
    cursor, seen, more = None, [], True
    while more:
        page = change_log.read(long, cursor, 7)
        seen += [entry.change.first for entry in page.entries]
        cursor, more = page.next, page.more
    assert seen == list(range(1, END + 1))
    assert change_log.read(long, cursor, 7) == ([], cursor, False, page.oldest)
    assert change_log.newest(long) == cursor


def test_a_filter_goes_on_behind_what_it_left_out(long):
    page = change_log.read(long, None, 5, lambda c: c.first % 4 == 0)
    assert [e.change.first for e in page.entries] == [4, 8, 12, 16, 20]
    rest = change_log.read(long, page.next, 5, lambda c: c.first % 4 == 0)
    assert rest.entries == []
    assert rest.next == change_log.newest(long)


def test_entries_of_the_last_moment_wait(long):
    page = change_log.read(long, None, 1000, until=10 * 60)
    assert [e.number for e in page.entries] == list(range(1, 11))
    assert not page.more
    assert change_log.newest(long, until=10 * 60) == page.next
    assert change_log.read(long, page.next, 1, until=11 * 60).entries[0].number == 11


def test_an_entry_of_a_clock_far_ahead_neither_waits_nor_holds_up_those_behind_it(tmp_path):
    folder, now = Folder(tmp_path), 1_000_000
    change_log.append(folder, change(1), "t1", now)
    change_log.append(folder, change(2), "t2", now + 10 * 365 * DAY)
    change_log.append(folder, change(3), "t3", now + 5)
    change_log.append(folder, change(4), "t4", now + 60)
    entries = change_log.read(folder, None, 10).entries
    assert [entry.at - now for entry in entries] == [0, 10 * 365 * DAY, 5, 60]
    page = change_log.read(folder, None, 10, until=now + 20)
    assert [entry.number for entry in page.entries] == [1, 2, 3]
    assert change_log.newest(folder, until=now + 20) == page.next
    assert change_log.newest(folder, until=now + 60).endswith("-4")
    assert [e.number for e in change_log.read(folder, None, 10, until=now - 1).entries] == []


@pytest.mark.parametrize("cursor", ["00000000-1", "nonsense", "{log}-99999999", "{log}-21"])
def test_an_unknown_cursor_is_refused_with_the_oldest_one(long, cursor):
    log = change_log.newest(long).partition("-")[0]
    with pytest.raises(UnknownCursor) as refused:
        change_log.read(long, cursor.format(log=log), 10)
    assert change_log.read(long, refused.value.oldest, 1).entries[0].number == 1


def test_a_log_that_nothing_was_written_to(tmp_path):
    folder = Folder(tmp_path)
    assert change_log.read(folder, None, 10) == ([], "0", False, "0")
    assert change_log.newest(folder) == "0"
    with pytest.raises(UnknownCursor):
        change_log.read(folder, "0123abcd-1", 10)
    change_log.append(folder, change(1), "t", 1)
    assert [e.number for e in change_log.read(folder, "0", 10).entries] == [1]


def test_after_thirty_days_an_entry_goes_and_its_cursor_with_it(tmp_path):
    folder = Folder(tmp_path)
    for n in range(1, SEGMENT + 1):
        change_log.append(folder, change(n), f"t{n}", n)
    cursor = change_log.read(folder, None, 3).next
    for n in range(SEGMENT + 1, 2 * SEGMENT + 2):
        change_log.append(folder, change(n), f"t{n}", n + 31 * DAY)
    assert [layout.of_change_segment(key) for key in change_log.segments(folder)] == [1, 2]
    with pytest.raises(UnknownCursor) as refused:
        change_log.read(folder, cursor, 3)
    assert change_log.read(folder, refused.value.oldest, 1).entries[0].number == SEGMENT + 1
    with pytest.raises(UnknownCursor):
        change_log.read(folder, "0", 3)


@pytest.mark.parametrize("harm", ["spoilt", "lost"])
@pytest.mark.parametrize("which", [0, 1, "head"])
def test_a_log_file_that_is_damaged_or_lost_sends_followers_past_it(tmp_path, harm, which):
    """Never silently past an entry: who has not read it yet gets 410 and reads all rows again."""
    folder = Folder(tmp_path)
    for n in range(1, SEGMENT + 6):
        change_log.append(folder, change(n), f"t{n}", n)
    behind, end = change_log.read(folder, None, 3).next, change_log.newest(folder)
    key = layout.CHANGE_LOG if which == "head" else layout.change_segment(which)
    folder.put(key, b"spoilt") if harm == "spoilt" else folder.delete(key)
    change_log.append(folder, change(1000), "late", 1000)
    if which == "head":
        seen = change_log.read(folder, behind, 1000).entries
        assert [e.number for e in seen] == list(range(4, SEGMENT + 7))
        return
    with pytest.raises(UnknownCursor) as refused:
        change_log.read(folder, behind, 1000)
    rest = change_log.read(folder, refused.value.oldest, 1000).entries
    assert rest[-1].change == change(1000)
    if which == 0:
        assert [e.change for e in change_log.read(folder, end, 10).entries] == [change(1000)]
    else:
        with pytest.raises(UnknownCursor):
            change_log.read(folder, end, 10)
