"""The recorded transport: answers kept in a folder with a MANIFEST.json, found again by feed, zone and day.

An entry's `file`, `feed`, `zone`, `day` (YYYY, YYYY-MM or YYYY-MM-DD), `request_url` and `http_status` are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply
from assets.sources import feeds
from warehouse.clock import days_of
from warehouse.errors import StorageError
from warehouse.market import Request

_DATED = re.compile(r"\d{6}|\d{4}-\d\d")
"""A parameter that tells a time: the entry's day stands for it, since a recorded week answers for each of its days."""


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
        """An entry as the manifest spells it. Raises StorageError for one without file or feed."""
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
        """The address it was had from, with the file's name as fragment: no two recordings share it."""
        return f"{self.url or 'recorded:'}#{self.file}"

    def answers(self, request: Request) -> bool:
        """Whether it fits a question that is not its own: same feed and day, and no contradiction in zone, path or parameter."""
        return (
            request.feed == self.feed
            and bool(self.day)
            and any(str(day).startswith(self.day or "") for day in request.days)
            and (not self.zone or not request.zone or self.zone == request.zone)
            and _agree(self.url, request)
        )


def recordings(folder: Path) -> list[Recording]:
    """Every entry that belongs to a feed, in the manifest's order. Raises StorageError."""
    try:
        entries = json.loads((folder / "MANIFEST.json").read_bytes())
    except (OSError, ValueError) as error:
        raise StorageError(f"no manifest in {folder.name}: {error}") from None
    return [Recording.from_entry(entry) for entry in entries if entry.get("feed")]


def recorded_requests(folder: Path) -> list[Request]:
    """One question for each recording of a feed that exists; listings of files have no rows of their own."""
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
    """Replies with what the folder holds, else 404; nothing leaves the machine."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._recordings = folder, recordings(folder)
        self._by_address = {recording.address: recording for recording in self._recordings}

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        found = self._by_address.get(request.url) or next((r for r in self._recordings if r.answers(request)), None)
        if found is None:
            return Reply(404, {}, b"")
        return Reply(found.status, {}, (self._folder / found.file).read_bytes())


def _is_listing(file: str) -> bool:
    return re.search(r"(dir|doc)list", file) is not None


def _address(text: str) -> str:
    """The address in a manifest's words: without a leading method and remarks behind it."""
    found = re.search(r"https?://\S+", text)
    return found.group().replace("{", "%7B").replace("}", "%7D") if found else ""


def _agree(url: str, request: Request) -> bool:
    """Whether an address and a question can be the same one: where both name a thing that is no time, they name the same."""
    if not url:
        return True
    here, there = urlsplit(url), urlsplit(request.url)
    if _undated(here.path) != _undated(there.path):
        return False
    asked = dict(parse_qsl(there.query)) | dict(request.params)
    told = dict(parse_qsl(here.query))
    return all(_undated(told[name]) == _undated(asked[name]) for name in told.keys() & asked.keys())


def _undated(text: str) -> str:
    return re.sub(r"\d+", "", text) if _DATED.search(text) else text
