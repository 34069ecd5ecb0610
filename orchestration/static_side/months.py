"""Month files at the public address, under names whose bytes never change: put, kept for pinned lists, removed.

A file that the list names stays. One that it does not name any more stays 60 days, so that a pinned list still answers:
by its age where it was replaced within a day of being put, as files of the running month are; any other is named in the
manifest until then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from api.documents import month_files
from api.documents.catalogue import Catalogue, DocumentCache
from api.settings import Settings
from orchestration.static_side.publication import StaticObject
from orchestration.static_side.target import Target
from warehouse.caches import LruCache
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.clock import DAY
from warehouse.store import layout
from warehouse.store.storage import Storage

MONTH_KEPT_S = 60 * DAY
SERIES = layout.series_prefix()
_LOG = logging.getLogger("emds.publish")
_PARQUET = "application/vnd.apache.parquet"
Entries = tuple[Mapping[str, Any], ...]


def put_months(
    target: Target, storage: Storage, catalogue: Catalogue, settings: Settings, before: Mapping[str, Any], now: int
) -> tuple[Entries, int]:
    """Put every month file that may be passed on and is not there; return their entries, and how many were put.

    An entry is that of `/v1/bulk` with `object`, its key, and `put_at`. `before` is the manifest before this one: what
    it names is there. Once a day the target itself is asked.
    """
    documents = DocumentCache(storage)
    if documents.get(layout.MANIFEST) is None:
        return (), 0
    known = {month["object"]: month for month in before.get("months", ())}
    lying = {key: month["bytes"] for key, month in known.items()}
    if is_new_day(before, now):
        lying = {key: size for key, (size, _) in target.listing(SERIES).items()}
    entries, put = [], 0
    for entry in month_files.list_files(documents, catalogue, settings.base_url, clock.now(), {})["files"]:
        key = month_files.public_key(entry)
        if lying.get(key) != entry["bytes"]:
            whole = _whole(storage, entry)
            if whole is None or whole.sha256 != entry["sha256"]:
                continue  # replaced since it was listed, or damaged: the next publication has it
            put += target.put(StaticObject(key, whole.body, _PARQUET))
        entries.append({**entry, "object": key, "put_at": known[key]["put_at"] if key in known else now})
    return tuple(entries), put


def _whole(storage: Storage, entry: Mapping[str, Any]) -> month_files.MonthBytes | None:
    """Return the month file of an entry; None where it is gone. A damaged one is logged; the others are published."""
    try:
        metric, zone = entry["metric"], entry["zone"]
        return month_files.read(
            storage, LruCache(0), metric, zone, month_files.stored_month(metric, zone, entry["month"])
        )
    except DamagedFile as error:
        _LOG.error("not published: %s", error)
        return None


def is_new_day(before: Mapping[str, Any], now: int) -> bool:
    """Return whether the manifest before is of an earlier UTC day, or there is none."""
    return int(before.get("version", 0)) // (DAY * 10**9) < now // DAY


def replaced(before: Mapping[str, Any], months: Iterable[Mapping[str, Any]], now: int) -> Entries:
    """Return {object, until} of files that the manifest must name, since by their age alone they would go sooner."""
    listed = {month["object"] for month in months}
    old = [m["object"] for m in before.get("months", ()) if now - m["put_at"] > DAY]
    left = [*before.get("replaced", ()), *({"object": key, "until": now + MONTH_KEPT_S} for key in old)]
    return tuple(each for each in left if each["object"] not in listed and each["until"] > now)
