"""Read the responses of all simulated publishers with the real parsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import pytest

from assets.simulated.answer import Answer
from assets.sources import feed
from warehouse.errors import FeedError, NotPublished
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request
from warehouse.rows.forecasts import date_by_answer
from warehouse.rows.schema import Readings, Rows


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Rows, list[tuple[Request, FeedError]]]]:
    """Return `ask(feed_id, days, now)`, which returns the rows of all responses, and the requests for unpublished data.

    Rows include those of follow-up requests. `combine` decides whether the feed's own `combine` turns them into nets.
    """

    def fetched(
        feed_id: str, days: Sequence[MarketDay], now: str, combine: bool = True
    ) -> tuple[Rows, list[tuple[Request, FeedError]]]:
        monkeypatch.setenv("EMDS_NOW", now)
        product = feed(feed_id)
        answer = import_module(f"assets.simulated.{product.source}").simulate_response
        rows, refused = Rows(), []
        queue = product.requests(days, clock.now())
        while queue:
            request = queue.pop(0)
            reply: Answer = answer(request, instant(now))
            if reply.status == 404:
                refused.append((request, NotPublished("404")))
                continue
            assert reply.status == 200
            try:
                if product.follow is not None:
                    queue += product.follow(reply.body, request)
                if request.kind == "rows":
                    rows.merge(date_by_answer(product.parse(reply.body, request), instant(now)))
            except NotPublished as error:
                refused.append((request, error))
        for key, readings in rows.readings.items():  # the later response about a time counts, as in a run
            newest = dict(zip(readings.ts, readings.values, strict=True))
            rows.readings[key] = Readings(list(newest), list(newest.values()))
        return (product.combine(rows) if product.combine and combine else rows), refused

    return fetched
