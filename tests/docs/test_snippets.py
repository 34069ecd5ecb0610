"""Check that every command and snippet of README and docs is run by a test, names what exists, or states its needs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from orchestration.cli import emds

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "clients/python/README.md"]
PAGES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
RUN_BY = {
    "README.md": "tests/api/test_readme.py",
    "clients/python/README.md": "tests/api/test_readme.py",
    "docs/api.md": "tests/api/test_code_samples.py",
    "docs/bulk.md": "tests/api/test_bulk_readers.py",
    "docs/changes.md": "tests/api/test_readme.py",
    "docs/corrections.md": "tests/api/test_corrections_page.py",
    "docs/mcp.md": "tests/mcp/test_questions.py",
    "docs/operating.md": "tests/orchestration/test_repair.py",
    "docs/pipelines.md": "tests/api/test_examples.py",
    "docs/sql.md": "tests/assets/test_sql_page.py",
    "docs/webhooks.md": "tests/api/test_readme.py",
}
"""The test that runs the blocks of each page; a block that no test can run states `needs` and the requirement."""
_BLOCK = re.compile(r"^```(sh|console|python|sql|r)( needs .+)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_test_runs_each_block_or_it_says_what_it_needs(page: str) -> None:
    for _, needs, text in _BLOCK.findall((ROOT / page).read_text()):
        if needs or all(line.startswith("$ make ") for line in text.splitlines()):
            continue
        assert page in RUN_BY, f"no test runs this block of {page}:\n{text}"
        assert Path(page).stem in (ROOT / RUN_BY[page]).read_text(), f"{RUN_BY[page]} does not read {page}"


def commands() -> list[tuple[str, list[str]]]:
    """Return every command line of emds and of Python's modules in the pages, in blocks and within sentences."""
    found = []
    for page in PAGES:
        text = re.sub(r"\s*\n\s*(?=\S)", " ", (ROOT / page).read_text())
        lines = re.findall(r"`((?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(?:emds|python -m) [^`]+)`", text)
        for block in _BLOCK.findall((ROOT / page).read_text()):
            lines += re.findall(r"^(?:[A-Z_]+=\S+ )*(?:emds|python -m) .*", block[2], re.MULTILINE)
        for line in lines:
            words = shlex.split(line, comments=True)
            while "=" in words[0]:
                words = words[1:]
            found.append((page, words))
    return found


def test_verbs_options_and_modules_that_pages_name_exist() -> None:
    wrong = []
    for page, words in commands():
        if Path(words[0]).name == "python":
            place = ROOT / words[2].replace(".", "/")
            if words[2].startswith(("tests.", "api.", "assets.", "geo_data.", "tools.")) and not (
                place.with_suffix(".py").exists() or (place / "__main__.py").exists()
            ):
                wrong.append((page, words))
            continue
        verb: click.Command | None = emds
        for word in words[1:]:
            if isinstance(verb, click.Group) and not word.startswith("-"):
                verb = verb.commands.get(word)
                if verb is None:
                    break
        known = {option for param in verb.params for option in param.opts} if verb else set()
        if verb is None or {word.partition("=")[0] for word in words if word.startswith("--")} - known - {
            "--help",
            "--version",
        }:
            wrong.append((page, words))
    assert not wrong
