"""`emds publish --to URL`: render the free documents, put what is new, swap the pointer, remove what is old.

Every object is there before a manifest names it, and the manifest before the pointer does: killed anywhere, readers
see the publication before, and the next one completes the work.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from api.documents import bulk
from api.documents.cache import DocumentCache
from api.documents.catalogue import Catalogue, current
from api.settings import Settings
from orchestration.static_side import documents
from orchestration.static_side.publication import (
    KEPT_S,
    OBJECTS,
    Publication,
    StaticObject,
    objects_of,
    read_json,
)
from orchestration.static_side.target import Target, open_target
from orchestration.work.resources import opened
from warehouse import settings as warehouse_settings
from warehouse.caches import LruCache
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.store import artefact, layout, modes
from warehouse.store.storage import Storage

_LOG = logging.getLogger("emds.publish")
_PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True, slots=True)
class Put:
    """What one publication did."""

    version: int
    files: int
    months: int
    put: int
    """Objects that were not there before."""
    removed: int
    current: bool
    """Whether it is shown now; not where a newer one was first."""


def publish_now(address: str) -> Put:
    """Publish this environment's warehouse to an address. Raises StorageError and SettingsError."""
    storage = opened(os.environ)
    settings = Settings.from_environ({**os.environ, "EMDS_HOME": str(storage)})
    return publish_to(open_target(address), storage, settings)


def counts() -> Mapping[str, int] | None:
    """Publish to EMDS_PUBLISH_TO; return what that did, by name, or None where it is not set."""
    address = warehouse_settings.text(os.environ, "EMDS_PUBLISH_TO")
    return {name: int(value) for name, value in asdict(publish_now(address)).items()} if address else None


def publish_to(target: Target, storage: Storage, settings: Settings) -> Put:
    """Publish what the service says now; month files too where the owner named their public address.

    Raises NoCatalogue before the first publication, and StorageError.
    """
    version = artefact.new_version()
    catalogue = current(DocumentCache(storage))
    months, fresh = put_months(target, storage, catalogue, settings) if settings.public_url else ((), 0)
    record_months(storage, months)
    with documents.client(settings) as asked:
        files = documents.rendered(asked, target.get)
    publication = Publication(
        version, catalogue.generated, modes.get(storage) or "", files, months, _rights(catalogue), _withheld(catalogue)
    )
    put, removed, shown = send(target, publication)
    return Put(version, len(files), len(months), put + fresh, removed, shown)


def send(target: Target, publication: Publication) -> tuple[int, int, bool]:
    """Put a publication; return how many objects were put and removed, and whether it is shown."""
    put = sum(target.put(item) for item in publication.objects())
    if not target.swap(publication):
        return put, 0, False
    own = publication.manifest.key
    young = [key for key, age in target.manifests().items() if age < KEPT_S and key != own]
    stated = {key: read_json(target.get(key)) for key in young}
    # What must not be passed on any more goes at once, and everything else that is old with it: also where the
    # publication that narrowed it was killed before it had removed anything.
    narrowed = any(set(publication.withheld) - set(each.get("withheld", ())) for each in stated.values())
    keep = {own} | objects_of(orjson.loads(publication.manifest.body))
    if not narrowed:
        keep = keep.union(stated, *map(objects_of, stated.values()))
    return put, target.sweep(keep, 0.0 if narrowed else float(KEPT_S)), True


def put_months(
    target: Target, storage: Storage, catalogue: Catalogue, settings: Settings
) -> tuple[tuple[Mapping[str, Any], ...], int]:
    """Put every month file that may be passed on; return their entries, each with `object`, and how many were new."""
    documents = DocumentCache(storage)
    document = documents.get(layout.MANIFEST)
    if document is None:
        return (), 0
    months = bulk.month_files(documents, document, LruCache(0))
    listed = bulk.manifest(document, months, catalogue, settings.base_url, clock.now())
    entries, put = [], 0
    for entry in listed["files"]:
        key = f"{OBJECTS}{entry['sha256']}.parquet"
        whole = _whole(storage, entry)
        if whole is None or whole.sha256 != entry["sha256"] or bulk.withheld(catalogue, whole.sources):
            continue  # replaced since it was listed, or damaged: the next publication has it
        put += target.put(StaticObject(key, whole.body, _PARQUET))
        entries.append({**entry, "object": key})
    return tuple(entries), put


def _whole(storage: Storage, entry: Mapping[str, Any]) -> bulk.MonthBytes | None:
    """Return the month file of an entry; None where it is gone. A damaged one is logged; the others are published."""
    metric, zone = entry["metric"], entry["zone"]
    file = bulk.find(storage, metric, zone, bulk.stored_month(metric, zone, entry["month"]))
    try:
        return None if file is None else bulk.read(storage, LruCache(0), file)
    except DamagedFile as error:
        _LOG.error("not published: %s", error)
        return None


def record_months(storage: Storage, months: tuple[Mapping[str, Any], ...]) -> None:
    """Record which month files lie at the public address, for the manifest of `/v1/bulk`."""
    body = artefact.encode({"sha256": sorted({month["sha256"] for month in months})})
    artefact.put(storage, layout.PUBLIC_MONTHS, body, artefact.new_version())


def _withheld(catalogue: Catalogue) -> list[str]:
    return sorted(code for code, source in catalogue.sources.items() if source["withheld"])


def _rights(catalogue: Catalogue) -> dict[str, Any]:
    said = ("name", "license", "license_url", "attribution", "redistributable")
    return {
        code: {name: source[name] for name in said}
        for code, source in catalogue.sources.items()
        if not source["withheld"]
    }
