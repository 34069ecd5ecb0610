"""Look up the publishers of this folder: one module or package per source, each with one SOURCE value."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from warehouse.market.feeds import Feed, Source


@cache
def codes() -> tuple[str, ...]:
    """Return the code of every source in alphabetical order, without importing them."""
    return tuple(sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_")))


@cache
def source(code: str) -> Source:
    """Return the source of that code. Only its own file is imported. Raises KeyError."""
    if code not in codes():
        raise KeyError(code)
    source_value: Source = import_module(f"{__name__}.{code}").SOURCE
    return source_value


def sources() -> dict[str, Source]:
    """Return Source by source code, in alphabetical order."""
    return {code: source(code) for code in codes()}


def feeds() -> dict[str, Feed]:
    """Return Feed by feed id over all sources."""
    return {feed.id: feed for source in sources().values() for feed in source.feeds}


def feed(feed_id: str) -> Feed:
    """Return the feed of that id (`aemo.dispatch`). Only its source's file is imported. Raises KeyError."""
    code, _, _ = feed_id.partition(".")
    for product in source(code).feeds:
        if product.id == feed_id:
            return product
    raise KeyError(feed_id)
