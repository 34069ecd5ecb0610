"""Test the change log in a bucket: the guarantees of a folder hold over any steps and after kills at requests."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings

from tests.warehouse.change_followers import CASES, Follower, follow_steps, number, publication, rows_of, steps
from tests.warehouse.series_model import BASE, fold

pytestmark = pytest.mark.slow
_EXAMPLES = count(1)
STRIDE = 9
"""The number of requests between two kills of a fold; each case begins at a different request."""


@settings(max_examples=8, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_a_follower_ends_with_exactly_the_rows_served(bucket_place, steps):
    follow_steps(replace(bucket_place, prefix=f"{bucket_place.prefix}/{next(_EXAMPLES)}").open(), steps)


def _case(storage, case):
    CASES[case](storage)


@pytest.mark.parametrize(("case", "first"), [("new", 2), ("corrected", 3), ("withdrawn", 1), ("nothing", 4)])
def test_a_kill_at_a_request_loses_no_entry_and_invents_none(bucket_place, case, first):
    step, killed = first, True
    while killed:
        place = replace(bucket_place, prefix=f"{bucket_place.prefix}/{step}")
        storage, follower = place.open(), Follower()
        fold(storage, "three.back", BASE, [11, 12])
        fold(storage, "one.fast", BASE, [1, 2, 3])
        follower.follow(storage)
        before, told = rows_of(storage), number(storage)
        killed = place.killed_at(partial(_case, case=case), step)
        assert number(storage) == told or rows_of(storage) != before, "never an entry ahead of its rows"
        CASES[case](storage)
        publication(storage)
        follower.follow(storage)
        assert follower.rows == rows_of(storage)
        assert number(storage) - told == (case != "nothing"), "once, however often it was tried"
        step += STRIDE
    assert step > STRIDE
