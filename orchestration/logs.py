"""Where the servers of `emds up` log: files where standard output is a terminal, else standard output itself."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from warehouse import home

MOST_BYTES = 10_000_000
"""A longer log replaces the one before it."""
TAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Logs:
    """A folder of logs, one a server; no folder for standard output."""

    folder: Path | None
    files: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Logs:
        """Logs of the warehouse's own (EMDS_HOME) on a terminal."""
        return cls(home.of(os.environ).local / "logs" if sys.stdout.isatty() else None)

    def of(self, name: str) -> Path | None:
        """The file that a server appends to."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.files.setdefault(name, self.folder / f"{name}.log")

    @property
    def folder_line(self) -> str:
        """Where the logs are, as a line for people; empty without a folder."""
        return f"logs:    {self.folder}\n" if self.folder else ""

    def bound(self) -> None:
        """Copies a log that grew too long aside and empties it: the servers hold their files open, and append."""
        for path in self.files.values():
            if path.exists() and path.stat().st_size > MOST_BYTES:
                shutil.copyfile(path, path.with_suffix(".log.1"))
                os.truncate(path, 0)

    def end(self, name: str) -> str:
        """The last lines of one server's log; empty where it logs elsewhere."""
        path = self.files.get(name)
        return f"-- {path}\n{_tail(path)}\n" if path is not None and path.exists() else ""

    def ends(self) -> str:
        """The last lines of each server's log."""
        return "".join(map(self.end, self.files))


def _tail(path: Path) -> str:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return stream.read().decode(errors="replace").rstrip()
