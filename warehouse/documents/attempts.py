"""Count the requests of each feed by month, with failures by type and the periods in which the feed was polled.

There is a small file per source and UTC month. A failure does not leave a row, and only the times of requests
distinguish a row that was published late from one that was requested late.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec
import orjson
from msgspec import Struct

from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Stored

MOST_SPANS = 200
"""The limit per feed and month. Beyond it, the oldest are dropped, and rows of their time count as unmeasured."""

SLACK_S = 600
"""The seconds that a pause between runs may last, in addition to two of the feed's own intervals."""

Span = tuple[int, int]
"""The first and the last time, in Unix seconds."""


class Attempts(Struct, frozen=True):
    """The counts of a feed in a UTC month."""

    runs: int
    requests: int
    failures: Mapping[str, int]
    """The number of failed requests by `FeedError.kind`. Data not published yet, missing credentials and requests that
    were never sent do not count.
    """
    watched: tuple[Span, ...]
    """The periods, ascending, in which the current day was polled without a long pause."""


NO_ATTEMPTS = Attempts(0, 0, {}, ())


class MonthOfAttempts(Struct, frozen=True):
    """The counts of a source's feeds in a UTC month."""

    feeds: Mapping[str, Attempts]


def note(
    storage: Storage, feed: str, at: int, requests: int, failures: Mapping[str, int], watching_s: int | None
) -> None:
    """Add a run at `at` (Unix seconds). `watching_s` is the longest pause in seconds after which the feed still counts
    as polled without a break, None for a run that did not request the current day. Raises StorageError.
    """
    month, source = clock.month_of(at), feed.split(".", 1)[0]
    key = layout.attempts(source, month)

    def add(stored: Stored | None) -> bytes:
        feeds = _or_none(stored.body if stored else None, key)
        before = feeds.get(feed, NO_ATTEMPTS)
        counts = dict(before.failures)
        for kind, count in failures.items():
            counts[kind] = counts.get(kind, 0) + count
        watched = before.watched
        if watching_s is not None:
            # Polling continues over the end of a month: the first period then begins in the previous month.
            last = (watched or _last_spans(storage, source, feed, month))[-1:]
            if last and at - last[0][1] <= watching_s:
                watched = (*watched[:-1], (last[0][0], max(last[0][1], at)))
            else:
                watched = (*watched, (at, at))
            watched = watched[-MOST_SPANS:]
        feeds[feed] = Attempts(before.runs + 1, before.requests + requests, counts, watched)
        document = {"feeds": {name: msgspec.to_builtins(of) for name, of in feeds.items()}}
        return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)

    storage.update(key, add)


def sources_of(storage: Storage, month: str) -> list[str]:
    """Return the codes of the sources that received requests in a UTC month. Raises StorageError."""
    names = (key.removeprefix(layout.ATTEMPTS) for key in storage.keys(layout.ATTEMPTS))
    return [name.partition("/")[0] for name in names if name.endswith(f"/{month}.json")]


def load(storage: Storage, source: str, month: str) -> dict[str, Attempts]:
    """Return the feeds of a source that were fetched in a UTC month. Raises DamagedFile."""
    key = layout.attempts(source, month)
    return _feeds(storage.get(key), key)


def _last_spans(storage: Storage, source: str, feed: str, month: str) -> tuple[Span, ...]:
    start = clock.month_window(month).start
    key = layout.attempts(source, clock.month_of(start - 1))
    return _or_none(storage.get(key), key).get(feed, NO_ATTEMPTS).watched


def _or_none(body: bytes | None, key: str) -> dict[str, Attempts]:
    """Return the decoded counts. A damaged file restarts them, because it must not stop them for good."""
    try:
        return _feeds(body, key)
    except DamagedFile as error:
        logging.getLogger("emds").error("%s", error)
        return {}


def _feeds(body: bytes | None, key: str) -> dict[str, Attempts]:
    return {} if body is None else dict(artefact.decode(body, key, MonthOfAttempts).feeds)
