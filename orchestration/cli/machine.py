"""What `emds doctor` says of this machine: full disks, a Python with known holes, where files are published to."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from warehouse import settings
from warehouse.errors import StorageError
from warehouse.store.home import Home

LEAST_FREE_BYTES = 2_000_000_000
"""Dagster's storage alone grows by some 60 MB a day."""
HOLES = (
    ("CVE-2024-0450", {(3, 11): 8, (3, 12): 2}, "a publisher's zip can unpack to far more than it is"),
    (
        "CVE-2025-0938",
        {(3, 11): 12, (3, 12): 9, (3, 13): 2},
        "other programs split webhook addresses with [ ] otherwise",
    ),
    ("CVE-2025-8291", {(3, 11): 14, (3, 12): 12}, "other programs can read another content in a publisher's zip"),
)
"""Holes of Python's own library in what this service uses: the first patch release without it, by minor release."""


def warnings(home: Home, version: tuple[int, int, int] = sys.version_info[:3]) -> Iterator[str]:
    """Yield what will become a fault: disks nearly full, and an interpreter with known holes."""
    places = {home.local, *([home.place] if isinstance(home.place, Path) else [])}
    for place in sorted(place for place in places if place.is_dir()):
        free = shutil.disk_usage(place).free
        if free < LEAST_FREE_BYTES:
            yield f"{free / 1e6:.0f} MB are free in {place}: make room, or set EMDS_RAW_DAYS lower"
    for name, fixed, harm in HOLES:
        patch = fixed.get(version[:2])
        if patch is not None and version[2] < patch:
            own = ".".join(map(str, version))
            yield f"Python {own} has {name} unless its vendor mended it ({harm}): use {version[0]}.{version[1]}.{patch}"


def publish_fault() -> str:
    """Return why nothing can be published to EMDS_PUBLISH_TO; empty where it can, or is not set."""
    address = settings.text(os.environ, "EMDS_PUBLISH_TO")
    if not address:
        return ""
    from orchestration.static_side.target import open_target, parse

    try:
        place = parse(address)
        if not isinstance(place, Path):
            open_target(address).manifests()
        elif not os.access(next(path for path in (place, *place.parents) if path.exists()), os.W_OK | os.X_OK):
            raise StorageError(f"{place} cannot be written")
    except StorageError as error:
        return f"EMDS_PUBLISH_TO: {error}"
    return ""
