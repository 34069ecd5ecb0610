"""What a backfill set out to do and has done, kept until it has run to its end, so that one killed goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date

import orjson

from orchestration.backfill import Task
from warehouse import layout
from warehouse.storage import Folder


class Checkpoint:
    """A backfill's runs. One that was left behind under the same name is gone on with: its runs take the place of `tasks`."""

    def __init__(self, storage: Folder, tasks: Sequence[Task], name: str = "") -> None:
        """`name`: by default that of these very runs."""
        self._storage, self._key = storage, layout.journal(name or _digest(tasks))
        kept = orjson.loads(storage.get(self._key) or b"null")
        self.tasks = [_task(member) for member in kept["tasks"]] if kept else list(tasks)
        self.done: set[str] = set(kept["done"]) if kept else set()
        self._put()

    @property
    def left(self) -> list[Task]:
        """The runs that have not ended yet."""
        return [task for task in self.tasks if task.name not in self.done]

    def ended(self, task: Task) -> None:
        """Notes a run that came to its end, failed days or not: those are told, and asked for again by `emds gaps --fill`."""
        self.done.add(task.name)
        self._put()

    def close(self) -> None:
        """All has been run."""
        self._storage.delete(self._key)

    def _put(self) -> None:
        self._storage.put(self._key, orjson.dumps({"tasks": self.tasks, "done": sorted(self.done)}))


def left_behind(storage: Folder, name: str) -> bool:
    """Whether a backfill of that name was killed."""
    return storage.stat(layout.journal(name)) is not None


def _digest(tasks: Sequence[Task]) -> str:
    return hashlib.sha256(orjson.dumps(sorted(task.name for task in tasks))).hexdigest()[:16]


def _task(member: dict[str, list[str] | str]) -> Task:
    return Task(str(member["feed"]), tuple(date.fromisoformat(day) for day in member["days"]))
