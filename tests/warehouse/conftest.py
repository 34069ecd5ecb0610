"""Shared by the tests of the warehouse: an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.storage import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Without a mode, until something is folded into it."""
    return Folder(tmp_path)
