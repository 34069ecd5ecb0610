"""HTML pages: the rendered reference, pages of the folder `docs`, and what each kind of problem means."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from api.endpoints.table import DOC_PAGES, ENDPOINTS
from api.http.problems import KINDS, ProblemKind
from api.openapi import code_samples
from api.openapi.code_samples import example_path
from api.settings import Settings

_FOLDER = Path(__file__).parent
_DOCS = _FOLDER.parents[1] / "docs"
_NEIGHBOUR = re.compile(r"([\w-]+)\.md(#.*)?")
_SCRIPT = (_FOLDER / "docs.js").read_text()
_HASH = b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
PAGE_HEADERS = [
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
    )
]
REFERENCE_HEADERS = [
    (
        "Content-Security-Policy",
        f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
]
"""Its own script, named by hash, and calls of this service, nothing else."""


@cache
def _templates() -> Environment:
    return Environment(loader=FileSystemLoader(_FOLDER), autoescape=True)


def _render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


def reference(settings: Settings, api: dict[str, Any]) -> str:
    """The reference page of an OpenAPI document, one file that works offline."""
    samples = {e.id: code_samples.in_each_language(e, settings.base_url + example_path(e)) for e in ENDPOINTS.values()}
    script = Markup(_SCRIPT)  # noqa: S704 our own file
    return _render("docs.html", api=api, samples=samples, languages=code_samples.LANGUAGES, script=script)


def problem(kind: ProblemKind) -> str:
    """The page of a kind of problem."""
    return _render("problem.html", kind=kind, kinds=KINDS.values())


@cache
def doc_page(page: str) -> str:
    """A page of the folder `docs`. The texts are our own: what HTML is in them may stay."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse((_DOCS / f"{page}.md").read_text())
    for token in tokens:
        if token.children:
            token.children = [*_with_links(token.children)]
    body = markdown.renderer.render(tokens, markdown.options, {})
    return _render("document.html", title=DOC_PAGES[page], body=Markup(body))  # noqa: S704


def _with_links(tokens: Iterable[Token]) -> Iterator[Token]:
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
