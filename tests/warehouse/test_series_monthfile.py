"""Test the monthly files: every version is kept, and the net rows in a footer equal those in the file's Parquet."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.warehouse.series_model import spelled
from warehouse.errors import DamagedFile
from warehouse.market.clock import Window
from warehouse.rows.versions import LIVE, NEVER, RowLabels, Versions
from warehouse.series import monthfile
from warehouse.series.net_rows import MOST_RUNS, PART_ROWS
from warehouse.series.reader import Reader
from warehouse.store import layout, modes
from warehouse.store.storage import Folder

texts = st.one_of(st.none(), st.sampled_from(["a", "b", "çé"]))
labels = st.builds(
    RowLabels,
    texts,
    texts,
    texts,
    st.just("MW"),
    st.sampled_from(["5m", "1h"]),
    st.just("s"),
    st.sampled_from(["s.a", "s.b"]),
    factors=texts,
)
bounds = st.one_of(st.just((np.nan, np.nan)), st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2))


@st.composite
def versions(draw):
    own = tuple(dict.fromkeys(draw(st.lists(labels, min_size=1, max_size=5))))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(own) - 1),
                st.integers(0, 2**38),
                st.floats(allow_nan=False, allow_infinity=False),
                st.integers(0, 2**38),
                st.one_of(st.just(-1), st.integers(0, 2**38)),
                st.one_of(st.just(-1), st.integers(0, 2**38)),
            ),
            max_size=20,
        )
    )
    columns = [np.array([r[i] for r in rows], np.float64 if i == 2 else np.int64) for i in range(6)]
    pairs = draw(st.lists(bounds, min_size=len(rows), max_size=len(rows)))
    among = np.array(pairs, np.float64) if any(low == low for low, _ in pairs) else None
    return Versions(own, *columns, among)


KEY = layout.series("demand", "GB", "2026-10")


@pytest.mark.slow
@given(versions())
def test_a_month_file_keeps_every_version(month):
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(place)
        modes.ensure(folder, "live")
        folder.put(KEY, monthfile.encode(month, KEY, "live"))
        assert spelled(monthfile.month(folder, KEY)[0]) == spelled(month)


@pytest.mark.slow
@given(versions(), st.randoms())
def test_equal_versions_give_equal_bytes(month, random):
    order = list(range(len(month)))
    random.shuffle(order)
    spare = Versions(
        (RowLabels("z", None, None, "MW", "5m", "s", "s.z"), *month.labels),
        month.label + 1,
        month.ts,
        month.value,
        month.known_at,
        month.superseded_at,
        month.published_at,
        month.bounds,
    ).take(np.array(order, np.int64))
    once = {(s, t, k) for s, t, k in zip(month.label.tolist(), month.ts.tolist(), month.known_at.tolist(), strict=True)}
    if len(once) == len(month):
        assert monthfile.encode(spare, KEY, "live") == monthfile.encode(month, KEY, "live")


INTERCHANGE = layout.series("interchange", "GB", "2026-11")
MODE = "live"
START = 1_793_491_200
FINE = RowLabels(None, None, None, "MW", "5m", "one", "one.fast")
COARSE = FINE._replace(resolution="30m", feed="one.slow")
BORDER = FINE._replace(counterparty="FR", link="ifa")


def versions_of(*rows: tuple[RowLabels, int, float]) -> Versions:
    labels = tuple(dict.fromkeys(label for label, _, _ in rows))
    count = len(rows)
    return Versions(
        labels,
        np.array([labels.index(label) for label, _, _ in rows], np.int64),
        np.array([START + minute * 60 for _, minute, _ in rows], np.int64),
        np.array([value for _, _, value in rows], float),
        np.ones(count, np.int64),
        np.full(count, LIVE),
        np.full(count, NEVER),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    storage = Folder(tmp_path)
    storage.put(layout.MODE, MODE.encode())
    return storage


def net(folder: Folder, rows: Versions) -> list[tuple[int, float, RowLabels]] | None:
    folder.put(INTERCHANGE, monthfile.encode(rows, INTERCHANGE, MODE))
    identity = folder.stat(INTERCHANGE)
    assert identity is not None
    return None if monthfile.net_layout(folder, INTERCHANGE, identity, MODE) is None else read_by_reader(folder)


def by_parquet(folder: Folder) -> list[tuple[int, float, RowLabels]]:
    kept = monthfile.month(folder, INTERCHANGE)[0]
    columns = zip(kept.ts.tolist(), kept.value.tolist(), kept.label.tolist(), strict=True)
    return [(ts, value, kept.labels[code]) for ts, value, code in columns if not kept.labels[code].border]


def read_by_reader(folder: Folder, window: Window | None = None) -> list[tuple[int, float, RowLabels]]:
    """Return the rows of `window` as the API reads them, from its own parts of the file."""
    reader = Reader(folder, 10_000_000)
    [file] = reader.files("GB", "interchange", Window(START, START + 1))
    rows = reader.rows(file, "net", window)
    if window is not None:
        rows = rows.take(slice(*rows.between(window)))
        assert reader.labels(file, "net", window) == {rows.labels[code] for code in rows.label}
    steps = {300 if rows.labels[code].resolution == "5m" else 1800 for code in rows.label.tolist()}
    assert not rows.run or (len({*rows.label.tolist()}) == 1 and {*np.diff(rows.ts).tolist()} <= steps)
    assert [column.dtype for column in (rows.label, rows.ts, rows.value)] == [np.int32, np.int64, np.float64]
    columns = zip(rows.ts.tolist(), rows.value.tolist(), rows.label.tolist(), strict=True)
    return [(ts, value, rows.labels[code]) for ts, value, code in columns]


LABELS = st.sampled_from([FINE, FINE, COARSE, BORDER])


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(LABELS, st.integers(0, 60), st.floats(-1e6, 1e6)), min_size=1, max_size=40))
def test_the_footer_says_what_parquet_holds(folder: Folder, rows: list[tuple[RowLabels, int, float]]) -> None:
    unique = {(label.border, step): (label, step * 5, value) for label, step, value in rows}
    stated = net(folder, versions_of(*unique.values()))
    assert (stated or []) == by_parquet(folder)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from([FINE, FINE, COARSE]), st.integers(0, 60)), min_size=1, max_size=40),
    st.integers(-400, 4000),
    st.integers(-400, 4000),
)
def test_the_rows_of_a_window_are_those_of_all_that_lie_in_it(
    folder: Folder, rows: list[tuple[RowLabels, int]], start: int, end: int
) -> None:
    unique = {step: (label, step * 5, float(step)) for label, step in rows}
    every = net(folder, versions_of(*unique.values()))
    assert every is not None
    window = Window(START + 6 * min(start, end), START + 6 * max(start, end))
    inside = [row for row in every if window.start <= row[0] < window.end]
    assert read_by_reader(folder, window) == inside


def test_borders_lie_apart_and_are_read_in_canonical_order(folder: Folder) -> None:
    rows = [(label, minute, float(minute)) for minute in range(0, 600, 5) for label in (FINE, BORDER)]
    assert net(folder, versions_of(*rows)) == by_parquet(folder)
    assert [row[0] for row in by_parquet(folder)] == sorted(row[0] for row in by_parquet(folder))
    versions = monthfile.month(folder, INTERCHANGE)[0]
    assert versions.ts.tolist() == sorted(versions.ts.tolist())
    assert [versions.labels[label].counterparty for label in versions.label] == [None, "FR"] * 120


def test_a_footer_longer_than_a_files_end_is_read_with_the_whole_file(folder: Folder) -> None:
    labels = [FINE._replace(feed=f"one.{'x' * 90}{n}") for n in range(8)]
    assert net(folder, versions_of(*[(labels[n % 8], 5 * n, float(n)) for n in range(MOST_RUNS)])) is None
    body, every = folder.get(INTERCHANGE) or b"", by_parquet(folder)
    assert len(body) - body.rindex(b'{"schema":') > 4096
    window = Window(START + 600, START + 43200)
    assert read_by_reader(folder, window) == [row for row in every if window.start <= row[0] < window.end]


def test_a_flipped_bit_reaches_no_window(folder: Folder) -> None:
    """Check that a window is unchanged if the flipped bit is outside its bytes; otherwise the file is damaged."""
    net(folder, versions_of(*[(FINE, 5 * n, n / 7) for n in range(3 * PART_ROWS)]))
    body = folder.get(INTERCHANGE) or b""
    window = Window(START + PART_ROWS * 300 + 1500, START + PART_ROWS * 300 + 1500 + 86400)
    whole = read_by_reader(folder, window)
    assert len(whole) == 288
    answered = refused = 0
    for at in range(0, len(body), 97):
        folder.put(INTERCHANGE, body[:at] + bytes([body[at] ^ 4]) + body[at + 1 :])
        try:
            assert read_by_reader(folder, window) == whole
            answered += 1
        except DamagedFile:
            refused += 1
    assert answered > 100
    assert refused > PART_ROWS * 8 // 97 - 2
