"""Declare publishers and feeds that exist only in tests and are never fetched."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from warehouse.market.feeds import Feed, Publication, Source
from warehouse.market.vocabulary import Forecast, Metric


def _none(*_: object) -> Any:
    raise AssertionError("the API asks no publisher")


def feed(
    name: str, zones: Iterable[str], metrics: Iterable[Metric | Forecast], resolution: str, **changes: Any
) -> Feed:
    """Return a feed that is declared but never fetched. `changes` replace its default fields."""
    usual = {
        "title": f"{name} of the tests",
        "rank": 1,
        "stamps": "start",
        "tz": "UTC",
        "since": date(2016, 1, 1),
        "publication": Publication(lag_minutes=10),
        "requests": _none,
        "parse": _none,
        "every_minutes": 5,
    }
    given = usual | {"zones": tuple(zones), "metrics": tuple(metrics), "resolution": resolution} | changes
    return Feed(id=name, **given)


def source(code: str, feeds: Iterable[Feed], withheld: bool = False, name: str = "", **changes: Any) -> Source:
    """Return the publisher of `feeds`. `changes` replace its default fields."""
    name = name or f"{code.title()} Market Operator"
    usual = {
        "homepage": f"https://{code}.example",
        "hosts": (f"{code}.example",),
        "requests_per_minute": 60.0,
        "licence": "CC BY 4.0",
        "licence_url": f"https://{code}.example/licence",
        "attribution": f"© {name}",
        "redistributable": "no" if withheld else "yes",
    }
    return Source(code=code, name=name, feeds=tuple(feeds), withheld=withheld, **usual | changes)
