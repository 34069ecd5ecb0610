"""Every publisher of this folder: one module or package a source, each with one SOURCE value."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from warehouse.market.feeds import Feed, Source


@cache
def codes() -> tuple[str, ...]:
    """The code of every source, in alphabetical order; nothing is imported for it."""
    return tuple(sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_")))


@cache
def source(code: str) -> Source:
    """The source of that code; only its own file is imported. Raises KeyError."""
    if code not in codes():
        raise KeyError(code)
    source_value: Source = import_module(f"{__name__}.{code}").SOURCE
    return source_value


def sources() -> dict[str, Source]:
    """Source code -> Source, in alphabetical order."""
    return {code: source(code) for code in codes()}


def feeds() -> dict[str, Feed]:
    """Feed id -> Feed over all sources."""
    return {feed.id: feed for source in sources().values() for feed in source.feeds}


def feed(feed_id: str) -> Feed:
    """The feed of that id, `aemo.dispatch`; only its source's file is imported. Raises KeyError."""
    code, _, _ = feed_id.partition(".")
    for product in source(code).feeds:
        if product.id == feed_id:
            return product
    raise KeyError(feed_id)
