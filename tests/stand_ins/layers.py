"""The geo layers of the project's own tables, made once a process: a warehouse that is filled publishes them, and their
making takes longer than all else of a small warehouse.

What is put is what `geo_layers` makes; its own tests make it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from assets.documents import geo_layers

made_anew = geo_layers.documents
"""The documents of a layer, made when called."""
_made_once = cache(made_anew)


@contextmanager
def made_once() -> Iterator[None]:
    """Each layer is made when it is first published, and never again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geo_layers, "documents", lambda layer: dict(_made_once(layer)))
        yield
