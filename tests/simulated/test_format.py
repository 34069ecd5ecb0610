"""Numbers as publishers spell them: a whole column is spelled as each of its numbers is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assets.simulated.format import short, shorts


def test_no_decimal_that_says_nothing_and_no_exponent():
    values = np.array([1200.0, 40.5, -0.03, -0.001, 0.0, 0.00001, 1e7, 99.995])
    assert shorts(values, 2) == ["1200", "40.5", "-0.03", "0", "0", "0", "10000000", "100"]
    assert shorts(np.array([0.00001, 0.00012, -0.00009]), 5) == ["0.00001", "0.00012", "-0.00009"]


@given(st.lists(st.integers(-(10**9), 10**9)), st.sampled_from([0, 1, 2, 5]))
def test_a_column_is_spelled_as_its_values(numerators, digits):
    values = [numerator / 10**digits for numerator in numerators]
    assert shorts(np.array(values), digits) == [short(value, digits) for value in values]
