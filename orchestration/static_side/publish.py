"""`emds publish --to URL`: render the free documents, put what is new, swap the pointer, remove what is old.

Every object is there before a manifest names it, and the manifest before the pointer does: killed anywhere, readers
see the publication before, and the next one completes the work.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from api.documents.catalogue import Catalogue, DocumentCache
from api.settings import Settings
from orchestration.static_side import documents, duckdb_files, months
from orchestration.static_side.publication import KEPT_S, MANIFESTS, OBJECTS, Publication, objects_of, read_json
from orchestration.static_side.target import Target, open_target
from orchestration.work.resources import opened
from warehouse import settings as warehouse_settings
from warehouse.bookkeeping import logged
from warehouse.market.clock import DAY
from warehouse.store import artefact, layout, modes
from warehouse.store.storage import Storage


def publish_now(address: str) -> dict[str, int]:
    """Publish this environment's warehouse to an address. Raises StorageError and SettingsError."""
    storage = opened(os.environ)
    settings = Settings.from_environ({**os.environ, "EMDS_HOME": str(storage)})
    return publish_to(open_target(address), storage, settings)


def counts() -> Mapping[str, int] | None:
    """Publish to EMDS_PUBLISH_TO; return what that did, by name, or None where it is not set."""
    address = warehouse_settings.text(os.environ, "EMDS_PUBLISH_TO")
    return publish_now(address) if address else None


def publish_to(target: Target, storage: Storage, settings: Settings) -> dict[str, int]:
    """Publish what the service says now; month files too where the owner named their public address.

    Return its `version`, how many `files` and `months` it has, how many objects were `put` that were not there and
    `removed`, and whether it is `current`: not where a newer one was first. Raises NoCatalogue before the first
    publication, and StorageError.
    """
    version, before = artefact.new_version(), target.current()
    catalogue, now = DocumentCache(storage).catalogue, version // 10**9
    entries: months.Entries = ()
    fresh = 0
    if settings.public_url:
        entries, fresh = months.put_months(target, storage, catalogue, settings, before, now)
        if [entry["object"] for entry in entries] != [month["object"] for month in before.get("months", ())]:
            # They must not hold up what is published or withdrawn; the next change of a month tries again.
            with logged(duckdb_files.NAME):
                target.replace(duckdb_files.build(entries, settings.public_url))
    public = artefact.encode({"sha256": sorted({entry["sha256"] for entry in entries})})
    artefact.put(storage, layout.PUBLIC_MONTHS, public, artefact.new_version())
    withheld = tuple(sorted(catalogue.withheld))
    replaced = () if _is_narrower(withheld, before) else months.replaced(before, entries, now)
    with documents.client(settings) as asked:
        files = documents.rendered(asked, target.get)
    mode, rights = modes.get(storage) or "", _rights(catalogue)
    publication = Publication(version, catalogue.generated, mode, files, entries, replaced, rights, withheld)
    put, removed, is_current = send(target, publication)
    counts = {"files": len(files), "months": len(entries), "put": put + fresh, "removed": removed}
    return {"version": version, **counts, "current": int(is_current)}


def send(target: Target, publication: Publication) -> tuple[int, int, bool]:
    """Put a publication; return how many objects were put and removed, and whether it is shown."""
    before = target.current()
    put = sum(target.put(item) for item in publication.objects())
    if not target.swap(publication):
        return put, 0, False
    own = publication.manifest.key
    young = [key for key, (_, age) in target.listing(MANIFESTS).items() if age < KEPT_S and key != own]
    former = {key: read_json(target.get(key)) for key in young}
    keep = {own} | objects_of(orjson.loads(publication.manifest.body))
    # What must not be passed on any more goes at once, and all else that is old with it: also where the publication
    # that narrowed it was killed before it had removed anything.
    if any(_is_narrower(publication.withheld, manifest) for manifest in [before, *former.values()]):
        return put, target.sweep((OBJECTS, MANIFESTS, months.SERIES), lambda key, age: key not in keep), True
    removed = 0
    if months.is_new_day(before, publication.version // 10**9):
        most = months.MONTH_KEPT_S + DAY
        removed += target.sweep((months.SERIES,), lambda key, age: key not in keep and age > most)
    keep = keep.union(former, *map(objects_of, former.values()))
    removed += target.sweep((OBJECTS, MANIFESTS), lambda key, age: key not in keep and age >= KEPT_S)
    return put, removed, True


def _is_narrower(withheld: Collection[str], former: Mapping[str, Any]) -> bool:
    """Return whether a feed is withheld that a former manifest did not withhold yet."""
    return bool(former) and not {*withheld} <= {*former.get("withheld", ())}


def _rights(catalogue: Catalogue) -> dict[str, Any]:
    members = ("name", "license", "license_url", "attribution", "redistributable")
    return {
        code: {name: source[name] for name in members}
        for code, source in catalogue.sources.items()
        if not source["withheld"]
    }
