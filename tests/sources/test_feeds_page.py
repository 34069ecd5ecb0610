"""docs/feeds.md equals the table that the code makes, and every feed has its row."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.documents.feeds_page import feeds_table
from assets.sources import sources

PAGE = Path(__file__).resolve().parents[2] / "docs" / "feeds.md"


@pytest.fixture
def table() -> str:
    return feeds_table(sources().values())


def test_the_page_is_what_the_code_says(table: str) -> None:
    assert PAGE.read_text() == table, "run: .venv/bin/python -m assets.sources table > docs/feeds.md"
