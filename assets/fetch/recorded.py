"""The recorded transport: answers from a folder with a MANIFEST.json, asked for by the addresses of its recordings.

An entry has `file`, `feed`, `zone`, `day` (YYYY, YYYY-MM or YYYY-MM-DD), `request_url` and `http_status`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply
from assets.sources import feeds
from warehouse.errors import NotPublished, StorageError
from warehouse.market.clock import days_of
from warehouse.market.market import Request


@dataclass(frozen=True, slots=True)
class Recording:
    """One entry of the manifest."""

    file: str
    feed: str
    zone: str | None
    day: str | None
    url: str
    status: int

    @classmethod
    def from_entry(cls, entry: Mapping[str, object]) -> Recording:
        """An entry of the manifest. Raises StorageError without file or feed."""
        file, feed = entry.get("file"), entry.get("feed")
        if not isinstance(file, str) or not isinstance(feed, str):
            raise StorageError("a manifest's entry needs a file and a feed")
        zone, day, status = entry.get("zone"), entry.get("day"), entry.get("http_status")
        return cls(
            file,
            feed,
            zone if isinstance(zone, str) else None,
            day if isinstance(day, str) else None,
            _address(str(entry.get("request_url") or "")),
            status if isinstance(status, int) else 200,
        )

    @property
    def address(self) -> str:
        """The address it came from with the file's name as fragment: unique in the folder."""
        return f"{self.url or 'recorded:'}#{self.file}"


def recordings(folder: Path) -> list[Recording]:
    """Every entry that belongs to a feed, in the manifest's order. Raises StorageError."""
    return [Recording.from_entry(entry) for entry in _entries(folder) if entry.get("feed")]


def _entries(folder: Path) -> list[Mapping[str, object]]:
    try:
        entries = json.loads((folder / "MANIFEST.json").read_bytes())
    except (OSError, ValueError) as error:
        raise StorageError(f"no manifest in {folder.name}: {error}") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StorageError(f"the manifest in {folder.name} is no list of entries")
    return entries


def is_simulated(folder: Path) -> bool:
    """Whether a recording of the folder is of a simulated publisher: `emds record` marks those. Raises StorageError."""
    return any(entry.get("simulated") for entry in _entries(folder))


def recorded_requests(folder: Path) -> list[Request]:
    """One request for each recording of a known feed; directory listings are of kind "listing"."""
    known = feeds()
    return [
        Request(
            r.feed,
            r.address,
            days=days_of(r.day) if r.day else (),
            zone=r.zone,
            kind="listing" if _is_listing(r.file) else "rows",
            ext=r.file.rpartition(".")[2],
        )
        for r in recordings(folder)
        if r.feed in known
    ]


class Recorded:
    """Replies to `recorded_requests` from the folder; uses no network. Raises NotPublished for any other question."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_address = {recording.address: recording for recording in recordings(folder)}

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        recording = self._by_address.get(request.url)
        if recording is None:
            raise NotPublished("no recording answers this")
        return Reply(recording.status, {}, (self._folder / recording.file).read_bytes())


def _is_listing(file: str) -> bool:
    return re.search(r"(dir|doc)list", file) is not None


def _address(text: str) -> str:
    """The address of a `request_url`, without a leading method or trailing remarks."""
    match = re.search(r"https?://\S+", text)
    return match.group().replace("{", "%7B").replace("}", "%7D") if match else ""
