"""SOURCES: every publisher that this folder knows, found by walking it: one file a source, each with one SOURCE value."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from warehouse.market import Feed, Source


@cache
def sources() -> dict[str, Source]:
    """Source code -> Source, in alphabetical order."""
    names = sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))
    found = [import_module(f"{__name__}.{name}").SOURCE for name in names]
    return {source.code: source for source in found}


def feeds() -> dict[str, Feed]:
    """Feed id -> Feed over all sources."""
    return {feed.id: feed for source in sources().values() for feed in source.feeds}


def feed(feed_id: str) -> Feed:
    """The feed of that id. Raises KeyError."""
    return feeds()[feed_id]
