"""Zones with a month of prices and demand to publish from, and the documents that come of them."""

from __future__ import annotations

from warehouse.store import artefact
from warehouse.store.layout import SNAPSHOT

HOUR, DAY = 3600, 86400
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR
ALL_OF_FRANCE = ["brief/FR.json", "latest/FR.json", SNAPSHOT]
"""Its documents and the snapshot, sorted."""


def document(world, name):
    """A published document, decoded; None where there is none."""
    return artefact.load(world.storage, name)


def fill(world, zone="FR", until=NOW + HOUR):
    """Hourly prices and demand from START on."""
    hours = (until - START) // HOUR
    world.fold(zone, "price", START, [40 + i % 24 + i / 100 for i in range(hours)])
    world.fold(zone, "demand", START, [20000 + i % 24 for i in range(hours)])
