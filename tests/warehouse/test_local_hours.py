"""Hours of civil time against zoneinfo, over clock changes and odd offsets."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.figures import local_hours
from warehouse.market.zones import ZONES

TZS = sorted({zone.tz for zone in ZONES.values()} | {"UTC", "Etc/GMT+5", "Australia/Lord_Howe"})


@given(
    st.sampled_from(TZS), st.integers(1_500_000_000, 2_000_000_000), st.lists(st.integers(0, 40 * 86400), max_size=60)
)
def test_agrees_with_zoneinfo(tz, start, offsets):
    ts = [start + offset for offset in offsets]
    assert local_hours.hours(np.array(ts, np.int64), tz).tolist() == [
        datetime.fromtimestamp(t, ZoneInfo(tz)).hour for t in ts
    ]


@pytest.mark.parametrize(
    ("tz", "change"), [("Europe/Berlin", "2026-10-25T01:00"), ("Australia/Adelaide", "2026-10-03T16:30")]
)
def test_the_second_of_the_change(tz, change):
    turn = int(datetime.fromisoformat(change).replace(tzinfo=UTC).timestamp())
    ts = np.array([turn - 15 * 86400, turn - 1, turn, turn + 15 * 86400], np.int64)
    assert local_hours.hours(ts, tz).tolist() == [datetime.fromtimestamp(int(t), ZoneInfo(tz)).hour for t in ts]
