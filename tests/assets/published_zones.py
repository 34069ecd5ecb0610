"""Fill zones with a month of prices and demand to publish from, and read the resulting documents."""

from __future__ import annotations

from warehouse.store import artefact
from warehouse.store.layout import SNAPSHOT

HOUR, DAY = 3600, 86400
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR
ALL_OF_FRANCE = ["brief/FR.json", "latest/FR.json", SNAPSHOT]
"""The documents of France and the snapshot, sorted."""


def document(world, name):
    """Return a published document, decoded, or None if it does not exist."""
    return artefact.load(world.storage, name)


def fill(world, zone="FR", until=NOW + HOUR):
    """Fold hourly prices and demand from START to before `until`."""
    hours = (until - START) // HOUR
    world.fold(zone, "price", START, [40 + i % 24 + i / 100 for i in range(hours)])
    world.fold(zone, "demand", START, [20000 + i % 24 for i in range(hours)])
