"""States of hosts in a SQLite file, for the processes of one machine: each change one short transaction."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from assets.fetch import host_state
from assets.fetch.rate_limit import Change, changed
from assets.fetch.shared_states import StatesAway

_PATIENCE_S = 2.0
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_T = TypeVar("_T")


class FileStates:
    """The rows of one file; nothing stays open between two changes. `clock`: Unix seconds, of the machine.

    A file that is damaged is removed: what it holds is of the last minutes only, so that nothing is synced either.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock

    def update(self, host: str, change: Change[_T]) -> _T:
        """See StatesPlace."""
        try:
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE_S, isolation_level=None)) as database:
                return self._changed(database, host, change)
        except (sqlite3.Error, OSError) as fault:
            if getattr(fault, "sqlite_errorcode", None) in _DAMAGED:
                for damaged in (self._path, Path(f"{self._path}-journal")):
                    with suppress(OSError):
                        damaged.unlink()
            raise StatesAway(f"{self._path.name}: {fault}") from fault

    def _changed(self, database: sqlite3.Connection, host: str, change: Change[_T]) -> _T:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN IMMEDIATE")
        database.execute("CREATE TABLE IF NOT EXISTS publisher_pace (host TEXT PRIMARY KEY, state TEXT NOT NULL)")
        row = database.execute("SELECT state FROM publisher_pace WHERE host = ?", (host,)).fetchone()
        before = host_state.from_json(row[0] if row else "")
        after, outcome = changed(before, self._clock(), change)
        if after is not before:
            kept = (host, host_state.to_json(after))
            database.execute("INSERT OR REPLACE INTO publisher_pace (host, state) VALUES (?, ?)", kept)
        database.execute("COMMIT")
        return outcome
