"""Check MapLibre in Chromium: zones from tiles by range requests, lines and plants from GeoJSON, all with their IDs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from geo_data import table_rows
from tests.pages.browser import ARGUMENTS, CHROMIUM, in_chromium

MODULES = Path(__file__).resolve().parents[1] / "node" / "node_modules"
FILES = {
    name: MODULES / package / "dist" / name
    for package, names in {
        "maplibre-gl": ("maplibre-gl.mjs", "maplibre-gl-shared.mjs", "maplibre-gl-worker.mjs"),
        "pmtiles": ("pmtiles.js",),
    }.items()
    for name in names
}
pytestmark = [
    *in_chromium,
    pytest.mark.skipif(not all(p.is_file() for p in FILES.values()), reason="npm install in tests/node was not run"),
]

PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<div id="map" style="width: 800px; height: 600px"></div>
<script src="pmtiles.js"></script>
<script type="module">
import * as maplibregl from './maplibre-gl.mjs';
maplibregl.setWorkerUrl(new URL('maplibre-gl-worker.mjs', location).href);
maplibregl.addProtocol('pmtiles', new pmtiles.Protocol({metadata: true}).tile);
const url = `pmtiles://${location.origin}/v1/geo/zones.pmtiles?detail=high`;
const points = {type: 'geojson', data: `${location.origin}/v1/geo/plants.geojson`, promoteId: 'id'};
const ties = {type: 'geojson', data: `${location.origin}/v1/geo/interconnectors.geojson`, promoteId: 'id'};
const zones = {id: 'zones', type: 'fill', source: 'zones', 'source-layer': 'zones', paint: {'fill-color': '#48c'}};
const layers = [zones, {id: 'ties', type: 'line', source: 'ties'}, {id: 'points', type: 'circle', source: 'points'}];
const sources = {zones: {type: 'vector', url, promoteId: 'id'}, ties, points};
const view = {container: 'map', center: [3, 50], zoom: 5};
window.map = new maplibregl.Map({...view, style: {version: 8, sources, layers}});
window.map.on('error', (event) => { throw event.error; });
window.map.on('idle', () => { document.body.dataset.idle = 'true'; });
</script>"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield a browser with software WebGL, which the browser of the other tests lacks."""
    driver_of = pytest.importorskip("playwright.sync_api").sync_playwright
    arguments = [argument for argument in ARGUMENTS if argument != "--disable-gpu"]
    software = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with driver_of() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=[*arguments, *software])
        yield opened
        opened.close()


def test_maplibre_draws_the_zones_by_ranges(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 600})
    faults: list[str] = []
    ranges: list[tuple[int, str | None]] = []
    page.on("pageerror", lambda error: faults.append(str(error)))

    def own(route: Any) -> None:
        name = urlsplit(route.request.url).path.rsplit("/", 1)[1]
        media = "text/javascript" if name in FILES else "text/html"
        route.fulfill(body=FILES[name].read_bytes() if name in FILES else PAGE, content_type=media)

    def tiles(response: Any) -> None:
        if "zones.pmtiles" in response.url:
            ranges.append((response.status, response.headers.get("content-encoding")))

    page.route("**/drawn/*", own)
    page.on("response", tiles)
    page.goto(f"{address}/drawn/map.html")
    page.wait_for_selector("body[data-idle=true]", timeout=120_000)
    drawn_at = "place => map.queryRenderedFeatures(map.project(place), {layers: ['zones']})"
    zone_at = f"{drawn_at}.map(f => [f.id, f.properties.currency])"
    assert page.evaluate(zone_at, [2.35, 48.85]) == [["FR", "EUR"]]
    assert page.evaluate(zone_at, [-0.12, 51.5]) == [["GB", "GBP"]]
    assert page.evaluate(zone_at, [3.0, 54.5]) == [], "the North Sea"
    drawn = "layer => [...new Set(map.queryRenderedFeatures({layers: [layer]}).map(f => f.id))]"
    assert "gb-fr-ifa" in page.evaluate(drawn, "ties")
    plants = [p for p in table_rows.plants() if abs(p.lon - 3) < 3 and abs(p.lat - 50) < 2]
    assert {p.id for p in plants} <= set(page.evaluate(drawn, "points"))
    assert ranges
    assert set(ranges) == {(206, None)}
    attribution = page.evaluate("map.getSource('zones').attribution")
    assert attribution.startswith("Boundaries: Natural Earth")
    assert faults == []
    page.close()
