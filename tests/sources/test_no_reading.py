"""What no feed takes for a reading: what is ahead of the clock."""

from __future__ import annotations

from tests.sources.believed_rows import Failures, stated_by
from tests.sources.conftest import Sample
from warehouse.quality import judge_answer

KNOWN_AHEAD = {
    "caiso.lmp_da",
    "energinet.price",
    "energy_charts.price",
    "entsoe.capacity",
    "entsoe.price",
    "ercot.spp_da",
    "isone.lmp_da",
    "miso.lmp_da",
    "nyiso.lbmp_da",
    "omie.price",
    "pjm.lmp_da",
    "pse.price",
    "rte.market_price",
    "spp.lmp_da",
}
"""Auctions and plans; every other feed measures."""


def test_nothing_is_measured_that_begins_a_quarter_of_an_hour_after_the_answer(small_samples: list[Sample]) -> None:
    failures = Failures()
    for own in small_samples:
        stated = stated_by(own)
        newest = max(row.ts for row in stated)
        measured = {row for row in stated if own.feed.id not in KNOWN_AHEAD and row.metric != "price_day_ahead"}
        with failures.of(own.name):
            assert not len(judge_answer(stated, own.feed, own.request.days, newest - 900).quarantined)
        with failures.of(own.name, "a second later"):
            judged = judge_answer(stated, own.feed, own.request.days, newest - 901)
            assert set(judged.quarantined) == {row for row in measured if row.ts == newest}
            assert {f.check for f in judged.findings if f.severity == "error"} <= {"time"}
            assert bool(len(judged.quarantined)) == any(f.severity == "error" for f in judged.findings)
    failures.report()
