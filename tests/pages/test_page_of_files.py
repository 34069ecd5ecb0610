"""Check the map page with only the files of `emds publish --to` and a plain file server, in Debian's Chromium."""

from __future__ import annotations

import json
import re
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
GUIDE = Path(__file__).parents[2] / "docs" / "websites.md"
REQUESTED: list[tuple[str, str]] = []
"""The target and the status of each request."""


class PlainFiles(SimpleHTTPRequestHandler):
    """A server that finds files by name, as the simplest hosts do."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        REQUESTED.append((self.path, str(int(code))))


@pytest.fixture(scope="module")
def host(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root folder of a host, with the published files below it."""
    root = tmp_path_factory.mktemp("host")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_NOW", NOW)
        settings = Settings(home=str(warehouse), database_url=f"sqlite:///{root}/accounts.sqlite")
        publish_to(open_target(str(root / "published")), Folder(warehouse), settings)
    (root / FOLDER).parent.mkdir(parents=True)
    (root / "published" / "site").rename(root / FOLDER)
    return root


@pytest.fixture(scope="module")
def address(host: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(PlainFiles, directory=str(host)))
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
    page.wait_for_selector("#zones-note:has-text('Auction prices')", state="attached")  # behind the panel
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


def test_images_are_among_the_files_and_follow_light_and_dark(visit: Callable[..., Any]) -> None:
    fills = []
    for scheme in ("light", "dark"):
        page = visit(f"/{FOLDER}/embed/ES.svg", ready=False, color_scheme=scheme)
        fills.append(page.evaluate("getComputedStyle(document.querySelector('rect')).fill"))
        assert page.text_content("text.v").endswith("EUR/MWh")
        page = visit(f"/{FOLDER}/badge/GB.carbon.svg", ready=False, color_scheme=scheme)
        assert "gCO₂/kWh" in page.text_content("svg")
    assert fills == ["rgb(255, 255, 255)", "rgb(20, 32, 44)"]


def test_the_lines_of_the_guide_show_the_price(visit: Callable[..., Any], address: str, host: Path) -> None:
    blocks = re.findall(r"```html\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    text = "<!doctype html><meta charset='utf-8'><link rel='icon' href='data:,'>" + "".join(blocks)
    text = text.replace("https://emds.example", f"{address}/{FOLDER}").replace("DE-LU'", "DE-LU.json'")
    (host / "guide.html").write_text(text)
    page = visit("/guide.html", ready=False, before=lambda page: page.clock.set_fixed_time(NOW))
    page.wait_for_selector("#price:has-text('EUR/MWh')")
    shown = zone_properties(host)["DE-LU"]["price"]
    assert page.inner_text("#price") == f"{shown} EUR/MWh"
    assert page.evaluate("document.querySelector('img').naturalWidth") == 480


def zone_properties(host: Path) -> dict[str, Any]:
    live = json.loads((host / FOLDER / "v1/geo/live.geojson").read_bytes())
    return {feature["id"]: feature["properties"] for feature in live["features"]}
