"""Open pages in Chromium with fresh profiles, and read what the tests of pages need from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""Both have the same engine. The full browser also builds windows, which takes two fifths of these tests' time."""
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

in_chromium = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield a browser for one file. Playwright's event loop keeps running and breaks `asyncio.run` in other files."""
    driver_of = pytest.importorskip("playwright.sync_api").sync_playwright
    with driver_of() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page in a fresh profile.

    Fail if the console had an error or a warning, or if a request went to another host.
    """
    contexts, faults, hosts = [], [], set()

    def open_page(
        path: str = "/",
        flows: bool = False,
        ready: bool = True,
        before: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> Any:
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        if before:
            before(page)
        page.goto(address + path)
        if ready:
            page.wait_for_selector("body[data-ready=true]")
        if flows:
            page.wait_for_selector("body[data-flows=drawn]")
        return page

    open_page.faults = faults
    yield open_page
    during_the_visit = [*faults]  # closing interrupts requests, which the console reports as errors
    for context in contexts:
        context.close()
    assert during_the_visit == [], during_the_visit
    assert hosts == {urlsplit(address).netloc}


def api(address: str, path: str, **headers: str) -> Any:
    return json.loads(urlopen(Request(address + path, headers=headers)).read())


def zone(page: Any, name: str) -> Any:
    """Return the locator of a zone's path."""
    return page.locator(f'path[data-zone="{name}"]')


def touch(page: Any, name: str) -> None:
    """Click a zone, and wait until its panel is filled."""
    zone(page, name).dispatch_event("click")
    page.wait_for_selector('#panel[aria-busy="false"]')


def figure(address: str, name: str, metric: str) -> Any:
    """Return the rounded value of `metric` for the zone `name`, from the API."""
    [feature] = api(address, f"/v1/geo/live?zone={name}")["features"]
    return feature["properties"][metric]
