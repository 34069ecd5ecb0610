"""Test the pages of the change log: cursors, filters, delayed and expired entries, concurrent writers, damage."""

from __future__ import annotations

import pytest

from tests.warehouse.change_followers import SEGMENT
from tests.warehouse.series_model import BASE, fold
from warehouse.errors import DamagedFile
from warehouse.market.clock import DAY
from warehouse.series import change_log
from warehouse.series.change_log import Change, UnknownCursor
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

pytestmark = [pytest.mark.usefixtures("short_segments"), pytest.mark.slow]


def test_the_newest_cursor_of_a_log_whose_end_is_damaged_is_behind_it(tmp_path):
    """Check that webhooks continue there at once, without waiting for the next change."""
    folder = Folder(tmp_path)
    fold(folder, "one.fast", BASE, [1, 2, 3])
    folder.put(layout.change_segment(0), b"spoilt")
    newest = change_log.newest(folder)
    assert change_log.read(folder, newest, 9).entries == []
    fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
    assert [entry.change.changed for entry in change_log.read(folder, newest, 9).entries] == [1]


def test_a_head_that_a_segment_was_copied_over_is_damaged(tmp_path):
    folder = Folder(tmp_path)
    fold(folder, "one.fast", BASE, [1, 2, 3])
    folder.put(layout.CHANGE_LOG, folder.get(layout.change_segment(0)))
    with pytest.raises(DamagedFile, match="is a copy of changes/log/"):
        artefact.checked(folder, layout.CHANGE_LOG, folder.get(layout.CHANGE_LOG))
    assert change_log.newest(folder) == change_log.BEGINNING
    fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5)
    assert [entry.change.changed for entry in change_log.read(folder, None, 9).entries] == [1]


def change(number: int) -> Change:
    return Change("GB", "demand", "one.fast", number, number, 1, 0, 0)


END = 2 * SEGMENT + 4


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return a log of two and a half segments with one entry per minute."""
    folder = Folder(tmp_path_factory.mktemp("long"))
    for n in range(1, END + 1):
        change_log.append(folder, change(n), "", n * 60)
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


def test_entries_of_the_last_moment_wait(long):
    page = change_log.read(long, None, 1000, until=10 * 60)
    assert [e.number for e in page.entries] == list(range(1, 11))
    assert not page.more
    assert change_log.newest(long, until=10 * 60) == page.next
    assert change_log.read(long, page.next, 1, until=11 * 60).entries[0].number == 11


def test_an_entry_of_a_clock_far_ahead_neither_waits_nor_holds_up_those_behind_it(tmp_path):
    folder, now = Folder(tmp_path), 1_000_000
    change_log.append(folder, change(1), "", now)
    change_log.append(folder, change(2), "", now + 10 * 365 * DAY)
    change_log.append(folder, change(3), "", now + 5)
    change_log.append(folder, change(4), "", now + 60)
    change_log.append(folder, change(5), "", now + 58)
    entries = change_log.read(folder, None, 10).entries
    assert [entry.at - now for entry in entries] == [0, 10 * 365 * DAY, 5, 60, 60]
    page = change_log.read(folder, None, 10, until=now + 20)
    assert [entry.number for entry in page.entries] == [1, 2, 3]
    assert change_log.newest(folder, until=now + 20) == page.next
    assert change_log.newest(folder, until=now + 60).endswith("-5")
    assert [e.number for e in change_log.read(folder, None, 10, until=now - 1).entries] == []


@pytest.mark.parametrize("cursor", ["00000000-1", "nonsense", "{log}-99999999", "{log}-21"])
def test_an_unknown_cursor_is_refused_with_the_oldest_one(long, cursor):
    log = change_log.newest(long).partition("-")[0]
    with pytest.raises(UnknownCursor) as refused:
        change_log.read(long, cursor.format(log=log), 10)
    assert change_log.read(long, refused.value.oldest, 1).entries[0].number == 1


def test_a_time_is_the_cursor_behind_all_older_entries(tmp_path):
    folder, times = Folder(tmp_path), [10, 10, 20, 30, 30, 40] * (SEGMENT // 2)
    for number, at in enumerate(sorted(times), 1):
        change_log.append(folder, change(number), "t", at)
    for at in (5, 10, 11, 20, 30, 40, 41):
        found = change_log.read(folder, change_log.cursor_before(folder, at), 10_000).entries
        assert [entry.at for entry in found] == [each for each in sorted(times) if each >= at]


def test_an_entry_that_begins_a_segment_is_not_older_than_the_one_ahead_of_it(tmp_path):
    folder = Folder(tmp_path)
    for number, at in enumerate([*[10] * (SEGMENT - 1), 30, 20], 1):
        change_log.append(folder, change(number), "", at)
    rest = change_log.read(folder, change_log.cursor_before(folder, 25), 10).entries
    assert [entry.number for entry in rest] == [SEGMENT, SEGMENT + 1]
    assert change_log.newest(folder, until=25).endswith(f"-{SEGMENT - 1}")


def test_a_strange_file_among_the_segments_stops_no_entry(tmp_path):
    folder = Folder(tmp_path)
    folder.put(f"{layout.CHANGE_SEGMENTS}.DS_Store", b"strange")
    for number in range(1, SEGMENT + 2):
        change_log.append(folder, change(number), "", number)
    assert [entry.number for entry in change_log.read(folder, None, 100).entries] == [*range(1, SEGMENT + 2)]


def test_after_thirty_days_an_entry_goes_and_its_cursor_with_it(tmp_path):
    folder = Folder(tmp_path)
    for n in range(1, SEGMENT + 1):
        change_log.append(folder, change(n), "", n)
    cursor = change_log.read(folder, None, 3).next
    for n in range(SEGMENT + 1, 2 * SEGMENT + 2):
        change_log.append(folder, change(n), "", n + 31 * DAY)
    assert folder.keys(layout.CHANGE_SEGMENTS) == [layout.change_segment(number) for number in (1, 2)]
    with pytest.raises(UnknownCursor) as refused:
        change_log.read(folder, cursor, 3)
    assert change_log.read(folder, refused.value.oldest, 1).entries[0].number == SEGMENT + 1
    with pytest.raises(UnknownCursor):
        change_log.read(folder, "0", 3)


@pytest.mark.parametrize("harm", ["spoilt", "lost"])
@pytest.mark.parametrize("which", [0, 1, "head"])
def test_a_log_file_that_is_damaged_or_lost_sends_followers_past_it(tmp_path, harm, which):
    """Check that a follower never misses an entry unnoticed: it gets 410 and reads all rows again."""
    folder = Folder(tmp_path)
    for n in range(1, SEGMENT + 6):
        change_log.append(folder, change(n), "", n)
    behind, end = change_log.read(folder, None, 3).next, change_log.newest(folder)
    key = layout.CHANGE_LOG if which == "head" else layout.change_segment(which)
    folder.put(key, b"spoilt") if harm == "spoilt" else folder.delete(key)
    change_log.append(folder, change(1000), "", 1000)
    with pytest.raises(UnknownCursor) as refused:
        change_log.read(folder, behind, 1000)
    rest = change_log.read(folder, refused.value.oldest, 1000).entries
    assert rest[-1].change == change(1000)
    if which == 0:
        assert [e.change for e in change_log.read(folder, end, 10).entries] == [change(1000)]
    else:
        with pytest.raises(UnknownCursor):
            change_log.read(folder, end, 10)
