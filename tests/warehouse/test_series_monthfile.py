"""Month files of the series store: they keep every version, and equal versions are equal bytes."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.warehouse.series_model import spelled
from warehouse.rows.versions import RowLabels, Versions
from warehouse.series import monthfile
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
                st.one_of(st.just(-1), st.integers(0, 2**38)),
            ),
            max_size=20,
        )
    )
    columns = [np.array([r[i] for r in rows], np.float64 if i == 2 else np.int64) for i in range(6)]
    return Versions(own, *columns)


KEY = layout.series("demand", "GB", "2026-10")


@pytest.mark.slow
@given(versions())
def test_a_month_file_keeps_every_version(month):
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(place)
        modes.ensure(folder, "live")
        folder.put(KEY, monthfile.encode(month, KEY, "live"))
        assert spelled(monthfile.versions(folder, KEY)) == spelled(month)


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
    ).take(np.array(order, np.int64))
    once = {(s, t, k) for s, t, k in zip(month.label.tolist(), month.ts.tolist(), month.known_at.tolist(), strict=True)}
    if len(once) == len(month):
        assert monthfile.encode(spare, KEY, "live") == monthfile.encode(month, KEY, "live")
