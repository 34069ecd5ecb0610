"""Download a publisher's file into a folder: the only code here that uses the network, run manually."""

from __future__ import annotations

from pathlib import Path

MOST_BYTES = 200_000_000
TIMEOUT_S = (10, 120)


def fetch(folder: Path, address: str) -> None:
    """Fetch a file that the folder lacks. Raises requests.RequestException, or ValueError if it is too long."""
    target = folder / address.rsplit("/", 1)[1]
    if target.exists():
        return
    import requests

    scratch = target.with_suffix(".part")
    with requests.get(address, stream=True, timeout=TIMEOUT_S) as answer, scratch.open("wb") as stream:
        answer.raise_for_status()
        length = 0
        for piece in answer.iter_content(1 << 16):
            length += len(piece)
            if length > MOST_BYTES:
                raise ValueError(f"{address} is larger than {MOST_BYTES} bytes")
            stream.write(piece)
    scratch.replace(target)
