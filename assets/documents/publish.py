"""The one function that publishes `latest`, `brief` and `snapshot`. What stands in them is `assets.documents.bodies`' business.

Every run of a feed calls it for the zones that it touched, a quarter-hour schedule for all. Publishers may run at once:
a document is put only over an older version, and the snapshot is put together under a lock from what each zone's newest
publisher said. It is put before the latests are, so that a kill in between never leaves it behind one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from assets.documents import bodies
from assets.documents.figures import ZoneFigures, figures
from warehouse import artefact, catalogue, clock
from warehouse.errors import StorageError
from warehouse.storage import Storage
from warehouse.zones import ZONES, zone

SNAPSHOT = "snapshot.json"
_TURN = "snapshot"
"""The lock under which snapshot and latests are put: one publisher at a time."""


@dataclass(slots=True)
class Published:
    """What one call did, by document name."""

    put: list[str] = field(default_factory=list)
    newer: list[str] = field(default_factory=list)
    """Left alone: a publisher that read later was there already."""
    withdrawn: list[str] = field(default_factory=list)
    """Taken away: nothing of the zone may be served any more."""


def publish(storage: Storage, now: int | None = None, zones: Collection[str] | None = None) -> Published:
    """Publishes these zones' documents (all zones' by default) as of `now` (Unix seconds), and the snapshot of all zones.

    A zone without any row has none. Raises UnknownZone, and StorageError where no catalogue was published. By default
    `now` is the version's own instant: of two publishers the newer one never tells of an earlier hour.
    """
    version = artefact.new_version()
    now = clock.now(version) if now is None else now
    wanted = set(ZONES if zones is None else (zone(z).id for z in zones))
    stated = catalogue.load(storage)
    if stated is None:
        raise StorageError("no catalogue is published: every start of emds publishes it first")
    told = figures(storage, stated, [z for z in ZONES if z in wanted], now)
    done = Published()
    latests = {z: None if t.empty else bodies.latest(t, now) for z, t in told.items()}
    with storage.locked([_TURN]):
        _put_snapshot(storage, stated["zones"], latests, now, version, done)
        for z, body in latests.items():
            _put(storage, f"latest/{z}.json", body, version, done)
    for z, t in told.items():
        _put(storage, f"brief/{z}.json", _brief(t, now, stated["mode"]), version, done)
    return done


def _brief(told: ZoneFigures, now: int, mode: str) -> dict[str, Any] | None:
    return None if told.empty else bodies.brief(told, now, simulated=mode == "simulated")


def _put(storage: Storage, name: str, body: Mapping[str, Any] | None, version: int, done: Published) -> None:
    """Puts a document over an older one, or takes the older one away."""
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
    """Under the publishers' lock. Other zones stay as the newest snapshot has them, which is never behind their latest."""
    members = _standing(storage)
    for z, body in latests.items():
        if not artefact.stands(storage, f"latest/{z}.json", version):
            members.pop(z, None)
            if body is not None:
                members[z] = bodies.member(body)
    _put(storage, SNAPSHOT, bodies.snapshot(members, zones, now) if members else None, artefact.new_version(), done)


def _standing(storage: Storage) -> dict[str, Mapping[str, Any]]:
    """What each zone that has figures last said; from the latests where the snapshot was lost."""
    before = artefact.load(storage, SNAPSHOT)
    if before is not None:
        return {z: member for z, member in before["zones"].items() if "valid_until" in member}
    found = {z: artefact.load(storage, f"latest/{z}.json") for z in ZONES}
    return {z: bodies.member(body) for z, body in found.items() if body is not None}
