"""The pages of the folder `docs` that the service shows, by what a reader wants, and the files that go with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "guides"
"""The folder docs of the project: a link in a clone, a copy in a wheel."""
GUIDES: Mapping[str, Mapping[str, str]] = {
    title.strip(): {page: name for name, page in re.findall(r"^- \[(.+?)\]\(([\w-]+)\.md\)", lines, re.MULTILINE)}
    for title, _, lines in (part.partition("\n") for part in (FOLDER / "README.md").read_text().split("\n## ")[1:])
}
"""By heading of the folder's README: its pages with their titles."""
DOC_PAGES: Mapping[str, str] = {page: title for pages in GUIDES.values() for page, title in pages.items()}
"""Every page with its title."""
EXAMPLES: Mapping[str, str] = {
    "evcc.yaml": "evcc",
    "evcc-template.yaml": "evcc",
    "grafana.json": "grafana",
    "home-assistant.yaml": "home-assistant",
    "n8n.json": "pipelines",
}
"""The files of `docs/examples`, each with the page that explains it."""
