"""Publish the free responses as files (`emds publish --to URL`): write new ones, swap the pointer, delete old ones.

A file has exactly the bytes that the API would send, except two pages that work without the API: the map, and the map
for a frame. Computed responses (a query, another format by Accept) stay with the API.

`/v1/status` is written too, as it was at that moment. A server in front can show it while the API is unavailable; its
`now` gives the time. Every object exists before a manifest names it, and the manifest before the pointer does. If a
publication is killed at any point, readers see the previous one, and the next publication completes the work.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import orjson
from werkzeug.test import Client, TestResponse

from api.application import create_app
from api.documents.catalogue_reader import Catalogue
from api.documents.document_cache import DocumentCache
from api.documents.zone_figure import TITLES
from api.endpoints.guides import DOC_PAGES, EXAMPLES
from api.endpoints.table import ENDPOINTS
from api.http.codings import pack_well
from api.http.problems import KINDS
from api.http.responses import LEAST_BYTES
from api.pages import zone_images
from api.pages.map_page import AS_FILES, FOLDER
from api.settings import Settings
from orchestration.static_side import months
from orchestration.static_side.publication import (
    KEPT_S,
    MANIFESTS,
    OBJECTS,
    SUFFIXES,
    StaticFile,
    StaticObject,
    StaticPublication,
    extension,
    object_key,
    objects_of,
    packed_key,
    read_json,
)
from orchestration.static_side.target import Target, open_target
from orchestration.work.environment import opened
from warehouse.bookkeeping import logged
from warehouse.market.clock import DAY
from warehouse.market.zones import ZONES
from warehouse.store import artefact, layout, modes
from warehouse.store.storage import Storage

_FREE = frozenset({"zones", "status", "publishers", "bulk", "live-hours", "live-zone", *zone_images.VIEWS})
_NAMES: Mapping[str, Iterable[str]] = {
    "kind": KINDS,
    "zone": ZONES,
    "metric": TITLES,
    "page": DOC_PAGES,
    "file": EXAMPLES,
}
"""Values for the parts of a path in braces; paths with another part are left out."""
_NOT_PACKED = frozenset({"parquet", "pmtiles", "png", "bin", "svg"})
"""Compressed inside, or (images of zones) so small and numerous that three more objects each would cost more."""
PAGES = {"/index.html": "/", "/embed.html": "/?embed"}
"""The pages that use the files of `site/` without the API, and the service's page behind each."""
_MAP = re.compile(rb"map/([0-9a-f]{12})/")


def publish_now(address: str) -> dict[str, int]:
    """Publish this environment's warehouse to an address. Raises StorageError and SettingsError."""
    storage = opened(os.environ)
    settings = Settings.from_environ({**os.environ, "EMDS_HOME": str(storage)})
    return publish_to(open_target(address), storage, settings)


def publish_to(target: Target, storage: Storage, settings: Settings) -> dict[str, int]:
    """Publish the current responses, and monthly files if the operator set their public URL.

    Return its `version`, the number of its `files` and `months`, the numbers of objects `put` and `removed`, and
    whether it is `current`: False if a newer publication was first. Raises StorageError, and NoCatalogue before the
    first publication.
    """
    version, before = artefact.new_version(), target.current()
    catalogue, now = DocumentCache(storage).catalogue, version // 10**9
    entries: months.Entries = ()
    fresh = 0
    if settings.public_url:
        entries, fresh = months.put_months(target, storage, catalogue, settings, before, now)
        if [entry["object"] for entry in entries] != [month["object"] for month in before.get("months", ())]:
            # A failure must not delay publications or withdrawals; the next change of a month tries again.
            with logged(months.DUCKDB_FILE):
                target.replace(months.build_duckdb(entries, settings.public_url))
    public = artefact.encode({"sha256": sorted({entry["sha256"] for entry in entries})})
    artefact.put(storage, layout.PUBLIC_MONTHS, public, artefact.new_version())
    withheld = tuple(sorted(catalogue.withheld))
    replaced = () if _is_narrower(withheld, before) else months.replaced(before, entries, now)
    with _client(settings) as client:
        files = rendered(client, target)
    mode, rights = modes.get(storage) or "", _rights(catalogue)
    publication = StaticPublication(version, catalogue.generated, mode, files, entries, replaced, rights, withheld)
    put, removed, is_current = send(target, publication)
    counts = {"files": len(files), "months": len(entries), "put": put + fresh, "removed": removed}
    return {"version": version, **counts, "current": int(is_current)}


def send(target: Target, publication: StaticPublication) -> tuple[int, int, bool]:
    """Write a publication; return how many objects were written and removed, and whether it is shown."""
    before = target.current()
    put = sum(target.put(item) for item in publication.objects())
    if not target.swap(publication):
        return put, 0, False
    own = publication.manifest.key
    young = [key for key, (_, age) in target.listing(MANIFESTS).items() if age < KEPT_S and key != own]
    former = {key: read_json(target.get(key)) for key in young}
    keep = {own} | objects_of(orjson.loads(publication.manifest.body))
    # Data that may no longer be redistributed is deleted at once, with all other old files. This also holds if the
    # publication that withdrew it was killed before it had deleted anything.
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
    """Return whether a feed is withheld that an earlier manifest did not withhold."""
    return bool(former) and not {*withheld} <= {*former.get("withheld", ())}


def _rights(catalogue: Catalogue) -> dict[str, Any]:
    members = ("name", "license", "license_url", "attribution", "redistributable")
    return {
        code: {name: getattr(source, name) for name in members}
        for code, source in catalogue.sources.items()
        if not source.withheld
    }


@contextmanager
def _client(settings: Settings) -> Iterator[Client]:
    """Open a client of the application itself, without its log, limits and accounts."""
    with tempfile.TemporaryDirectory() as folder:
        unlimited = replace(
            settings,
            database_url=f"sqlite:///{folder}/accounts.sqlite",
            free_calls_per_minute=0,
            sample_calls_per_day=0,
        )
        app = create_app(unlimited)
        try:
            # Use the method of the class, inside the middleware that writes the access log.
            yield Client(lambda environ, start: type(app).wsgi_app(app, environ, start))
        finally:
            app.extensions["emds"].gate.close()


def paths(index: bytes) -> Iterator[str]:
    """Yield every free path whose response changes only with a publication; `index` is the map page."""
    for endpoint in ENDPOINTS.values():
        free = endpoint.id in _FREE or endpoint.id.startswith(("geo-", "bulk-")) or endpoint.tag == "Discovery"
        if not free or endpoint.method != "GET" or endpoint.paid:
            continue
        varying = re.findall(r"{(\w+)}", endpoint.path)
        for names in product(*(_NAMES.get(name, ()) for name in varying)):
            yield endpoint.path.format_map(dict(zip(varying, names, strict=True)))
    yield "/"
    version = _MAP.search(index)
    if version is not None:
        files = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file())
        yield from (f"/map/{version[1].decode()}/{name}" for name in files if name != "index.html")


def rendered(client: Client, target: Target) -> tuple[StaticFile, ...]:
    """Return the files of all paths that currently have a response; unpublished documents have none."""
    index = client.get("/").get_data()
    files = [_file(path, client.get(path), target) for path in dict.fromkeys(paths(index))]
    as_files = {AS_FILES: True}
    files += [_file(path, client.get(page, environ_overrides=as_files), target) for path, page in PAGES.items()]
    return tuple(file for file in files if file is not None)


def _file(path: str, answer: TestResponse, target: Target) -> StaticFile | None:
    if answer.status_code != 200:
        return None
    body, media = answer.get_data(), str(answer.headers["Content-Type"])
    plain = StaticObject(object_key(body, media), body, media)
    return StaticFile(path, answer.headers["Cache-Control"], (plain, *_packed(plain, target)))


def _packed(plain: StaticObject, target: Target) -> tuple[StaticObject, ...]:
    """Return the body in every coding that makes it smaller, reusing the bytes at the target."""
    if len(plain.body) < LEAST_BYTES or extension(plain.media) in _NOT_PACKED:
        return ()
    forms = []
    for coding in SUFFIXES:
        key = packed_key(plain.key, coding)
        body = target.get(key) or pack_well(plain.body, coding)
        if len(body) < len(plain.body):
            forms.append(StaticObject(key, body, plain.media, coding))
    return tuple(forms)
