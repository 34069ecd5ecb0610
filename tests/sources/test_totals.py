"""Sums of parts that come and go: against their definition, instant by instant."""

from __future__ import annotations

from math import fsum

from hypothesis import given
from hypothesis import strategies as st

from assets.parsing.totals import Part, extend_total, total
from warehouse.rows.schema import Rows, SeriesKey

NET = SeriesKey("GB", "interchange", "MW", "30m")
READINGS = st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3)), max_size=8)
PARTS = st.lists(st.tuples(READINGS, st.integers(0, 8)), max_size=4).map(
    lambda parts: [Part([ts for ts, _ in read], [float(value) for _, value in read], since) for read, since in parts]
)


def defined(parts: list[Part]) -> dict[int, float]:
    """The sum of every instant at which each part that is needed by then is stated, with one value."""
    sums = {}
    for ts in {ts for part in parts for ts in part.ts}:
        stated = [{value for at, value in zip(*part[:2], strict=True) if at == ts} for part in parts]
        needed = [ts >= min([part.since, *part.ts]) for part in parts]
        if all(len(values) == 1 for values, wanted in zip(stated, needed, strict=True) if wanted):
            sums[ts] = fsum(value for values in stated for value in values)
    return sums


@given(PARTS, st.sets(st.integers(0, 6)))
def test_a_total_is_the_sum_where_no_part_is_missing(parts: list[Part], refused: set[int]) -> None:
    sums, rows = total(parts), Rows()
    assert dict(zip(sums.ts, sums.values, strict=True)) == defined(parts)
    assert sums.ts == sorted(set(sums.ts))
    assert len(sums.ts) + sums.incomplete + sums.conflicting == len({ts for part in parts for ts in part.ts})
    rows.refuse(NET.zone, NET.metric, refused)
    extend_total(rows, NET, parts)
    assert {row.ts: row.value for row in rows} == {ts: v for ts, v in defined(parts).items() if ts not in refused}
