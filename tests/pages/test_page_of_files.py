"""The map page from the files of `emds publish --to` alone, in Debian's Chromium: a plain file server, and no API."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from api.settings import Settings
from orchestration.static_side.publish import publish_to
from orchestration.static_side.target import open_target
from tests.pages.browser import in_chromium, touch, zone
from tests.pages.conftest import NOW
from warehouse.store.storage import Folder

pytestmark = in_chromium
FOLDER = "projects/emds"
"""The files need not be at the root of their host."""
ASK_ELSEWHERE = """new Promise((resolve) => {
  document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
  fetch('https://example.org').catch(() => null);
})"""
REQUESTED: list[tuple[str, str]] = []
"""The target and the status of each request."""


class PlainFiles(SimpleHTTPRequestHandler):
    """Serves files by name, as the simplest hosts do."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        REQUESTED.append((self.path, str(int(code))))


@pytest.fixture(scope="module")
def address(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("host")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_NOW", NOW)
        settings = Settings(home=str(warehouse), database_url=f"sqlite:///{root}/accounts.sqlite")
        publish_to(open_target(str(root / "published")), Folder(warehouse), settings)
    (root / FOLDER).parent.mkdir(parents=True)
    (root / "published" / "site").rename(root / FOLDER)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(PlainFiles, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def only_files() -> Iterator[None]:
    """Fail a test that requested a file that does not exist, or sent a query."""
    REQUESTED.clear()
    yield
    assert REQUESTED
    assert [(path, status) for path, status in REQUESTED if "?" in path or status not in ("200", "304")] == []


def test_the_page_works_without_an_api(visit: Callable[..., Any]) -> None:
    page = visit(f"/{FOLDER}/", flows=True)
    assert "EUR/MWh, higher than" in zone(page, "FR").get_attribute("aria-label")
    assert page.locator("path.flow").count() > 10
    assert page.inner_text("#freshness-note").startswith("At Fri 20 Nov, 14:10 UTC: ")
    touch(page, "ES")
    page.wait_for_selector("#chart canvas")
    assert "Cheapest 3 hours ahead" in page.inner_text("#window")
    assert page.request.get(page.get_attribute("#panel-rest a", "href")).json()["zone"] == "ES"
    page.locator("#hour").fill("60")
    page.wait_for_selector("#zones-note:has-text('auctions have fixed')", state="attached")  # behind the panel
    page.check("#show-plants")
    page.wait_for_selector("#fuels li")


def test_what_needs_the_api_is_left_out(visit: Callable[..., Any]) -> None:
    page = visit(f"/{FOLDER}/#zone=GB")
    page.wait_for_selector('#panel[aria-busy="false"]')
    text = page.inner_text("body")
    for word in ("API", "key", "Use it in", "exact"):
        assert word not in text, word
    assert page.locator("#sign-up").count() == 0
    for link in page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)"):
        assert page.request.get(link).ok, link
    assert page.evaluate(ASK_ELSEWHERE) == "connect-src"
    visit.faults.clear()  # type: ignore[attr-defined]  # the browser reports the violation on the console


def test_the_frame_is_a_file_too(visit: Callable[..., Any]) -> None:
    page = visit(f"/{FOLDER}/#metric=demand")
    page.click("#share-view")
    frame = page.input_value("#share-frame")
    assert f'/{FOLDER}/embed.html#metric=demand"' in frame
    page = visit(f"/{FOLDER}/embed.html#metric=demand")
    assert not page.is_visible("#zones")
    assert page.get_attribute("#whole-view", "href").endswith(f"/{FOLDER}/#metric=demand")
