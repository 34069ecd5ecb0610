"""Check the repository's pages: generated pages equal the code, links work, and named commands exist."""

from __future__ import annotations

import re
import subprocess
from base64 import b64decode
from pathlib import Path

from api.pages.html import doc_page
from tools.data_page import page
from warehouse.market.metrics import METRICS
from warehouse.market.vocabulary import Metric

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "geo_data").glob("*.md")])
_LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#|/)([^)#\s]+)")
_TARGET = re.compile(r"`make ([a-z]+)")
_PAGE = re.compile(r"(?<![\w/*.-])(?:[\w.-]+/)*([A-Za-z][\w-]*\.md)\b")


def test_the_data_page_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "data.md").read_text() == page(), "python -m tools.data_page > docs/data.md"


def test_every_metric_is_defined() -> None:
    assert set(METRICS) == set(Metric)
    for metric, text in METRICS.items():
        assert all((text.title, text.definition, text.units, text.sign, text.interval)), metric


def test_links_between_pages_lead_to_files() -> None:
    dead = [
        f"{path.relative_to(ROOT)}: {link}"
        for path in PAGES
        for link in _LINK.findall(path.read_text())
        if not (path.parent / link).exists()
    ]
    assert not dead


def test_the_service_shows_the_pictures_of_its_pages() -> None:
    body = doc_page("map", "https://emds.example")
    picture = re.search(r'<img src="data:image/webp;base64,([^"]+)" alt="Arrows', body)
    assert picture is not None
    assert b64decode(picture[1]) == (ROOT / "docs" / "flows.webp").read_bytes()


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wrong = {f"{path.name}: make {name}" for path in PAGES for name in _TARGET.findall(path.read_text())} - {
        f"{path.name}: make {name}" for path in PAGES for name in targets
    }
    assert not wrong


def test_every_file_that_make_check_names_exists() -> None:
    quick = (ROOT / "Makefile").read_text().partition("QUICK :=")[2].partition("))")[0]
    names = re.findall(r"(?!tests/)\b\w+/test_[\w*]+", quick)
    assert len(names) > 20
    assert [name for name in names if not [*(ROOT / "tests").glob(f"{name}.py")]] == []


def test_no_file_cites_a_page_that_is_not_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    known = {Path(name).name for name in listed}
    wrong = []
    for name in listed:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".js", ".mjs", ".html", ".yaml", ".yml"} and path.exists():
            cited = _PAGE.findall(path.read_text())
            wrong += [f"{name} cites {page}" for page in sorted(set(cited)) if page not in known]
    assert not wrong
