"""Collect the valid rows of a spoilt body, and the failures of a rule over many bodies."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import cache

import pytest

from tests.sources.conftest import Sample
from warehouse.errors import FeedError
from warehouse.judge.quality import judge
from warehouse.market.clock import DAY, MarketDay, Window, local_midnight
from warehouse.market.feeds import Feed
from warehouse.rows.schema import Row, Rows


class Failures(list[str]):
    """The failures of a rule, which are all reported at the end with their samples' names."""

    @contextmanager
    def of(self, sample: str, case: str = "") -> Iterator[None]:
        """Run one check and record its failure, so that the next check always runs."""
        try:
            yield
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            reason = "".join(traceback.format_exception_only(error)).strip()
            self.append(f"{sample} {case}\n{reason}\n(line {place.lineno} of {place.filename})")

    def report(self) -> None:
        """Fail the test with all recorded failures."""
        if self:
            pytest.fail(f"{len(self)} failures\n\n" + "\n\n".join(self), pytrace=False)


def spans_of(rows: Rows, feed: Feed) -> list[Window]:
    """Return the market days (or years) that contain the rows."""
    days = {MarketDay.at(row.ts, feed.tz).day for row in rows}
    if feed.yearly:
        return [
            Window(*(local_midnight(date(y, 1, 1), feed.tz) for y in (year, year + 1)))
            for year in sorted({d.year for d in days})
        ]
    return [MarketDay(day, feed.tz).window for day in sorted(days)]


def verdict(sample: Sample, body: bytes) -> set[Row]:
    """Return the valid rows of a spoilt body, or an empty set for a typed failure.

    Fail if one of the rows is not in the complete body.
    """
    try:
        stated = sample.parse(body)
    except FeedError as failure:
        reason = str(failure)
    else:
        return believed(sample, stated)
    assert reason.strip()
    assert "\n" not in reason
    return set()


@cache
def stated_by(sample: Sample) -> Rows:
    """Return the rows of a complete body, parsed once."""
    return sample.parse()


@cache
def rows_of(sample: Sample) -> frozenset[Row]:
    """Return the rows of a complete body as a set."""
    return frozenset(stated_by(sample))


@cache
def _spans(sample: Sample) -> list[Window]:
    return spans_of(stated_by(sample), sample.feed)


def believed(sample: Sample, stated: Rows) -> set[Row]:
    """Return the rows that `quality` accepts: all are in the complete body, and no complete range lacks a row."""
    spans = _spans(sample)
    judged = judge(stated, sample.feed, spans, max((s.end for s in spans), default=0) + 40 * DAY)
    kept, good = set(judged.accepted), rows_of(sample)
    wrong = kept - good
    assert not wrong, f"{len(wrong)} wrong rows, first {min(wrong, key=lambda r: r.ts)}"
    lacking = good - kept
    for (zone, metric), parts in judged.complete.items():
        for part in parts:
            missing = {r for r in lacking if (r.zone, r.metric) == (zone, metric) and r.ts in part}
            assert not missing, f"taken for whole without {missing}"
    return kept
