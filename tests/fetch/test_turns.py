"""Turn files: one pace and one rest for all processes and threads of a machine, which outlive them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.fetch.turns import LONGEST_REST_S, Turns
from tests.fetch.scripted_publisher import Clock
from warehouse.errors import FeedUnavailable

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import sys, time
from pathlib import Path
from assets.fetch.turns import Turns
given = []
turns = Turns(Path(sys.argv[1]), now=lambda: 1000.0, sleep=given.append)
for _ in range(5):
    turns.take("nemweb", 60, 0)
print(*given)
"""


def test_processes_share_one_pace(tmp_path: Path) -> None:
    """Three processes whose clock stands still: each turn is given once, a second apart."""
    started = [
        subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    waits = sorted(float(wait) for process in started for wait in process.communicate(timeout=60)[0].split())
    assert waits == [float(second) for second in range(1, 15)]


def test_threads_share_one_pace(tmp_path: Path) -> None:
    waits: list[float] = []
    turns = Turns(tmp_path, now=lambda: 1000.0, sleep=waits.append)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: turns.take("eia", 30, 0), range(20)))
    assert sorted(waits) == [2.0 * turn for turn in range(1, 20)]


@given(st.lists(st.floats(0, 30), min_size=2, max_size=30), st.sampled_from([2, 6, 30, 300]), st.sampled_from([0, 5.0]))
def test_two_turns_are_never_closer_than_the_publisher_allows(pauses: list[float], limit: int, interval: float) -> None:
    clock, given = Clock(), list[float]()
    turns = Turns(now=clock.tick, sleep=clock.sleep)
    for pause in pauses:
        clock.now += pause
        turns.take("pjm", limit, interval)
        given.append(clock.now)
    least = max(interval, 60 / limit)
    assert all(later - first >= least - 1e-3 for first, later in pairwise(given))


def test_a_rest_outlives_the_process_and_holds_for_its_publisher_alone(tmp_path: Path) -> None:
    Turns(tmp_path, now=lambda: 1000.0).rest("caiso", 90)
    later = Turns(tmp_path, now=lambda: 1030.0, sleep=lambda seconds: None)
    with pytest.raises(FeedUnavailable, match="caiso is asked again in 60 s") as caught:
        later.take("caiso", 60, 0)
    assert caught.value.retry_after == 60
    later.take("nyiso", 60, 0)
    Turns(tmp_path, now=lambda: 1091.0, sleep=lambda seconds: None).take("caiso", 60, 0)


def test_a_shorter_rest_ends_no_longer_one_and_none_is_longer_than_an_hour(tmp_path: Path) -> None:
    turns = Turns(tmp_path, now=lambda: 1000.0)
    turns.rest("caiso", 1e6)
    turns.rest("caiso", None)
    with pytest.raises(FeedUnavailable) as caught:
        turns.take("caiso", 60, 0)
    assert caught.value.retry_after == LONGEST_REST_S


def test_a_clock_that_was_set_back_stops_nobody(tmp_path: Path) -> None:
    turns = Turns(tmp_path, now=lambda: 10_000.0)
    turns.take("caiso", 60, 0)
    turns.rest("caiso", 600)
    waits: list[float] = []
    Turns(tmp_path, now=lambda: 1000.0, sleep=waits.append).take("caiso", 60, 0)
    assert waits == []
