"""Return recorded responses from a folder with a MANIFEST.json, found by the addresses of the recordings.

An entry has `file`, `feed`, `zone`, `day` (YYYY, YYYY-MM or YYYY-MM-DD), `request_url` and `http_status`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply
from assets.sources import feeds
from warehouse.errors import NotPublished, StorageError
from warehouse.market.clock import days_of
from warehouse.market.feeds import Request


def recordings(folder: Path) -> list[Mapping[str, Any]]:
    """Return every entry of a feed in the manifest's order. A file may be listed for several. Raises StorageError."""
    return [entry for entry in _entries(folder) if entry.get("feed")]


def _entries(folder: Path) -> list[Mapping[str, Any]]:
    try:
        entries: list[Mapping[str, Any]] = json.loads((folder / "MANIFEST.json").read_bytes())
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read MANIFEST.json in {folder.name}: {error}") from None
    if not isinstance(entries, list) or not all(
        isinstance(e, dict) and isinstance(e.get("file"), str) for e in entries
    ):
        raise StorageError(f"the manifest in {folder.name} is not a list of entries with a `file`")
    return entries


def is_simulated(folder: Path) -> bool:
    """Check whether `folder` has recordings of a simulated publisher (marked by `emds record`). Raises StorageError."""
    return any(entry.get("simulated") for entry in _entries(folder))


def recorded_requests(folder: Path) -> list[Request]:
    """Return one request for each recording of a known feed. Directory listings are of kind "listing"."""
    known = feeds()
    return [
        Request(
            entry["feed"],
            _address(entry),
            days=days_of(entry["day"]) if entry.get("day") else (),
            zone=entry.get("zone"),
            kind="listing" if re.search(r"(dir|doc)list", entry["file"]) else "rows",
            ext=entry["file"].rpartition(".")[2],
        )
        for entry in recordings(folder)
        if entry["feed"] in known
    ]


class Recorded:
    """A transport that replies to `recorded_requests` from the folder. Raises NotPublished for any other request."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder or Path()
        self._by_address = {_address(entry): entry for entry in (recordings(folder) if folder else ())}

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        entry = self._by_address.get(request.url)
        if entry is None:
            raise NotPublished(
                "no recording matches this request; a recorded warehouse can only be filled with `emds replay FOLDER`"
            )
        return Reply(entry.get("http_status") or 200, {}, (self._folder / entry["file"]).read_bytes())


def _address(entry: Mapping[str, Any]) -> str:
    """Return the address in a `request_url` without method and remarks, and with the file as its fragment."""
    match = re.search(r"https?://\S+", entry.get("request_url") or "")
    url = match.group().replace("{", "%7B").replace("}", "%7D") if match else "recorded:"
    return f"{url}#{entry['file']}"
