"""Share requests and the common parts of Elexon's Insights API: the envelope, its rows, their half hours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assets.parsing.body import json_of, member
from assets.parsing.stamps import utc_stamp
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, iso
from warehouse.market.feeds import Request

HOST = "data.elexon.co.uk"
BASE = f"https://{HOST}/bmrs/api/v1"
HALF_HOUR = 1800


def entries_of(body: bytes, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of either envelope or of a bare list, with the dataset's name from the envelope if it has one.

    Raises NotPublished without rows, FeedChanged for another dataset.
    """
    answer = json_of(body)
    entries = answer if isinstance(answer, list) else member(answer, "data", list)
    metadata = answer.get("metadata") if isinstance(answer, dict) else None
    if metadata is not None and dataset not in member(metadata, "datasets", list):
        raise FeedChanged(f"the dataset is not {dataset}")
    if not entries:
        raise NotPublished(f"the response has no rows of {dataset}")
    named = metadata is not None and metadata["datasets"] == [dataset]
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("dataset", dataset) != dataset:
            raise FeedChanged(f"a row does not belong to {dataset}")
        yield {**entry, "dataset": dataset} if named and "dataset" not in entry else entry


def start_of(entry: Mapping[str, Any]) -> int:
    ts = utc_stamp(member(entry, "startTime"))
    if ts % HALF_HOUR:
        raise FeedChanged(f"{iso(ts)} is not the start of a half hour")
    return ts


def request_of(feed: str, path: str, params: tuple[tuple[str, str], ...], block: Sequence[MarketDay]) -> Request:
    return Request(feed, f"{BASE}/{path}", params, tuple(d.day for d in block), zone="GB", ext="json")
