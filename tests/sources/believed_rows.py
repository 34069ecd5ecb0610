"""What is believed of a spoilt body, and the failures of one rule over many bodies."""

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
    """What fails in the checks of one rule: every one of them is reported at the end, with the sample's name."""

    @contextmanager
    def of(self, sample: str, case: str = "") -> Iterator[None]:
        """One check; the next one is made whether it fails or not."""
        try:
            yield
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            reason = "".join(traceback.format_exception_only(error)).strip()
            self.append(f"{sample} {case}\n{reason}\n(line {place.lineno} of {place.filename})")

    def report(self) -> None:
        """Fails with all of them."""
        if self:
            pytest.fail(f"{len(self)} failures\n\n" + "\n\n".join(self), pytrace=False)


def spans_of(rows: Rows, feed: Feed) -> list[Window]:
    """The market days (or years) that rows lie in."""
    days = {MarketDay.at(row.ts, feed.tz).day for row in rows}
    if feed.yearly:
        return [
            Window(*(local_midnight(date(y, 1, 1), feed.tz) for y in (year, year + 1)))
            for year in sorted({d.year for d in days})
        ]
    return [MarketDay(day, feed.tz).window for day in sorted(days)]


def verdict(sample: Sample, body: bytes) -> set[Row]:
    """The rows that are believed of a spoilt body.

    None for a typed failure. Fails where one is not in the whole body too.
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
    """The rows of a whole body, parsed once."""
    return sample.parse()


@cache
def rows_of(sample: Sample) -> frozenset[Row]:
    """The same as a set."""
    return frozenset(stated_by(sample))


@cache
def _spans(sample: Sample) -> list[Window]:
    return spans_of(stated_by(sample), sample.feed)


def believed(sample: Sample, stated: Rows) -> set[Row]:
    """The rows that `quality` keeps: all of them in the whole body, no span called whole that misses one."""
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
