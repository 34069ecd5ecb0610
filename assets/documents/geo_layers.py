"""Publish the geo layers as documents: the files shipped in `geo_data`, after a check of their hashes.

Named sets of zones are shipped complete. A list of zones is cut from the largest set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from geo_data.terms import LAYERS, SHIPPED
from warehouse.documents.feature_files import CUTS
from warehouse.errors import DamagedFile
from warehouse.market.further_zones import EUROPE, NAME_OF_SET, SPEC
from warehouse.market.zones import ZONES
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage


@cache
def _shipped_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each shipped document by its name, such as `geo/zones.low.geojson`."""
    every: dict[str, str] = orjson.loads((folder / "sha256.json").read_bytes())
    return {f"geo/{name}": digest for name, digest in every.items()}


def document(name: str, folder: Path = SHIPPED[SPEC]) -> bytes:
    """Return a shipped document. Raises DamagedFile if its bytes do not match the shipped hash."""
    path = folder / name.removeprefix("geo/")
    body = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(body).hexdigest() != _shipped_hashes(folder)[name]:
        raise DamagedFile(name, "does not match the file in this release; reinstall emds")
    return body


def _names(layer: str, folder: Path) -> list[str]:
    return [name for name in _shipped_hashes(folder) if name.startswith(f"geo/{layer}.")]


def documents(layer: str) -> dict[str, bytes]:
    """Return the documents of a layer by name, with the zones that this process covers. Raises DamagedFile."""
    if layer == "plants" or NAME_OF_SET == SPEC:
        bodies = {name: document(name) for name in _names(layer, SHIPPED[SPEC])}
        return bodies if NAME_OF_SET == SPEC else bodies | _with_note(bodies)
    if NAME_OF_SET == EUROPE:
        return {name: document(name, SHIPPED[EUROPE]) for name in _names(layer, SHIPPED[EUROPE])}
    details = ("low", "high") if layer == "zones" else ("",)
    return {name: body for detail in details for name, body in _cut(layer, detail).items()}


def _with_note(plants: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the GeoJSON document of the plants with a note that it covers the default set."""
    name = layout.geo("plants", "geojson")
    note = orjson.dumps({"note": "There are no plants of the zones that EMDS_ZONES adds to the default set."})
    return {name: plants[name].replace(b'"features":', note[1:-1] + b',"features":', 1)}


def _cut(layer: str, detail: str) -> dict[str, bytes]:
    """Return a layer's documents for a list of zones. They have no index, and there are no tiles and no TopoJSON."""
    collections = [orjson.loads(body) for body in _of_each_set(layer, "geojson", detail)]
    listed = [feature for collection in collections for feature in collection["features"]]
    positions = np.array([*_covered(listed).values()])
    chosen = [listed[place] for place in positions]
    wests, souths, easts, norths = zip(*(feature["bbox"] for feature in chosen), strict=True)
    extent = [min(wests), min(souths), max(easts), max(norths)]
    names = {
        format_: layout.geo(layer, format_, detail) for format_ in ("geojson", "csv", "parquet", "fgb", "rows.fgb")
    }
    flat = CUTS["fgb"](*_of_each_set(layer, "rows.fgb", detail))(positions, extent)
    return {
        names["geojson"]: orjson.dumps({**collections[-1], "bbox": extent, "features": chosen}),
        **{names[one]: CUTS[one](*_of_each_set(layer, one, detail))(positions, extent) for one in ("csv", "parquet")},
        names["fgb"]: flat,
        names["rows.fgb"]: flat,
    }


def _of_each_set(layer: str, format_: str, detail: str) -> list[bytes]:
    """Return the documents of both sets, the larger one last. Zones are cut from the larger set only."""
    sets = (EUROPE,) if layer == "zones" else (SPEC, EUROPE)
    return [document(layout.geo(layer, format_, detail), SHIPPED[each]) for each in sets]


def _covered(features: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the positions of the features with covered zones only, by ID. The later of two with the same ID counts."""
    return {
        feature["id"]: place
        for place, feature in enumerate(features)
        if {feature["properties"].get(end) for end in ("from", "to")} <= {*ZONES, None}
        and (feature["id"] in ZONES or "from" in feature["properties"])
    }


@cache
def hashes(layer: str) -> dict[str, str]:
    """Return the SHA-256 of each document of a layer by its name. Raises DamagedFile."""
    return {name: hashlib.sha256(body).hexdigest() for name, body in documents(layer).items()}


def version(layer: str) -> str:
    """Return a text that changes with the layer's documents, without reading them."""
    digests = [_shipped_hashes(folder).get(name, "") for folder in SHIPPED.values() for name in _names(layer, folder)]
    return hashlib.sha256("".join((*digests, *ZONES)).encode()).hexdigest()[:12]


def publish(storage: Storage, layers: Iterable[str] = LAYERS) -> dict[str, int]:
    """Publish layers and return bytes by document. Raises DamagedFile before a damaged layer is published."""
    version, sizes = artefact.new_version(), dict[str, int]()
    for layer in layers:
        bodies, own = documents(layer), layout.geo_hashes(layer)
        for name in {*_names(layer, SHIPPED[SPEC])} - bodies.keys():
            storage.delete(layout.published(name))  # tiles of a set that became a list
        if not _is_published(storage, layer):  # otherwise each document counts as damaged until its hash arrives
            artefact.withdraw(storage, own, version)
        for name, body in bodies.items():
            artefact.put(storage, name, body, version)
        # The hashes are last: readers cut only documents whose hashes are published.
        artefact.put(storage, own, artefact.encode({"documents": hashes(layer)}), artefact.new_version())
        sizes |= {name: len(body) for name, body in bodies.items()}
    return sizes


def ensure(storage: Storage) -> None:
    """Publish the layers that are not completely published as shipped. This is cheap enough for every start."""
    publish(storage, [layer for layer in LAYERS if not _is_published(storage, layer)])


def _is_published(storage: Storage, layer: str) -> bool:
    """Return whether a layer's published documents and hashes are the shipped ones."""
    try:
        return artefact.load(storage, layout.geo_hashes(layer)) == {"documents": hashes(layer)} and all(
            artefact.get(storage, name) is not None for name in hashes(layer)
        )
    except (DamagedFile, ValueError):
        return False


@cache
def zone_shapes() -> dict[str, dict[str, Any]]:
    """Return the GeoJSON features of the zones at low detail by ID. Zones without a map record have no feature."""
    collection = orjson.loads(document("geo/zones.low.geojson", SHIPPED[NAME_OF_SET or EUROPE]))
    return {feature["id"]: feature for feature in collection["features"] if feature["id"] in ZONES}


@cache
def lines() -> tuple[dict[str, Any], ...]:
    """Return the features of the interconnector layer."""
    return tuple(orjson.loads(documents("interconnectors")["geo/interconnectors.geojson"])["features"])
