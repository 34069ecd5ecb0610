"""The oldest market day that each feed was ever asked for: before it nothing of the feed is held or missed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import orjson

from warehouse import layout
from warehouse.errors import DamagedFile
from warehouse.storage import Storage


def read(storage: Storage) -> dict[str, date]:
    """The days by feed; none for an empty warehouse. Raises DamagedFile for what does not decode."""
    return decode(storage.get(layout.FIRST_DAYS))


def decode(stored: bytes | None) -> dict[str, date]:
    """The same of the file's bytes; None where there is no file."""
    try:
        kept: Mapping[str, str] = orjson.loads(b"{}" if stored is None else stored)
        return {feed: date.fromisoformat(day) for feed, day in kept.items()}
    except (AttributeError, TypeError, ValueError):
        raise DamagedFile(layout.FIRST_DAYS, "does not hold days by feed") from None
