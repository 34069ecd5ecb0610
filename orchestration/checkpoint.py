"""A backfill's plan and progress, kept until it ends, so that a killed backfill resumes where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date

import orjson

from orchestration.backfill import Task
from warehouse import artefact, layout
from warehouse.bookkeeping import logged
from warehouse.storage import Storage


class Checkpoint:
    """A backfill's tasks and which have ended. An unfinished checkpoint of the same name wins over `tasks`."""

    def __init__(self, storage: Storage, tasks: Sequence[Task], name: str = "") -> None:
        """`name`: by default a digest of the tasks."""
        self._storage, self._key = storage, layout.journal(name or _digest(tasks))
        kept = _kept(storage, self._key)
        self.tasks, self.done = kept or (list(tasks), set[str]())
        with logged(f"checkpoint {self._key}"):
            self._put()

    @property
    def left(self) -> list[Task]:
        """The tasks that have not ended."""
        return [task for task in self.tasks if task.name not in self.done]

    def ended(self, task: Task) -> None:
        """Notes that a task ended without a failure: what failed is asked for again by who goes on here."""
        self.done.add(task.name)
        self._put()

    def close(self) -> None:
        """Deletes the checkpoint: every task has ended."""
        self._storage.delete(self._key)

    def _put(self) -> None:
        self._storage.put(self._key, artefact.sealed(orjson.dumps({"tasks": self.tasks, "done": sorted(self.done)})))


def _kept(storage: Storage, key: str) -> tuple[list[Task], set[str]] | None:
    """The tasks and those that ended of a killed backfill.

    None without one, or where its checkpoint does not decode.
    """
    with logged(f"checkpoint {key}"):
        stored = storage.get(key)
        if stored is not None:
            kept = orjson.loads(artefact.unsealed(stored, key))
            return [_task(member) for member in kept["tasks"]], set(kept["done"])
    return None


def unfinished(storage: Storage, name: str) -> bool:
    """Whether a backfill of that name was killed before its end."""
    return storage.stat(layout.journal(name)) is not None


def _digest(tasks: Sequence[Task]) -> str:
    return hashlib.sha256(orjson.dumps(sorted(task.name for task in tasks))).hexdigest()[:16]


def _task(member: dict[str, list[str] | str]) -> Task:
    return Task(str(member["feed"]), tuple(date.fromisoformat(day) for day in member["days"]))
