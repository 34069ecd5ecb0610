"""A page of the folder `docs` as HTML, whose links lead to the pages that this service has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from flask import render_template
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from api.endpoints.table import DOC_PAGES

_DOCS = Path(__file__).parents[2] / "docs"
_NEIGHBOUR = re.compile(r"([\w-]+)\.md(#.*)?")


@cache
def doc_page(page: str) -> str:
    """The texts are our own: what HTML is in them may stay."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse((_DOCS / f"{page}.md").read_text())
    for token in tokens:
        if token.children:
            token.children = [*_linked(token.children)]
    body = markdown.renderer.render(tokens, markdown.options, {})
    return render_template("document.html", title=DOC_PAGES[page], body=Markup(body))  # noqa: S704


def _linked(tokens: Iterable[Token]) -> Iterator[Token]:
    """Links to neighbouring files lead to their pages here; of a file that is no page here the words are left."""
    dropped = False
    for token in tokens:
        if token.type == "link_open":
            neighbour = _NEIGHBOUR.fullmatch(str(token.attrs["href"]))
            dropped = neighbour is not None and neighbour[1] not in DOC_PAGES
            if neighbour is not None:
                token.attrs["href"] = f"/docs/{neighbour[1]}"
        if not (dropped and token.type in ("link_open", "link_close")):
            yield token
