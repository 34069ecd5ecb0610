"""Publish `latest`, `brief`, `snapshot` and the map's documents.

`assets.documents.bodies` defines their contents. Every run of a feed calls `publish` for the affected zones, and a
quarter-hour schedule for all zones. Publishers may run at the same time, so a document replaces only an older version.
The snapshot is written before the latests, so that it is not older than a latest if the process is killed in between. A
publisher that finds a newer latest then adds it to the snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from assets.documents import bodies, map_layer
from assets.documents.figures import ZoneFigures, figures
from warehouse.bookkeeping import logged
from warehouse.documents import catalogue
from warehouse.documents.catalogue_entries import CatalogueZone, PublishedCatalogue
from warehouse.errors import StorageError
from warehouse.market import clock
from warehouse.market.zones import ZONES, zone
from warehouse.series.reader import Reader
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

_READER_BYTES, _PUBLICATION_S = 32_000_000, 600.0
"""The size and lifetime (seconds) of a publication's cache. Each monthly file is read once."""


def publish(storage: Storage, now: int | None = None, zones: Collection[str] | None = None) -> list[str]:
    """Publish these zones' documents (default: all zones') as of `now` (Unix seconds), and the snapshot of all zones.

    Returns a line with the file or zone for each that could not be read or written; the other documents are renewed. A
    zone without rows has no documents; a zone whose rows cannot be read keeps its documents. Raises UnknownZone, and
    StorageError if no catalogue is published. By default, `now` is the time of the version: the newer of two publishers
    never shows an earlier hour.
    """
    version = artefact.new_version()
    now = clock.now(version) if now is None else now
    wanted = set(ZONES if zones is None else (zone(z).id for z in zones))
    described = catalogue.load(storage)
    if described is None:
        raise StorageError("no catalogue has been published; restart emds, which publishes it first")
    reader = Reader(storage, _READER_BYTES, _PUBLICATION_S)
    by_zone = figures(reader, described, [z for z in ZONES if z in wanted], now)
    failures = [line for zf in by_zone.values() for line in zf.unreadable]
    known = {z: zf for z, zf in by_zone.items() if not (zf.empty and zf.unreadable)}
    latests: dict[str, dict[str, Any] | None] = {}
    for z, zf in known.items():
        with logged(f"latest of {z}", failures):
            latests[z] = None if zf.empty else bodies.latest(zf, now)
    with logged(layout.SNAPSHOT, failures):
        _put_snapshot(storage, described.zones, latests, now, version)
    beaten = []
    for z, body in latests.items():
        with logged(layout.latest(z), failures):
            if not _put(storage, layout.latest(z), body, version):
                beaten.append(z)
    if beaten:  # take the latests that newer publishers have written
        with logged(layout.SNAPSHOT, failures):
            newer = {z: artefact.load(storage, layout.latest(z)) for z in beaten}
            _put_snapshot(storage, described.zones, newer, now, artefact.new_version())
    for z, zf in known.items():
        with logged(layout.brief(z), failures):
            simulated = described.simulated
            body = None if zf.empty else bodies.brief(zf, now, simulated)
            _put(storage, layout.brief(z), body, version)
    _publish_live(reader, described, known, now, version, failures)
    return failures


def _publish_live(
    reader: Reader,
    described: PublishedCatalogue,
    by_zone: Mapping[str, ZoneFigures],
    now: int,
    version: int,
    failures: list[str],
) -> None:
    """Publish the free documents of the map, except zones that a newer publisher has published meanwhile."""
    storage, zones = reader.storage, dict[str, map_layer.ZoneParts]()
    for z, zf in by_zone.items():
        with logged(layout.live_history(z), failures):
            zones[z] = map_layer.parts(reader, described, zf, now)
    with logged(layout.LIVE, failures):
        own = {z: of_zone for z, of_zone in zones.items() if not _is_newer(storage, z, version)}
        map_layer.publish(storage, described, own)


def _put(storage: Storage, name: str, body: Mapping[str, Any] | None, version: int) -> bool:
    """Replace an older document, or withdraw it if `body` is None.

    Returns False if a publisher that read later had written the document.
    """
    return artefact.put(storage, name, artefact.encode(artefact.WITHDRAWN if body is None else body), version)


def _is_newer(storage: Storage, z: str, version: int) -> bool:
    """Return whether a publisher that read later than `version` has written a zone's latest."""
    return artefact.stands(storage, layout.latest(z), version + 1)


def _put_snapshot(
    storage: Storage,
    zones: Mapping[str, CatalogueZone],
    latests: Mapping[str, Mapping[str, Any] | None],
    now: int,
    version: int,
) -> None:
    """Renew zones in the snapshot. The others do not change, and neither do those with a newer publisher's latest."""

    def merge(before: Any) -> dict[str, Any]:
        members = _members(storage, before)
        for z, body in latests.items():
            # A time in the future comes from a clock that has been set back since.
            if now < members.get(z, {"updated": 0})["updated"] <= clock.now() or _is_newer(storage, z, version):
                continue
            members.pop(z, None)
            if body is not None:
                members[z] = bodies.member(body)
        return bodies.snapshot(members, zones, now) if members else artefact.WITHDRAWN

    artefact.update(storage, layout.SNAPSHOT, dict, merge)


def _members(storage: Storage, before: Any) -> dict[str, Mapping[str, Any]]:
    """Return a snapshot's members with values by zone; from the latests if the snapshot is lost or damaged."""
    if before is not None:
        return {z: member for z, member in before["zones"].items() if "valid_until" in member}
    members: dict[str, Mapping[str, Any]] = {}
    for z in ZONES:
        with logged(layout.latest(z)):
            if (body := artefact.load(storage, layout.latest(z))) is not None:
                members[z] = bodies.member(body)
    return members
