"""The geo layers of the project's own tables, made once for all processes of a run: a warehouse that is filled
publishes them, and their making takes longer than all else of a small warehouse.

What is put is what `geo_layers` makes; its own tests look at what was made first, and make a layer anew.
"""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from assets.documents import geo_layers

made_anew = geo_layers.documents
"""The documents of a layer, made when called."""


@contextmanager
def made_once(folder: Path) -> Iterator[None]:
    """Each layer is made when it is first published by any process that was given this folder, and kept there."""
    folder.mkdir(parents=True, exist_ok=True)

    @cache
    def kept(layer: str) -> dict[str, bytes]:
        path = folder / f"{layer}.pickle"
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                scratch = path.with_suffix(".scratch")
                scratch.write_bytes(pickle.dumps(made_anew(layer)))
                scratch.replace(path)
            documents: dict[str, bytes] = pickle.loads(path.read_bytes())
            return documents

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geo_layers, "documents", lambda layer: dict(kept(layer)))
        yield
