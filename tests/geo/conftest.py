"""Where the facts that the tables were taken from lie, if they are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_geo() -> Path:
    folder = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared") / "geo"
    if not folder.is_dir():
        pytest.skip("the facts are not at hand")
    return folder
