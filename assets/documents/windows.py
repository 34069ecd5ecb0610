"""The windows documents: each zone's cheapest hours ahead, for the common lengths, at a publication."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from warehouse import horizon, horizon_document
from warehouse.reader import FileReplaced, Reader, joined
from warehouse.storage import Storage
from warehouse.zones import zone

_MEMORY = 2_000_000
"""Bytes of decoded rows: a month's file or two, read once."""


def windows(storage: Storage, zone_id: str, withheld: Collection[str], now: int) -> dict[str, Any] | None:
    """A zone's document at `now` (Unix seconds). Raises StorageError.

    None where no price is known ahead, or a row's feed is withheld: then answers are computed.
    """
    stored = zone(zone_id).day_ahead_metric
    if stored is None:
        return None
    reader = Reader(storage, _MEMORY)
    while True:
        try:
            return _made(reader, zone_id, stored.value, withheld, now)
        except FileReplaced:
            continue


def _made(reader: Reader, zone_id: str, stored: str, withheld: Collection[str], now: int) -> dict[str, Any] | None:
    window = horizon.window(now)
    files = reader.files(zone_id, stored, window)
    every = joined(reader.rows(file, "net") for file in files)
    ahead = horizon.ahead(every.take(slice(*every.between(window))), now)
    if ahead is None or not set(ahead.feeds).isdisjoint(withheld):
        return None
    return horizon_document.body(zone_id, ahead, files)
