"""Test OMIE: the highest version of a day counts, whichever versions are withdrawn."""

from __future__ import annotations

from datetime import date

import pytest

from assets import sources
from warehouse.market.clock import MarketDay

PRICE = sources.feed("omie.price")
DAY = MarketDay(date(2025, 11, 27), PRICE.tz)


def served(price: float) -> bytes:
    periods = [f"2025;11;27;{period};1.0;{price};" for period in range(1, 97)]
    return "\r\n".join(["MARGINALPDBC;", *periods, "*"]).encode()


@pytest.mark.parametrize("published", [(1,), (2,), (3,), (1, 2), (2, 3), (3, 4, 5)])
def test_the_highest_version_is_read_whichever_are_withdrawn(published):
    """Follow each response before the next request, as a run does; the later of two responses is kept."""
    queue, prices, asked = PRICE.requests([DAY], 0), [], []
    while queue:
        request = queue.pop(0)
        if request in asked:
            continue
        asked.append(request)
        version = int(dict(request.params)["filename"].rpartition(".")[2])
        if version in published:
            body = served(float(version))
            queue = [*PRICE.follow(body, request), *queue]
            prices.append({row.value for row in PRICE.parse(body, request)})
    assert prices[-1] == {float(max(published))}
    assert len(asked) == max(3, max(published) + 1)
