"""docs/feeds.md equals the table that the code makes, and every feed has its row."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.documents.feeds_page import COLUMNS, feeds_table
from assets.fetch.credentials import names_of
from assets.sources import feeds, sources

PAGE = Path(__file__).resolve().parents[2] / "docs" / "feeds.md"


@pytest.fixture
def table() -> str:
    return feeds_table(sources().values())


def rows(table: str) -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {cells[0].split("`")[1]: cells for cells in lines}


def test_the_page_is_what_the_code_says(table: str) -> None:
    assert PAGE.read_text() == table, "run: .venv/bin/python -m assets.sources table > docs/feeds.md"


def test_every_feed_has_its_row_with_every_cell_filled(table: str) -> None:
    cells_by_feed = rows(table)
    assert list(cells_by_feed) == list(feeds())
    for feed_id, cells in cells_by_feed.items():
        assert len(cells) == len(COLUMNS), feed_id
        assert all(cell.strip() for cell in cells), feed_id


def test_terms_and_keys_are_told(table: str) -> None:
    for source in sources().values():
        for text in (
            source.licence,
            source.attribution,
            f"Redistributable: {source.redistributable}",
            *source.required_env,
        ):
            assert text in table, source.code
    for feed in feeds().values():
        assert all(f"`{name}`" in rows(table)[feed.id][COLUMNS.index("Needs")] for name in names_of(feed.secrets))


def test_the_pages_are_linked() -> None:
    assert "(feeds.md)" in (PAGE.parent / "adding-a-source.md").read_text()
    assert "(adding-a-source.md)" in PAGE.read_text()
