"""Check the page as files: what `/` sends, how it may be cached, and that nothing in it refers to another host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api.application import create_app
from api.pages import map_page
from api.settings import Settings
from warehouse.market.zones import ZONES

FILES = sorted(path for path in map_page.FOLDER.rglob("*") if path.is_file())
OURS = [path for path in FILES if path.suffix in (".js", ".css", ".html") and not {"leaflet", "uplot"} & {*path.parts}]


def client_of(home: Path, **changes: object) -> FlaskClient:
    return create_app(
        Settings(home=str(home), database_url=f"sqlite:///{home}/accounts.sqlite", **changes)
    ).test_client()


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return client_of(tmp_path)


def links(html: str) -> list[str]:
    return re.findall(r'(?:src|href)="(map/[^"]+)"', html)


def test_the_page_is_one_html_file_without_anything_inline(client: FlaskClient) -> None:
    answer = client.get("/")
    assert answer.content_type == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*(\bsrc=|application/ld\+json))|<style|\sstyle=|\son[a-z]+=", answer.text)
    assert "{files}" not in answer.text


def test_every_file_that_the_page_names_is_there_and_kept_for_good(client: FlaskClient) -> None:
    named = links(client.get("/").text)
    assert len(named) > 10
    for address in named:
        answer = client.get(f"/{address}")
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["Cache-Control"]


def test_browsers_find_an_icon_where_they_look_by_themselves(client: FlaskClient) -> None:
    icon = client.get("/favicon.ico", follow_redirects=True)
    assert (icon.status_code, icon.content_type) == (200, "image/svg+xml")


def test_an_older_address_still_leads_to_a_file_that_nobody_keeps(client: FlaskClient) -> None:
    answer = client.get("/map/000000000000/page.css")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
    missing = client.get("/map/000000000000/none.js")
    assert (missing.status_code, missing.content_type) == (404, "application/problem+json")
    assert client.get("/map/000000000000/../../../settings.py").status_code == 404
    assert client.get("/map/000000000000/index.html").status_code == 404


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_no_file_of_ours_points_to_another_host(path: Path) -> None:
    text = path.read_text()
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) - {"http://www.w3.org"}
    assert not addresses
    assert not re.search(r"\binnerHTML\b|\beval\(|document\.write", text)


def test_libraries_come_with_their_licences() -> None:
    assert (map_page.FOLDER / "leaflet" / "LICENSE").read_text().startswith("BSD 2-Clause License")
    assert "Leaflet 1.9.4" in (map_page.FOLDER / "leaflet" / "leaflet.js").read_text()[:200]
    assert "MIT License" in (map_page.FOLDER / "uplot" / "LICENSE").read_text()
    assert "uPlot (v1.6.32)" in (map_page.FOLDER / "uplot" / "uPlot.iife.min.js").read_text()[:100]


def test_other_pages_may_frame_it_only_where_the_owner_says_so(tmp_path: Path, client: FlaskClient) -> None:
    assert client.get("/?embed").headers["Content-Security-Policy"].split("; ")[-1] == "frame-ancestors 'self'"
    (tmp_path / "open").mkdir()
    opened = client_of(tmp_path / "open", allowed_origins=("https://news.example",))
    policy = opened.get("/?embed").headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'self' https://news.example")
    assert '<body class="embed">' in opened.get("/?embed").text
    assert '<body class="embed">' not in opened.get("/").text


def test_all_zones_stand_in_the_page_before_any_script(client: FlaskClient) -> None:
    rows = re.findall(r"<tr class=\"none\">.*?</tr>", client.get("/").text)
    assert [re.search(r'button">([^<]+)', row)[1] for row in rows] == list(ZONES)
