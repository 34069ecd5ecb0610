"""Check that texts for readers and agents, and docstrings, use the field's words and have few long sentences.

`COVERED` is the only list of these texts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from api.http.problems import KINDS
from api.mcp.reading import PROMPTS, RESOURCES
from api.mcp.server import INSTRUCTIONS
from api.mcp.tools import TOOLS
from api.openapi import document as openapi
from api.settings import Settings
from orchestration.cli import emds
from tests.docs.phrases import find_phrases, long_sentences

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("api", "assets", "clients", "geo_data", "orchestration", "warehouse")
Texts = Iterator[tuple[str, str]]
"""Texts with their places."""


def _described(value: Any, place: str) -> Texts:
    """Yield the summaries and descriptions in a JSON value."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("summary", "description") and isinstance(part, str):
                yield place, part
            elif name not in ("example", "examples"):
                yield from _described(part, f"{place}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from _described(part, place)


def _operations() -> Texts:
    return _described(openapi.document(Settings(), {}), "openapi")


def _pages() -> Texts:
    folders = (ROOT, ROOT / "docs", ROOT / "clients" / "python", ROOT / "geo_data")
    for path in sorted(path for folder in folders for path in folder.glob("*.md")):
        yield str(path.relative_to(ROOT)), path.read_text()


def _commands() -> Texts:
    """Yield the help of each command and option of `emds`."""
    todo: list[tuple[str, click.Command]] = [("emds", emds)]
    while todo:
        name, command = todo.pop()
        yield name, command.help or ""
        yield from ((f"{name} {option.name}", getattr(option, "help", None) or "") for option in command.params)
        todo += [(f"{name} {word}", each) for word, each in getattr(command, "commands", {}).items()]


def _docstrings() -> Texts:
    """Yield the docstrings of the source."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Constant)
                    and isinstance(node.value.value, str)
                ):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value.value


def _problems() -> Texts:
    for kind in KINDS.values():
        yield kind.name, f"{kind.title}. {kind.meaning}"


def _tools() -> Texts:
    yield "instructions", INSTRUCTIONS
    for name, tool in TOOLS.items():
        yield name, tool.listed["title"]
        yield from _described(tool.listed, name)
    for uri, (about, _) in RESOURCES.items():
        yield uri, about["description"]
    for name, (title, description, _, words) in PROMPTS.items():
        yield name, f"{title}. {description} {words}"
    yield "answers.txt", re.sub(r"\{[{%#].*?[#%}]\}", " ", (ROOT / "api/mcp/answers.txt").read_text(), flags=re.DOTALL)


def _raised() -> Texts:
    """Yield the texts in the code's `raise` statements."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for statement in ast.walk(ast.parse(path.read_text())):
                if isinstance(statement, ast.Raise) and statement.exc is not None:
                    for node in ast.walk(statement.exc):
                        if isinstance(node, ast.Constant) and isinstance(node.value, str):
                            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


COVERED: Mapping[str, tuple[Callable[[], Texts], int]] = {
    "pages": (_pages, 28),
    "commands": (_commands, 0),
    "openapi": (_operations, 0),
    "problems": (_problems, 0),
    "mcp": (_tools, 0),
    "raised": (_raised, 0),
    "docstrings": (_docstrings, 2),
}
"""The texts that are read, and how many of their sentences have more than 30 words; a new one must replace another."""


@pytest.mark.parametrize("name", COVERED)
def test_texts_use_the_fields_words(name: str) -> None:
    texts, most = COVERED[name]
    read = list(texts())
    assert len(read) > 30, "the texts were found"
    assert [f"{place}: {found}" for place, text in read for found in find_phrases(text)] == []
    long = {sentence: place for place, text in read for sentence in long_sentences(text)}
    assert len(long) <= most, str(long)
