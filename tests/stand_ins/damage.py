"""Damage stored files at random.

`harmed` can run in a loop for an hour.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

KEPT = ("series", "history", "raw", "published", "quarantine")
"""The folders whose files contain a checksum or have a checksum as their name."""

Harm = Callable[[Path, random.Random], None]
"""A function that damages one file."""


def kept_files(home: Path) -> list[Path]:
    """Return every file below `home` (EMDS_HOME) that a checksum covers."""
    return sorted(path for folder in KEPT for path in (home / folder).rglob("*") if path.is_file())


def flip(path: Path, chance: random.Random) -> None:
    """Flip one bit of the file."""
    body = bytearray(path.read_bytes())
    body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
    path.write_bytes(body)


def cut(path: Path, chance: random.Random) -> None:
    """Cut off the end of the file."""
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def empty(path: Path, _: random.Random) -> None:
    """Empty the file, as `: > file` does."""
    path.write_bytes(b"")


def zeros(path: Path, chance: random.Random) -> None:
    """Write a block of zeros, as a lost disk sector does. At least one byte changes."""
    body = bytearray(path.read_bytes())
    start = chance.randrange(len(body))
    body[start] ^= 0xFF
    body[start + 1 : start + 512] = bytes(len(body[start + 1 : start + 512]))
    path.write_bytes(body)


def endless_link(path: Path, _: random.Random) -> None:
    """Replace the file by a link to itself, which not even root can read."""
    path.unlink()
    path.symlink_to(path.name)


HARMS: tuple[Harm, ...] = (flip, cut, empty, zeros, endless_link)


def harmed(home: Path, harms: tuple[Harm, ...], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Damage files one after another and restore each afterwards.

    Yield the key of the file and the name of the damage.
    """
    chance = random.Random(seed)
    files = kept_files(home)
    for _ in range(count):
        path, harm = chance.choice(files), chance.choice(harms)
        before, stamp = path.read_bytes(), path.stat().st_mtime_ns
        harm(path, chance)
        if path.is_file() and path.read_bytes() == before:
            continue
        try:
            yield str(path.relative_to(home)), harm.__name__
        finally:
            if path.is_symlink():
                path.unlink()
            path.write_bytes(before)
            os.utime(path, ns=(stamp, stamp))
