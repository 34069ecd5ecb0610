"""Provide the fixtures of the warehouse tests: an empty folder, and a change log with short segments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warehouse.change_followers import SEGMENT
from warehouse.series import change_log
from warehouse.store.storage import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return a folder without a mode; the first fold sets one."""
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def short_segments() -> Iterator[None]:
    """Shorten segments to eight entries, so that tests reach the ends of the log."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_log, "SEGMENT", SEGMENT)
        yield
