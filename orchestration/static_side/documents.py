"""Render the service's answers on its free paths as files: byte for byte what the API would send.

Computed answers (a query, another format by Accept) stay with the API. `/v1/status` is put too, as it was at that
moment, for a server in front to show while the API is away; its `now` says of when it is.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import orjson
from werkzeug.test import Client

from api.application import create_app
from api.endpoints.guides import DOC_PAGES, EXAMPLES
from api.endpoints.table import ENDPOINTS
from api.http.problems import KINDS
from api.http.responses import LEAST_BYTES, pack_well
from api.pages.map_page import FOLDER
from api.settings import Settings
from orchestration.static_side.publication import (
    SUFFIXES,
    StaticFile,
    StaticObject,
    extension,
    object_key,
    packed_key,
)
from warehouse.market.zones import ZONES

_FREE = frozenset({"zones", "status", "publishers", "bulk", "live-hours", "live-zone"})
_NAMES: Mapping[str, Iterable[str]] = {"kind": KINDS, "zone": ZONES, "page": DOC_PAGES, "file": EXAMPLES}
"""What stands for the part of a path in braces; paths with another part are left out."""
_PACKED_ALREADY = frozenset({"parquet", "pmtiles", "png", "bin"})
_MAP = re.compile(rb"map/([0-9a-f]{12})/")
Former = Callable[[str], bytes | None]
"""Returns the bytes of an object that is already published, by its key: they need not be compressed again."""


@contextmanager
def client(settings: Settings) -> Iterator[Client]:
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
            # The class's own, within the middleware that writes the access log.
            yield Client(lambda environ, start: type(app).wsgi_app(app, environ, start))
        finally:
            app.extensions["emds"].gate.close()


def paths(index: bytes) -> Iterator[str]:
    """Yield every free path whose answer changes with a publication alone; `index` is the map page."""
    for endpoint in ENDPOINTS.values():
        free = endpoint.id in _FREE or endpoint.id.startswith(("geo-", "bulk-")) or endpoint.tag == "Discovery"
        if not free or endpoint.method != "GET" or endpoint.paid:
            continue
        varying = re.search(r"{(\w+)}", endpoint.path)
        if varying is None:
            yield endpoint.path
        else:
            yield from (endpoint.path.replace(varying[0], name) for name in _NAMES.get(varying[1], ()))
    yield "/"
    version = _MAP.search(index)
    if version is not None:
        names = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file())
        yield from (f"/map/{version[1].decode()}/{name}" for name in names if name != "index.html")


def rendered(asked: Client, former: Former) -> tuple[StaticFile, ...]:
    """Return the files of all paths that have an answer now; what was never published has none."""
    index = asked.get("/").get_data()
    files = (_file(asked, path, former) for path in dict.fromkeys(paths(index)))
    return tuple(file for file in files if file is not None)


def _file(asked: Client, path: str, former: Former) -> StaticFile | None:
    answer = asked.get(path)
    if answer.status_code != 200:
        return None
    body, media = answer.get_data(), str(answer.headers["Content-Type"])
    plain = StaticObject(object_key(body, media), body, media)
    return StaticFile(path, media, answer.headers["Cache-Control"], plain, _packed(plain, former), _terms(body, media))


def _packed(plain: StaticObject, former: Former) -> tuple[StaticObject, ...]:
    """Return the body in every coding that makes it smaller."""
    if len(plain.body) < LEAST_BYTES or extension(plain.media) in _PACKED_ALREADY:
        return ()
    forms = []
    for coding in SUFFIXES:
        key = packed_key(plain.key, coding)
        body = former(key) or pack_well(plain.body, coding)
        if len(body) < len(plain.body):
            forms.append(StaticObject(key, body, plain.media, coding))
    return tuple(forms)


def _terms(body: bytes, media: str) -> dict[str, str]:
    if not media.startswith(("application/json", "application/geo+json")):
        return {}
    document: Any = orjson.loads(body)
    names = ("license", "attribution")
    return {n: document[n] for n in names if isinstance(document, dict) and isinstance(document.get(n), str)}
