"""Check that no feed reads an actual value from a future row, another hub's price, a blank or an outage's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import pytest

from assets.parsing.body import is_zip, unzipped
from assets.parsing.refusals import refuse_errors
from tests.sources.believed_rows import stated_by
from tests.sources.conftest import Sample, own_samples
from tests.sources.spoilt_bodies import rewritten
from warehouse.errors import FeedChanged, FeedUnavailable
from warehouse.judge.quality import judge
from warehouse.market.vocabulary import is_forecast

KNOWN_AHEAD = {
    "caiso.lmp_da",
    "energinet.price",
    "energy_charts.price",
    "entsoe.capacity",
    "entsoe.price",
    "entsoe_files.price",
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
"""The feeds of auctions and plans; all other feeds publish measurements or forecasts."""


def test_nothing_is_measured_that_begins_a_quarter_of_an_hour_after_the_answer(small_samples: list[Sample]) -> None:
    for own in small_samples:
        stated, days = stated_by(own), own.request.days
        measured = [row for row in stated if not is_forecast(row.metric)]
        newest = max(row.ts for row in measured or stated)
        ahead = {
            r for r in measured if r.ts == newest and r.metric != "price_day_ahead" and own.feed.id not in KNOWN_AHEAD
        }
        assert not len(judge(stated, own.feed, (), newest - 900, days).quarantined)
        judged = judge(stated, own.feed, (), newest - 901, days)
        assert set(judged.quarantined) == ahead
        assert sum(f.count for f in judged.findings if (f.check, f.severity) == ("time", "error")) == len(ahead)


PICKING = {
    "caiso.lmp_da",
    "caiso.lmp_rt",
    "elexon.price",
    "ercot.spp_da",
    "ercot.spp_rt",
    "isone.lmp_da",
    "isone.lmp_rt",
    "miso.lmp_da",
    "miso.lmp_rt",
    "miso.lmp_rt_daily",
    "nyiso.lbmp_da",
    "nyiso.lbmp_rt",
    "pjm.lmp_da",
    "pjm.lmp_rt",
    "spp.lmp_da",
    "spp.lmp_rt",
    "spp.lmp_rt_daily",
}
"""The feeds whose responses contain many hubs, one of them covered by this service."""


def test_an_answer_with_prices_but_none_of_our_hub_is_a_changed_feed(small_samples: list[Sample]) -> None:
    for own in small_samples:
        hub = own.feed.hub.encode()
        assert (own.feed.id in PICKING) == any(hub and hub in text for text in _texts(own.body))
        if own.feed.id in PICKING:
            with pytest.raises(FeedChanged):
                own.parse(rewritten(own.body, lambda body, hub=hub: body.replace(hub, b"ANOTHER")))


def test_every_feed_that_picks_a_hub_has_a_body() -> None:
    assert {own.feed.id for own in own_samples()} >= PICKING


NO_BLANK = {
    "caiso.mix_forecast",
    "entsoe.capacity",
    "entsoe.demand",
    "entsoe.demand_forecast",
    "entsoe.flows",
    "entsoe.mix",
    "entsoe.mix_forecast",
    "entsoe.price",
    "miso.load_daily",
    "nyiso.load",
    "omie.price",
    "pse.price",
}
"""Formats that cannot leave a value blank (XML and a workbook), and rows whose values are converted or repeated in the
body.
"""


def test_a_blank_value_costs_itself_and_the_sums_that_need_it(small_samples: list[Sample]) -> None:
    for own in small_samples:
        bodies = list(_blanked(own))
        assert bool(bodies) != (own.feed.id in NO_BLANK)
        for body in bodies:
            left = set(own.parse(body))
            lost = set(stated_by(own)) - left
            assert left <= set(stated_by(own))
            assert len({row.ts for row in lost}) == 1


def _blanked(own: Sample) -> Iterator[bytes]:
    """Yield the body without one of its values, in each way that its format allows."""
    if own.feed.id in NO_BLANK:
        return
    texts = _texts(own.body)
    blanks = (b"null", b'""') if texts[0].lstrip()[:1] in (b"{", b"[") else (b"",)
    for row in stated_by(own).sorted():
        spelling = re.escape(f"{abs(row.value):.10g}").encode()
        value = re.compile(rb'(?<![\w.:-])"?-?' + spelling + rb'0*"?(?![\w.:-])')
        if sum(len(value.findall(text)) for text in texts) == 1:
            for blank in blanks:
                yield rewritten(own.body, partial(value.sub, blank))
            return


def _texts(body: bytes) -> list[bytes]:
    """Return the body, or every file of a zip."""
    return [content for _, content in unzipped(body)] if is_zip(body) else [body]


OUTAGES = (
    b'{"statusCode": 429, "message": "Rate limit is exceeded. Try again in 30 seconds."}',
    b'{"error": {"code": "OVER_RATE_LIMIT", "message": "You have exceeded your rate limit."}}',
    b'{"error": "Rate limit exceeded: 2 per 1 minute"}',
    b'{"detail": "Too Many Requests"}',
    b'{"detail": "Internal Server Error"}',
    b'{"title": "An error occurred while processing your request.", "status": 500}',
    b'{"error": {"code": "503 Service Unavailable", "message": ""}}',
    b'\xef\xbb\xbf {"errors": [{"message": "upstream request timeout"}]}',
)
REFUSALS = (
    b'{"errors": [{"field": "datetime_beginning_ept", "message": "Date range cannot be more than 366 days"}]}',
    b'{"error": "Invalid data \'D\' provided. The only valid data are \'value\'.", "code": 400}',
    b'{"detail": "bzn is not valid"}',
)


def test_an_outage_told_with_status_200_is_one(small_samples: list[Sample]) -> None:
    for own in small_samples:
        for body in OUTAGES if not own.feed.files else ():
            with pytest.raises(FeedUnavailable, match="status 200"):
                own.parse(body)
        for body in REFUSALS:
            with pytest.raises(FeedChanged):
                own.parse(body)


def test_the_pause_that_an_outage_asks_for_is_kept() -> None:
    with pytest.raises(FeedUnavailable) as caught:
        refuse_errors(OUTAGES[0].decode())
    assert (caught.value.retry_after, caught.value.kind) == (30.0, "rate_limited")
    assert "exceeded" not in str(caught.value), "a publisher's words may repeat the key"


def test_an_answer_with_figures_is_no_outage() -> None:
    refuse_errors('{"message": "500 rows, service unavailable tomorrow", "data": []}')
    refuse_errors('{"message": "500 MW"}')
