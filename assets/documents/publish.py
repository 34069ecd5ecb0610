"""The one function that publishes `latest`, `brief`, `snapshot` and `windows`.

Their contents: see `assets.documents.bodies`.

Every run of a feed calls it for the zones that it touched, a quarter-hour schedule for all. Publishers may run at once:
a document is put only over an older version. The snapshot is put before the latests are, so that a kill in between
never leaves it behind one of them; a publisher that finds a newer latest then takes its part into the snapshot.
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
"""A publication looks at each month file once."""


def publish(storage: Storage, now: int | None = None, zones: Collection[str] | None = None) -> list[str]:
    """Publishes these zones' documents (default: all zones') as of `now` (Unix seconds), and the snapshot of all zones.

    Returns what could not be read or put, a line each that names the file or zone; the other documents are renewed. A
    zone without any row has none; one of which nothing can be read keeps the ones it had. Raises UnknownZone, and
    StorageError where no catalogue was published. By default `now` is the version's own instant: of two publishers the
    newer one never shows an earlier hour.
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
    if beaten:  # take the latests that newer publishers have put
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
    """The free documents of the map; zones that a newer publisher has put meanwhile are left to it."""
    storage, zones = reader.storage, dict[str, map_layer.ZoneParts]()
    for z, zf in by_zone.items():
        with logged(layout.live_history(z), failures):
            zones[z] = map_layer.parts(reader, described, zf, now)
    with logged(layout.LIVE, failures):
        own = {z: of_zone for z, of_zone in zones.items() if not _is_newer(storage, z, version)}
        map_layer.publish(storage, described, own)


def _put(storage: Storage, name: str, body: Mapping[str, Any] | None, version: int) -> bool:
    """Puts a document over an older one, or withdraws the older one where `body` is None.

    False: a publisher that read later had put it.
    """
    return artefact.put(storage, name, artefact.encode(artefact.WITHDRAWN if body is None else body), version)


def _is_newer(storage: Storage, z: str, version: int) -> bool:
    """Whether a publisher that read later than `version` has put a zone's latest."""
    return artefact.stands(storage, layout.latest(z), version + 1)


def _put_snapshot(
    storage: Storage,
    zones: Mapping[str, CatalogueZone],
    latests: Mapping[str, Mapping[str, Any] | None],
    now: int,
    version: int,
) -> None:
    """Other zones stay as they are in the snapshot, as do those whose latest is a newer publisher's."""

    def merge(before: Any) -> dict[str, Any]:
        members = _members(storage, before)
        for z, body in latests.items():
            # A stamp from the future was given by a clock that has been set back since.
            if now < members.get(z, {"updated": 0})["updated"] <= clock.now() or _is_newer(storage, z, version):
                continue
            members.pop(z, None)
            if body is not None:
                members[z] = bodies.member(body)
        return bodies.snapshot(members, zones, now) if members else artefact.WITHDRAWN

    artefact.update(storage, layout.SNAPSHOT, dict, merge)


def _members(storage: Storage, before: Any) -> dict[str, Mapping[str, Any]]:
    """The member of each zone that has figures in a snapshot; from the latests where it is lost or damaged."""
    if before is not None:
        return {z: member for z, member in before["zones"].items() if "valid_until" in member}
    members: dict[str, Mapping[str, Any]] = {}
    for z in ZONES:
        with logged(layout.latest(z)):
            if (body := artefact.load(storage, layout.latest(z))) is not None:
                members[z] = bodies.member(body)
    return members
