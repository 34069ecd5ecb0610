"""The geo layers as documents: the files that `geo_data` ships, published as they are after a check of their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from geo_data.terms import LAYERS, SHIPPED
from warehouse.errors import DamagedFile
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage


@cache
def hashes(layer: str, folder: Path = SHIPPED) -> dict[str, str]:
    """Return the SHA-256 of each document of a layer by its name, `geo/zones.low.geojson`."""
    every: dict[str, str] = orjson.loads((folder / "sha256.json").read_bytes())
    return {f"geo/{name}": digest for name, digest in every.items() if name.partition(".")[0] == layer}


def document(name: str, folder: Path = SHIPPED) -> bytes:
    """Return a shipped document. Raises DamagedFile where its bytes are not those whose hash is shipped with it."""
    path = folder / name.removeprefix("geo/")
    body = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(body).hexdigest() != hashes(path.name.partition(".")[0], folder)[name]:
        raise DamagedFile(name, "is not the file that was shipped; install emds again")
    return body


def documents(layer: str) -> dict[str, bytes]:
    """Return the documents of a layer by name. Raises DamagedFile."""
    return {name: document(name) for name in hashes(layer)}


def publish(storage: Storage, layers: Iterable[str] = LAYERS) -> dict[str, int]:
    """Publish layers; return bytes by document. Raises DamagedFile before anything of that layer is published."""
    version, sizes = artefact.new_version(), dict[str, int]()
    for layer in layers:
        bodies, own = documents(layer), layout.geo_hashes(layer)
        if not _is_published(storage, layer):  # or each document would count as damaged until its hash is here
            artefact.withdraw(storage, own, version)
        for name, body in bodies.items():
            artefact.put(storage, name, body, version)
        # Last: readers cut only documents whose hashes stand here.
        artefact.put(storage, own, artefact.encode({"documents": hashes(layer)}), artefact.new_version())
        sizes |= {name: len(body) for name, body in bodies.items()}
    return sizes


def ensure(storage: Storage) -> None:
    """Publish the layers that do not lie there whole, as they are shipped; cheap enough for every start."""
    publish(storage, [layer for layer in LAYERS if not _is_published(storage, layer)])


def _is_published(storage: Storage, layer: str) -> bool:
    """Whether a layer's documents and their hashes are those that are shipped."""
    try:
        return artefact.load(storage, layout.geo_hashes(layer)) == {"documents": hashes(layer)} and all(
            artefact.get(storage, name) is not None for name in hashes(layer)
        )
    except (DamagedFile, ValueError):
        return False


@cache
def zone_shapes() -> dict[str, dict[str, Any]]:
    """Return the GeoJSON features of the zones at low detail by id; a zone without a map record has none."""
    collection = orjson.loads(document("geo/zones.low.geojson"))
    return {feature["id"]: feature for feature in collection["features"]}
