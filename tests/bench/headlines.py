"""The published headline of every zone, to be read aloud: `python -m tests.bench.headlines HOME [--summaries]`."""

from __future__ import annotations

import argparse
from pathlib import Path

import orjson

from warehouse.market.zones import ZONES
from warehouse.store import layout
from warehouse.store.storage import Folder


def lines(home: Path, summaries: bool = False) -> list[str]:
    """A line a zone, in the catalogue's order; one without a brief is said to have none."""
    storage, told = Folder(home), []
    for zone in ZONES:
        stored = storage.get(layout.published(layout.brief(zone)))
        brief = orjson.loads(stored) if stored else {}
        told.append(f"{zone}: {brief.get('headline', 'no brief')}")
        told += [f"    {brief['summary']}"] if summaries and brief else []
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--summaries", action="store_true", help="the summaries too")
    given = parser.parse_args()
    print("\n".join(lines(given.home, given.summaries)))


if __name__ == "__main__":
    main()
