"""The series store against a model in plain Python: revisions, evictions, ranks, rights, readings of the past."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.stand_ins.places import FolderPlace
from warehouse import layout, modes, monthfile, series, vintages
from warehouse.clock import RESOLUTIONS, Window, month_of
from warehouse.errors import StorageError
from warehouse.schema import SCHEMA, Row, Rows, SeriesKey
from warehouse.storage import Folder
from warehouse.versions import RowLabels, Versions
from warehouse.vintages import Month

BASE = int(datetime(2026, 10, 31, 20, tzinfo=UTC).timestamp())
EVERYTHING = Window(BASE - 86400, BASE + 86400)
WIDE = Window(BASE - 30 * 86400, BASE + 86400)
FEEDS = ("one.fast", "two.slow", "two.daily", "three.back")
RANKS = {"one.fast": 1, "two.slow": 2, "two.daily": 2, "three.back": 9}
NET = (None, None, None)


@dataclass
class Version:
    """What the model knows of one reading."""

    feed: str
    key: tuple
    ts: int
    value: float
    unit: str
    known_at: int
    superseded_at: int | None = None

    @property
    def end(self) -> int:
        return self.ts + RESOLUTIONS[self.key[3]]

    def row(self) -> tuple:
        fuel, counterparty, link, resolution = self.key
        return (self.ts, fuel, counterparty, link, self.value, self.unit, resolution, self.feed, self.known_at)


class Model:
    """All versions of one zone's metric in a list, and the rules of resolving and folding written out."""

    def __init__(self) -> None:
        self.versions: list[Version] = []

    def fold(self, feed, rows, spans, known_at) -> None:
        stated = {}
        for r in rows:
            stated[(r.fuel, r.counterparty, r.link, r.resolution), r.ts] = (r.value, r.unit)
        live = {(v.key, v.ts): v for v in self.versions if v.feed == feed and v.superseded_at is None}
        for place, old in live.items():
            if place not in stated and any(span.start <= old.ts < span.end for span in spans):
                old.superseded_at = known_at
        for (key, ts), (value, unit) in stated.items():
            old = live.get((key, ts))
            if old is not None and (old.value, old.unit) == (value, unit):
                continue
            if old is not None:
                old.superseded_at = known_at
            self.versions.append(Version(feed, key, ts, value, unit, known_at))
        self.versions = [v for v in self.versions if v.superseded_at is None or v.superseded_at > v.known_at]

    def served(self, ranks, at=None):
        """Rows as `read` gives them, at an instant of knowing."""
        then = (
            [v for v in self.versions if v.superseded_at is None]
            if at is None
            else [v for v in self.versions if v.known_at <= at and (v.superseded_at is None or v.superseded_at > at)]
        )
        chosen = []
        for month in {month_of(v.ts) for v in then}:
            for border in (False, True):
                side = [v for v in then if month_of(v.ts) == month and (v.key[1:3] != (None, None)) is border]
                chosen += self.resolved(side, ranks)
        return sorted((v.row() for v in chosen), key=lambda row: (row[0], *(part or "" for part in row[1:4])))

    def resolved(self, side, ranks):
        taken: list[Version] = []
        for feed in sorted({v.feed for v in side if v.feed in ranks}, key=lambda f: (ranks[f], f)):
            own = finest([v for v in side if v.feed == feed])
            taken += [v for v in own if not any(overlap(v, other) for other in taken)]
        return taken


def finest(own):
    kept: list[Version] = []
    for v in sorted(own, key=lambda v: RESOLUTIONS[v.key[3]]):
        if not any(o.key[:3] == v.key[:3] and o.key[3] != v.key[3] and overlap(v, o) for o in kept):
            kept.append(v)
    return kept


def overlap(a, b):
    return a.ts < b.end and b.ts < a.end


def tuples(table: pa.Table) -> list[tuple]:
    assert table.schema.equals(SCHEMA)
    rows = table.to_pylist()
    assert all(r["source"] == r["feed"].split(".")[0] and r["superseded_at"] is None for r in rows)
    return [
        (
            r["ts"],
            r["fuel"],
            r["counterparty"],
            r["link"],
            r["value"],
            r["unit"],
            r["resolution"],
            r["feed"],
            r["known_at"],
        )
        for r in rows
    ]


def everything(folder) -> dict[str, tuple]:
    """Every file's identity."""
    return {key: folder.stat(key) for key in folder.keys("series/")}


identities = st.sampled_from(
    [NET, NET, ("wind", None, None), (None, "FR", None), (None, "FR", "ifa"), (None, "BE", None)]
)


@st.composite
def feed_rows(draw):
    """Rows of one answer: consecutive intervals of one or two series, sometimes with holes, repeats or another unit."""
    rows = []
    for _ in range(draw(st.integers(0, 3))):
        fuel, counterparty, link = draw(identities)
        resolution = draw(st.sampled_from(["15m", "15m", "30m", "1h"]))
        step = RESOLUTIONS[resolution]
        first = BASE + draw(st.integers(0, 8)) * 3600
        unit = draw(st.sampled_from(["MW", "MW", "MW", "GW"]))
        stated = enumerate(draw(st.lists(st.sampled_from([None, 0.0, 1.0, 2.0, 3.5]), max_size=10)))
        rows += [
            Row("GB", "demand", fuel, counterparty, link, first + i * step, v, unit, resolution)
            for i, v in stated
            if v is not None
        ]
    return rows


@st.composite
def spans(draw):
    """Up to two spans that the answers cover, whole hours, over the turn of the month."""
    return [
        Window(BASE + first * 3600, BASE + (first + hours) * 3600)
        for first, hours in draw(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), max_size=2))
    ]


folds = st.tuples(st.sampled_from(FEEDS), feed_rows(), spans(), st.integers(0, 3))
rights = st.fixed_dictionaries({}, optional={f: st.just(RANKS[f]) for f in FEEDS})


@pytest.mark.slow
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(folds, folds, folds, rights), min_size=1, max_size=9))
def test_folds_agree_with_the_model(tmp_path_factory, steps):
    folder, model, ranks, now = Folder(tmp_path_factory.mktemp("w")), Model(), dict(RANKS), 1_000
    instants = []
    for step in steps:
        if isinstance(step, dict):
            ranks = step
            for place in series.held(folder):
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


def fold(folder, feed, start, values, resolution="1h", known_at=1, spans=(), ranks=RANKS, metric="demand", **key):
    step = RESOLUTIONS[resolution]
    rows = Rows()
    rows.extend(
        SeriesKey("GB", metric, "MW", resolution, **key),
        [start + i * step for i in range(len(values))],
        [float(v) for v in values],
    )
    return series.fold(folder, feed, rows, {("GB", metric): spans} if spans else {}, ranks, known_at, "live")


def values(folder, window=EVERYTHING):
    return series.read(folder, "GB", "demand", window).column("value").to_pylist()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_what_a_reader_got_before_is_what_as_of_gives(folder):
    """The rows served after each fold, asked for later by the instant of that fold."""
    random, then = np.random.default_rng(7), {}
    for now in range(10, 40):
        feed = FEEDS[now % 4]
        hours = int(random.integers(1, 6))
        start = BASE + int(random.integers(0, 6)) * 3600
        stated = random.integers(0, 3, hours).tolist()
        fold(folder, feed, start, stated, known_at=now, spans=[Window(start - 3600, start + hours * 3600)])
        then[now] = tuples(series.read(folder, "GB", "demand", EVERYTHING))
    for now, rows in then.items():
        assert tuples(series.read_as_of(folder, "GB", "demand", EVERYTHING, now, RANKS)) == rows


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


def test_a_lower_ranks_rows_do_not_touch_the_served_file(folder):
    fold(folder, "one.fast", BASE, [10, 20])
    before = folder.stat(layout.series("demand", "GB", "2026-10"))
    fold(folder, "three.back", BASE, [1, 2])
    assert folder.stat(layout.series("demand", "GB", "2026-10")) == before


def test_a_correction_writes_each_file_once(folder, monkeypatch):
    fold(folder, "one.fast", BASE, [10, 20])
    put = []
    real = Folder.put
    monkeypatch.setattr(
        Folder, "put", lambda self, key, body, version=None: put.append(key) or real(self, key, body, version)
    )
    for now in (2, 3, 4):
        put.clear()
        fold(folder, "one.fast", BASE, [10 + now], known_at=now)
        months = [layout.history("demand", "GB", "2026-10"), layout.series("demand", "GB", "2026-10")]
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


# --- reading --------------------------------------------------------------------------------------------------------


def opened(folder, monkeypatch):
    keys = []
    real = Folder.get

    def get(self, key):
        if key != layout.MODE:
            keys.append(key)
        return real(self, key)

    monkeypatch.setattr(Folder, "get", get)
    return keys


def test_a_reader_opens_only_the_months_of_its_window(folder, monkeypatch):
    hours = 24 * 400
    fold(folder, "one.fast", BASE - hours * 3600, range(hours))
    keys = opened(folder, monkeypatch)
    assert len(values(folder, Window(BASE - 86400, BASE))) == 24
    assert keys == [layout.series("demand", "GB", "2026-10")]
    keys.clear()
    assert len(values(folder, Window(BASE - 31 * 86400, BASE - 30 * 86400 + 1))) == 25
    assert keys == [layout.series("demand", "GB", month) for month in ("2026-09", "2026-10")]
    keys.clear()
    assert series.newest(folder, "GB", "demand", BASE).column("value").to_pylist() == [hours - 1]
    assert keys == [layout.series("demand", "GB", "2026-10")]


def test_windows_are_half_open_and_months_join(folder):
    fold(folder, "one.fast", BASE, range(8))
    assert values(folder, Window(BASE + 3600, BASE + 6 * 3600)) == [1, 2, 3, 4, 5]
    assert values(folder, Window(BASE + 1, BASE + 3600)) == []
    assert values(folder, Window(BASE, BASE)) == []
    assert len(folder.keys("series/")) == 2


def test_newest_gives_all_fuels_of_the_last_begun_interval(folder):
    for fuel, n in (("gas", 3), ("wind", 2)):
        fold(folder, "one.fast", BASE, range(n), metric="generation", fuel=fuel)
    at = BASE + 3600
    assert series.newest(folder, "GB", "generation", at).column("fuel").to_pylist() == ["gas", "wind"]
    assert series.newest(folder, "GB", "generation", at + 3600).column("fuel").to_pylist() == ["gas"]
    assert series.newest(folder, "GB", "generation", BASE - 1).num_rows == 0


def test_a_file_that_does_not_decode_is_an_error(folder):
    folder.put(layout.series("demand", "GB", "2026-10"), b"PAR1 not really PAR1")
    with pytest.raises(StorageError, match="is damaged"):
        values(folder)


# --- files ----------------------------------------------------------------------------------------------------------

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
)


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
            ),
            max_size=20,
        )
    )
    columns = [np.array([r[i] for r in rows], np.float64 if i == 2 else np.int64) for i in range(5)]
    return Versions(own, *columns)


def spelled(month):
    return sorted(
        (tuple(part or "" for part in month.labels[s]), *rest)
        for s, *rest in zip(
            month.label.tolist(),
            month.ts.tolist(),
            month.value.tolist(),
            month.known_at.tolist(),
            month.superseded_at.tolist(),
            strict=True,
        )
    )


KEY = layout.series("demand", "GB", "2026-10")


@given(versions())
def test_a_month_file_keeps_every_version(month):
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(place)
        modes.claim(folder, "live")
        folder.put(KEY, monthfile.encode(month, KEY, "live"))
        assert spelled(monthfile.versions(folder, KEY)) == spelled(month)


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
    ).take(np.array(order, np.int64))
    once = {(s, t, k) for s, t, k in zip(month.label.tolist(), month.ts.tolist(), month.known_at.tolist(), strict=True)}
    if len(once) == len(month):
        assert monthfile.encode(spare, KEY, "live") == monthfile.encode(month, KEY, "live")


# --- kills and concurrent folds -------------------------------------------------------------------------------------


def state(folder):
    return values(folder), series.read_as_of(folder, "GB", "demand", EVERYTHING, 10**9, RANKS).column(
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
"""A fold: feed, values, spans that it covers; what is served after it."""


def _fold_case(storage, case):
    feed, stated, spans, _ = _CASES[case]
    fold(storage, feed, BASE, stated, known_at=5, spans=spans)


def _prepared(storage, case):
    """What is there before the fold."""
    if case in ("promoted", "demoted"):
        fold(storage, "three.back", BASE, [11, 12])
    if case != "demoted":
        fold(storage, "one.fast", BASE, [1, 2, 3])
    return values(storage)


def _killed_in(place, case, step):
    """Kills a fold at a step, looks as a reader does, runs it again, looks again; whether it was killed."""
    storage, after = place.open(), _CASES[case][3]
    before = _prepared(storage, case)
    killed = place.killed_at(partial(_fold_case, case=case), step)
    served, known = state(storage)
    assert served in (before, after)
    assert known == served
    assert series.read_as_of(storage, "GB", "demand", EVERYTHING, 4, RANKS).column("value").to_pylist() == before
    _fold_case(storage, case)  # the rerun heals
    assert state(storage) == (after, after)
    assert series.read_as_of(storage, "GB", "demand", EVERYTHING, 4, RANKS).column("value").to_pylist() == before
    once, torn = vintages.all_of(storage, Month("demand", "GB", "2026-10"))
    assert not torn
    assert len(once) == len({str(version) for version in spelled(once)})
    return killed


@pytest.mark.slow
@pytest.mark.parametrize("case", [*_CASES])
def test_a_kill_at_any_point_of_a_fold_leaves_the_old_or_the_new(tmp_path, killed_at, case):
    """Readers see the rows of before or after; the rerun heals; the past stays readable."""
    step = 1
    while _killed_in(FolderPlace(tmp_path / str(step), killed_at), case, step):
        step += 1
    assert step > 5


@pytest.mark.slow
@pytest.mark.parametrize(("case", "first"), [("promoted", 1), ("demoted", 4), ("corrected", 7)])
def test_a_kill_at_any_request_of_a_fold_leaves_the_old_or_the_new(bucket_place, case, first):
    """The same over a bucket: at every ninth step, before a request and before an answer in turn."""
    step = first
    while _killed_in(replace(bucket_place, prefix=f"{bucket_place.prefix}/{step}"), case, step):
        step += 9
    assert step > 20


def test_concurrent_folds_of_one_month_lose_nothing(folder):
    """Four processes, each a feed of its own hours and one shared hour, over and over."""
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
    rows = tuples(series.read(folder, "GB", "demand", WIDE))
    assert len(rows) == 4 * 12 + 1
    assert rows[-1][4] == 11
    assert rows[-1][7] == "one.fast"


@pytest.mark.slow
def test_machines_that_fold_one_month_of_a_bucket_at_once_lose_nothing(bucket_place):
    """Four storages as four machines have them, over a line that drops and repeats requests."""
    faults = ("", "", "lost", "unanswered", "repeat", "slow_down", "")
    bucket_place.line.plan = lambda number, _: faults[number % len(faults)]
    failed = []

    def work(storage, number, feed):
        try:
            for turn in range(2):
                start = BASE - (number + 1) * 86400 // 2 + turn * 3600
                fold(storage, feed, start, [number * 100 + turn], known_at=turn + 1)
        except StorageError as error:
            failed.append(error)

    machines = [bucket_place.open(cache_bytes=0) for _ in FEEDS]
    modes.claim(machines[0], "live")
    threads = [
        threading.Thread(target=work, args=(machine, number, feed))
        for number, (machine, feed) in enumerate(zip(machines, FEEDS, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert not failed
    bucket_place.line.reset()
    assert len(tuples(series.read(bucket_place.open(), "GB", "demand", WIDE))) == 4 * 2


@pytest.mark.slow
def test_a_kill_during_two_concurrent_folds_leaves_the_other_whole(folder, killed_at):
    """A folder under a steady writer; another writer is killed at every point of its fold."""
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
    step, killed = 0, True
    while killed:
        step += 1
        start = BASE - step * 3600
        killed = killed_at(lambda start=start, step=step: fold(folder, "two.slow", start, [step], known_at=step), step)
        rows = series.read(folder, "GB", "demand", WIDE)
        assert len(set(rows.column("ts").to_pylist())) == rows.num_rows
    folder.put("stop", b"")
    assert os.waitpid(steady, 0)[1] == 0
    for number in range(1, step + 1):
        fold(folder, "two.slow", BASE - number * 3600, [number], known_at=number)
    own = [row for row in tuples(series.read(folder, "GB", "demand", WIDE)) if row[7] == "two.slow"]
    assert [row[4] for row in own] == list(range(step, 0, -1))


@pytest.mark.slow
def test_readers_of_the_past_are_steady_while_a_month_is_folded(folder):
    """What was known at an instant never changes while corrections go on being folded."""
    hours = 200
    fold(folder, "one.fast", BASE - hours * 3600, range(hours), known_at=1)
    then = tuples(series.read_as_of(folder, "GB", "demand", WIDE, 1, RANKS))
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
        assert tuples(series.read_as_of(folder, "GB", "demand", WIDE, 1, RANKS)) == then
        assert series.read_as_of(folder, "GB", "demand", WIDE, 10**9, RANKS).num_rows == hours
        reads += 1
    assert os.waitpid(pid, 0)[1] == 0
    assert reads > 5


# --- other readers --------------------------------------------------------------------------------------------------


def test_the_series_folder_gives_other_readers_each_served_row_once(folder):
    """pandas, polars and DuckDB over `series`; zone and metric come from the folders' names."""
    import duckdb
    import pandas as pd
    import polars as pl

    for zone in ("GB", "NO-2"):
        for feed, values in (("three.back", [1, 2, 3]), ("one.fast", [10, 20]), ("one.fast", [11, 20])):
            rows = Rows()
            rows.extend(SeriesKey(zone, "demand", "MW", "1h"), [BASE + i * 3600 for i in range(len(values))], values)
            series.fold(folder, feed, rows, {}, RANKS, int(values[0]), "live")
    columns, root = ["zone", "metric", "ts", "value"], str(folder.root / "series")
    served = [series.read(folder, zone, "demand", WIDE).select(columns).to_pylist() for zone in ("GB", "NO-2")]
    expected = [tuple(row.values()) for rows_of_zone in served for row in rows_of_zone]
    assert [value for *_, value in expected] == [11, 20, 3] * 2
    table = pd.read_parquet(root)
    assert sorted(table[columns].astype({"zone": str, "metric": str}).itertuples(index=False, name=None)) == expected
    assert sorted(pl.scan_parquet(root).select(columns).collect().rows()) == expected
    statement = f"SELECT zone, metric, ts, value FROM read_parquet('{root}/**/*.parquet', hive_partitioning=true)"
    assert sorted(duckdb.sql(statement).fetchall()) == expected
