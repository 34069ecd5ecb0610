"""Shared by the tests of fetching: the folder of recorded answers beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded answers; tests that need it are skipped where it is missing."""
    shared = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared")
    if not (shared / "recordings" / "MANIFEST.json").exists():
        pytest.skip("no recordings beside the project")
    return shared / "recordings"
