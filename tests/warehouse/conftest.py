"""Shared by the tests of the warehouse: an empty folder, and a log of changes in short segments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warehouse.change_followers import SEGMENT
from warehouse.series import change_log
from warehouse.store.storage import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Without a mode, until something is folded into it."""
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def short_segments() -> Iterator[None]:
    """Segments of eight entries: the log's ends come soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_log, "SEGMENT", SEGMENT)
        yield
