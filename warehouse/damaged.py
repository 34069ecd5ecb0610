"""Damaged files set aside: each is moved below `damaged/`, with a note that names it and says why."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import orjson

from warehouse import changes, layout, untold
from warehouse.errors import DamagedFile
from warehouse.storage import Storage

_LOG = logging.getLogger("emds.warehouse")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged file. `at`: Unix seconds; `settled`: how it was made good, empty while that is still to do."""

    name: str
    key: str
    reason: str
    at: int
    settled: str = ""
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By feed the market days whose rows were lost with it, for as long as they have to be asked for again."""
    beyond: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The same of days that their publisher gives no longer."""
    newest: int = 0
    """When the newest body came that was kept as that was found, Unix seconds."""


def set_aside(storage: Storage, key: str, reason: str) -> Damage:
    """Moves a file to `damaged/<name>/<key>`. The caller holds the file's lock. Raises StorageError."""
    # The note first: a kill in between leaves the file where it is, to be found again.
    damage = note(storage, key, reason)
    served = layout.is_month_file(key) and not layout.of_series(key)[-1]
    noted = served and _note_change(storage, *layout.of_series(key)[:3])
    storage.move(key, layout.damaged(damage.name, key))
    if served:
        untold.tell(storage, *layout.of_series(key)[:3], noted)
    _LOG.error("%s is damaged and was moved to %s: %s", key, layout.damaged(damage.name, key), reason)
    return damage


def note(storage: Storage, key: str, reason: str) -> Damage:
    """Notes what is wrong with a file, and moves nothing: that is all for one that is gone. Raises StorageError."""
    at = datetime.now(UTC)
    damage = Damage(f"{at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", key, reason, int(at.timestamp()))
    storage.put(layout.damage_note(damage.name), orjson.dumps(asdict(damage)))
    return damage


def _note_change(storage: Storage, metric: str, zone: str, month: str) -> bool:
    """Notes for followers that nothing of the month is served for now; whether it is noted."""
    untold.tell(storage, metric, zone, month)
    before = untold.served_bytes(storage, metric, zone, month)
    return untold.note(storage, metric, zone, month, changes.unreadable(metric, zone, month), before)


def settle(storage: Storage, damage: Damage, how: str) -> None:
    """Notes how a damaged file was made good; the file itself stays for whoever wants to look."""
    storage.put(
        layout.damage_note(damage.name),
        orjson.dumps(asdict(damage) | {"settled": how, "missing": {}}),
    )


def await_rows(storage: Storage, damage: Damage, waiting: Damage) -> bool:
    """Notes which market days have to be asked for again before a damaged file is made good; whether that is new."""
    body = orjson.dumps(asdict(waiting))
    if body == orjson.dumps(asdict(damage)):
        return False
    storage.put(layout.damage_note(damage.name), body)
    return True


def pending(storage: Storage) -> list[Damage]:
    """The damaged files that have not been made good, the oldest first. A note that cannot be read is logged."""
    return [damage for damage in listed(storage) if not damage.settled]


def listed(storage: Storage) -> list[Damage]:
    """Every damaged file that was set aside, made good or not, the oldest first.

    A note that cannot be read is logged.
    """
    notes = []
    for key in storage.keys(layout.DAMAGED):
        if layout.is_damage_note(key):
            try:
                notes.append(read(storage, key))
            except DamagedFile as error:
                _LOG.error("%s", error)
    return notes


def read(storage: Storage, key: str) -> Damage:
    """What a note says. Raises DamagedFile."""
    try:
        return Damage(**orjson.loads(storage.get(key) or b""))
    except (orjson.JSONDecodeError, TypeError) as error:
        raise DamagedFile(key, f"does not say what was damaged: {error}") from None
