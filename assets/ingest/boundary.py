"""Where a feed's own code and its publisher are called: what they raise untyped becomes FeedChanged, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from warehouse.bookkeeping import described, raised_at
from warehouse.errors import FeedChanged, FeedError


@contextmanager
def feed_code(feed: str, stage: str) -> Iterator[None]:
    """Runs a feed's own function (`parse`, `follow`, `combine`, ...). Raises FeedError leaves, never anything else."""
    try:
        yield
    except FeedError:
        raise
    except Exception as error:
        raise FeedChanged(f"{feed}: {stage} raised {described(error)}") from error


@contextmanager
def transport(feed: str) -> Iterator[None]:
    """Runs a request. The text of an untyped exception is left out: it may hold an address with a key in it."""
    try:
        yield
    except FeedError:
        raise
    except Exception as error:
        raise FeedChanged(f"{feed}: the request raised {type(error).__name__}{raised_at(error)}") from None
