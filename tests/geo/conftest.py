"""Provide the folder with the collections behind the tables; skip the test if the folder is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_geo() -> Path:
    folder = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared") / "geo"
    if not folder.is_dir():
        pytest.skip("the source collections are not on this machine")
    return folder
