"""Downloads the publishers' files into a folder: the only code here that uses the network, run by hand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from geo_data import eia860m
from geo_data.recipe import INPUTS

MOST_BYTES = 200_000_000
TIMEOUT_S = (10, 120)


def addresses(today: date) -> list[str]:
    """Every file that `zones` and `plants` read, of the newest form that is out today."""
    return [*dict.fromkeys(source.url for source in INPUTS.values()), eia860m.address(today)]


def fetch(folder: Path, files: Iterable[str]) -> None:
    """Fetches the files that the folder lacks. Raises requests.RequestException, ValueError for a file too long."""
    for address in files:
        target = folder / address.rsplit("/", 1)[1]
        if not target.exists():
            _one(address, target)


def _one(address: str, target: Path) -> None:
    import requests

    scratch = target.with_suffix(".part")
    with requests.get(address, stream=True, timeout=TIMEOUT_S) as answer, scratch.open("wb") as stream:
        answer.raise_for_status()
        length = 0
        for piece in answer.iter_content(1 << 16):
            length += len(piece)
            if length > MOST_BYTES:
                raise ValueError(f"{address} is longer than {MOST_BYTES} bytes")
            stream.write(piece)
    scratch.replace(target)
