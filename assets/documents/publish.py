"""The one function that publishes `latest`, `brief`, `snapshot` and `windows`.

Their contents: see `assets.documents.bodies`.

Every run of a feed calls it for the zones that it touched, a quarter-hour schedule for all. Publishers may run at once:
a document is put only over an older version, and the snapshot is put together under a lock from what each zone's newest
publisher said. It is put before the latests are, so that a kill in between never leaves it behind one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assets.documents import bodies, live
from assets.documents.figures import ZoneFigures, figures
from warehouse import artefact, catalogue, clock, layout
from warehouse.bookkeeping import logged
from warehouse.errors import DamagedFile, StorageError
from warehouse.storage import Storage
from warehouse.zones import ZONES, zone

_TURN = "snapshot"
"""The lock under which snapshot and latests are put: one publisher at a time."""


@dataclass(slots=True)
class Published:
    """What one call did, by document name."""

    put: list[str] = field(default_factory=list)
    newer: list[str] = field(default_factory=list)
    """Left as they are: a publisher that read later had put them."""
    withdrawn: list[str] = field(default_factory=list)
    """Withdrawn: nothing of the zone may be served any more."""
    failures: list[str] = field(default_factory=list)
    """What could not be read or put, a line each that names the file or zone. The other documents are renewed."""


def publish(storage: Storage, now: int | None = None, zones: Collection[str] | None = None) -> Published:
    """Publishes these zones' documents (default: all zones') as of `now` (Unix seconds), and the snapshot of all zones.

    A zone without any row has none; one of which nothing can be read keeps the ones it had. Raises UnknownZone, and
    StorageError where no catalogue was published. By default `now` is the version's own instant: of two publishers the
    newer one never shows an earlier hour.
    """
    version = artefact.new_version()
    now = clock.now(version) if now is None else now
    wanted = set(ZONES if zones is None else (zone(z).id for z in zones))
    described = catalogue.load(storage)
    if described is None:
        raise StorageError("no catalogue is published: every start of emds publishes it first")
    by_zone = figures(storage, described, [z for z in ZONES if z in wanted], now)
    done = Published(failures=[line for zf in by_zone.values() for line in zf.unreadable])
    kept = {z: zf for z, zf in by_zone.items() if not (zf.empty and zf.unreadable)}
    latests: dict[str, dict[str, Any] | None] = {}
    for z, zf in kept.items():
        with _noted(done, f"latest of {z}"):
            latests[z] = None if zf.empty else bodies.latest(zf, now)
    with _noted(done, layout.SNAPSHOT), storage.locked([_TURN]):
        with _noted(done, layout.SNAPSHOT):
            _put_snapshot(storage, described["zones"], latests, now, version, done)
        for z, body in latests.items():
            with _noted(done, layout.latest(z)):
                _put(storage, layout.latest(z), body, version, done)
    for z, zf in kept.items():
        with _noted(done, layout.brief(z)):
            _put(storage, layout.brief(z), _brief(zf, now, described["mode"]), version, done)
    _publish_live(storage, described, kept, now, version, done)
    return done


def _publish_live(
    storage: Storage,
    described: Mapping[str, Any],
    by_zone: Mapping[str, ZoneFigures],
    now: int,
    version: int,
    done: Published,
) -> None:
    """The free documents of the map; zones that a newer publisher has put meanwhile are left to it."""
    zones: dict[str, live.ZoneParts] = {}
    for z, zf in by_zone.items():
        with _noted(done, layout.live_history(z)):
            zones[z] = live.parts(storage, described, zf, now)
    with _noted(done, layout.LIVE), storage.locked([_TURN]):
        latests = {z: artefact.identity(storage, layout.latest(z)) for z in zones}
        own = {z: zones[z] for z, latest in latests.items() if latest is None or latest.version <= version}
        live.publish(storage, described, artefact.load(storage, layout.SNAPSHOT), own)


@contextmanager
def _noted(done: Published, place: str) -> Iterator[None]:
    """One document's failure is logged and noted, and costs no other document."""
    with logged(place) as attempt:
        yield
    if attempt.error is not None:
        done.failures.append(attempt.failure)


def _brief(of_zone: ZoneFigures, now: int, mode: str) -> dict[str, Any] | None:
    return None if of_zone.empty else bodies.brief(of_zone, now, simulated=mode == "simulated")


def _put(storage: Storage, name: str, body: Mapping[str, Any] | None, version: int, done: Published) -> None:
    """Puts a document over an older one; withdraws the older one where `body` is None."""
    if body is None:
        if artefact.withdraw(storage, name, version):
            done.withdrawn.append(name)
        return
    (done.put if artefact.put(storage, name, artefact.encode(body), version) else done.newer).append(name)


def _put_snapshot(
    storage: Storage,
    zones: Mapping[str, Any],
    latests: Mapping[str, Mapping[str, Any] | None],
    now: int,
    version: int,
    done: Published,
) -> None:
    """Needs the publishers' lock. Other zones stay as the newest snapshot has them, which is as new as their latest."""
    members = _published(storage)
    for z, body in latests.items():
        if not artefact.stands(storage, layout.latest(z), version):
            members.pop(z, None)
            if body is not None:
                members[z] = bodies.member(body)
    _put(
        storage,
        layout.SNAPSHOT,
        bodies.snapshot(members, zones, now) if members else None,
        artefact.new_version(),
        done,
    )


def _published(storage: Storage) -> dict[str, Mapping[str, Any]]:
    """The published member of each zone that has figures; from the latests where the snapshot is lost or damaged."""
    try:
        before = artefact.load(storage, layout.SNAPSHOT)
        if before is not None:
            return {z: member for z, member in before["zones"].items() if "valid_until" in member}
    except DamagedFile:
        pass  # made anew from the latests
    members: dict[str, Mapping[str, Any]] = {}
    for z in ZONES:
        with logged(layout.latest(z)):
            if (body := artefact.load(storage, layout.latest(z))) is not None:
                members[z] = bodies.member(body)
    return members
