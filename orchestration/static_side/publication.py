"""Define one publication as a value: objects named by their hash, the manifest that lists them, and its pointer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

POINTER = "current.json"
"""Key of the one object that changes; it names the newest manifest."""
OBJECTS, MANIFESTS, SITE = "objects/", "manifests/", "site/"
SITE_VERSION = f"{SITE}version"
"""Key of the manifest that `site/` shows completely."""
KEPT_S = 86_400
"""Seconds for which a superseded publication and its objects stay, for readers that have its manifest."""
_IMMUTABLE = "public, max-age=31536000, immutable"
EXTENSIONS = {
    "application/json": "json",
    "application/geo+json": "geojson",
    "application/topo+json": "topojson",
    "application/linkset+json": "linkset",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.pmtiles": "pmtiles",
    "application/flatgeobuf": "fgb",
    "application/xml": "xml",
    "image/png": "png",
    "image/svg+xml": "svg",
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "html",
    "text/javascript": "js",
    "text/plain": "txt",
}
SUFFIXES = {"gzip": "gz", "br": "br", "zstd": "zst"}
"""The file extension of a precompressed object, as nginx, Caddy and others expect it."""


@dataclass(frozen=True, slots=True)
class StaticObject:
    """Bytes, mostly named by their hash: written once, never changed."""

    key: str
    body: bytes = field(repr=False)
    media: str
    """The complete Content-Type."""
    coding: str = ""
    """The content coding of the bytes; empty for none."""
    cache_control: str = _IMMUTABLE


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A path of the service, and its body in every coding that is smaller, the plain form first."""

    path: str
    cache_control: str
    forms: tuple[StaticObject, ...]

    def members(self) -> dict[str, Any]:
        """Return the file's entry in the manifest."""
        plain, *packed = self.forms
        return {
            "path": self.path,
            "object": plain.key,
            "sha256": digest(plain.body),
            "bytes": len(plain.body),
            "content_type": plain.media,
            "cache_control": self.cache_control,
            "encodings": {o.coding: {"object": o.key, "bytes": len(o.body)} for o in packed},
        }


@dataclass(frozen=True, slots=True)
class StaticPublication:
    """Everything that a publication writes; `version` (ns) orders publications."""

    version: int
    as_of: int
    """Unix seconds of the catalogue on which the publication is based."""
    mode: str
    files: tuple[StaticFile, ...]
    months: tuple[Mapping[str, Any], ...] = ()
    """Monthly files written before, as `/v1/bulk` states them, each with `object` and `put_at`."""
    replaced: tuple[Mapping[str, Any], ...] = ()
    """Monthly files that earlier lists named: {object, until}; `until` is the end of retention in Unix seconds."""
    rights: Mapping[str, Any] = field(default_factory=dict)
    """Licence and attribution of every source whose rows the publication may contain."""
    withheld: tuple[str, ...] = ()
    """Feeds whose rows the publication does not contain."""

    @property
    def manifest(self) -> StaticObject:
        """List everything with hash, size, type and rights."""
        document = {
            "version": self.version,
            "as_of": self.as_of,
            "mode": self.mode,
            "rights": self.rights,
            "withheld": self.withheld,
            "files": [file.members() for file in self.files],
            "months": list(self.months),
            "replaced": list(self.replaced),
        }
        body = orjson.dumps(document, option=orjson.OPT_INDENT_2)
        return StaticObject(f"{MANIFESTS}{self.version}-{digest(body)[:16]}.json", body, "application/json")

    @property
    def pointer(self) -> StaticObject:
        """Return the one object that changes."""
        manifest = self.manifest
        document = {"version": self.version, "as_of": self.as_of, "manifest": manifest.key}
        body = orjson.dumps({**document, "sha256": digest(manifest.body), "withheld": self.withheld})
        return StaticObject(POINTER, body, "application/json", cache_control="public, max-age=15")

    def objects(self) -> Iterable[StaticObject]:
        """Yield every object except monthly files, the manifest last."""
        for file in self.files:
            yield from file.forms
        yield self.manifest


def digest(body: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(body).hexdigest()


def extension(media: str) -> str:
    """Return the file extension of a Content-Type."""
    return EXTENSIONS.get(media.partition(";")[0].strip(), "bin")


def object_key(body: bytes, media: str) -> str:
    """Return the key of a body: `objects/<sha256>.json`."""
    return f"{OBJECTS}{digest(body)}.{extension(media)}"


def packed_key(plain: str, coding: str) -> str:
    """Return the key of an object's compressed form, beside it."""
    return f"{plain}.{SUFFIXES[coding]}"


def place(path: str, media: str) -> str:
    """Return a path's location in a tree of files: `v1/zones.json` for `/v1/zones`.

    `/` becomes `service.html`, for a server in front of the API; `index.html` is the page that works without the API.
    """
    ending = extension(media)
    name = path.lstrip("/") or "service"
    return name if name.endswith(f".{ending}") else f"{name}.{ending}"


def objects_of(manifest: Mapping[str, Any]) -> set[str]:
    """Return the keys of every object that a manifest names."""
    files = manifest.get("files", ())
    keys = {each["object"] for name in ("files", "months", "replaced") for each in manifest.get(name, ())}
    return keys | {packed["object"] for file in files for packed in file["encodings"].values()}


def site_names(files: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the names below `site/` of a manifest's files, each with the key of its object.

    `/v1/geo/plants` and `/v1/geo/plants.geojson` share a name.
    """
    names = {}
    for file in files:
        name = SITE + place(file["path"], file["content_type"])
        names[name] = file["object"]
        names |= {packed_key(name, coding): packed["object"] for coding, packed in file["encodings"].items()}
    return names


def read_json(body: bytes | None) -> dict[str, Any]:
    """Parse a pointer or a manifest; return an empty one if it is absent or damaged."""
    try:
        document = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}
