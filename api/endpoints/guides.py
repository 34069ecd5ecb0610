"""List the pages of the folder `docs` that the service shows, by topic, and the files that belong to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "guides"
"""The folder docs of the project, which is a link in a clone and a copy in a wheel."""
GUIDES: Mapping[str, Mapping[str, str]] = {
    title.strip(): {page: name for name, page in re.findall(r"^- \[(.+?)\]\(([\w-]+)\.md\)", lines, re.MULTILINE)}
    for title, _, lines in (part.partition("\n") for part in (FOLDER / "README.md").read_text().split("\n## ")[1:])
}
"""The pages and their titles, by heading of the folder's README."""
DOC_PAGES: Mapping[str, str] = {page: title for pages in GUIDES.values() for page, title in pages.items()}
"""The title of every page."""
EXAMPLES: Mapping[str, str] = {
    "evcc.yaml": "evcc",
    "evcc-template.yaml": "evcc",
    "grafana.json": "grafana",
    "home-assistant.yaml": "home-assistant",
    "n8n.json": "pipelines",
}
"""The files of `docs/examples`, each with the page that explains it."""
