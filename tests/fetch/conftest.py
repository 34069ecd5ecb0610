"""Shared by the tests of fetching: the folder of recorded answers beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded answers: EMDS_RECORDINGS (as `emds record` writes it), else the one beside the project.

    Tests that need it are skipped where it is missing.
    """
    shared = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared")
    folder = Path(os.environ.get("EMDS_RECORDINGS") or shared / "recordings")
    if not (folder / "MANIFEST.json").exists():
        pytest.skip("no recordings beside the project")
    return folder
