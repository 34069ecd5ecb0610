"""Draw the last published map as an image of 1200 x 630 pixels, which pages that link to the service show.

Each zone has the colour of its price's percentile among the zone's own last 30 days, as on the map at `/`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import cos, radians
from typing import TYPE_CHECKING, Any

from warehouse.bookkeeping import logged
from warehouse.market.clock import utc
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

if TYPE_CHECKING:
    from PIL import ImageDraw

SIZE = (1200, 630)
_COLOURS = ((0, "#2c7bb6"), (25, "#abd9e9"), (50, "#ffffbf"), (75, "#fdae61"), (100, "#d7191c"))
"""ColorBrewer RdYlBu by percentile, safe for colour-blind readers, with linear sRGB interpolation between the stops."""
_PAPER, _INK, _NO_FIGURE = "#ffffff", "#1b2430", "#c9d0d8"
_PANELS: Mapping[str, tuple[int, int, int, int]] = {
    "US": (30, 150, 560, 570), "AU": (900, 250, 1170, 570), "": (580, 150, 880, 570),
}  # fmt: skip
"""The position of each country's zones. "" is for Europe, the remaining zones."""
Feature = Mapping[str, Any]


def publish(storage: Storage) -> None:
    """Draw the published map and publish the image. A failure is logged, since no value depends on it."""
    with logged("the picture of the map"):
        live = artefact.load(storage, layout.LIVE)
        if live is not None:
            artefact.put(storage, layout.PICTURE, draw(live), artefact.new_version())


def draw(live: Mapping[str, Any]) -> bytes:
    """Return the PNG of a collection of zones with their newest values (`/v1/geo/live`)."""
    from PIL import Image, ImageDraw, ImageFont  # imported here because the API never draws

    image = Image.new("RGB", SIZE, _PAPER)
    canvas = ImageDraw.Draw(image)
    features: list[Feature] = live["features"]
    for country, panel in _PANELS.items():
        zones = [f for f in features if (f["id"][:2] if f["id"][:2] in _PANELS else "") == country]
        if zones:
            _draw_zones(canvas, zones, panel)
    known = sum(feature["properties"]["price_percentile"] is not None for feature in features)
    mark = "SIMULATED, not market data" if live["simulated"] else "Electricity Market Data Service"
    lines = (
        (36, 44, "Power prices against each zone's own last 30 days"),
        (92, 24, f"{known} of {len(features)} zones, {utc(live['generated']):%Y-%m-%d %H:%M} UTC"),
        (590, 20, f"blue: low   yellow: usual range   red: high   grey: no data   ·   {mark}"),
    )
    for top, size, text in lines:
        canvas.text((30, top), text, fill=_INK, font=ImageFont.load_default(size))
    png = io.BytesIO()
    image.save(png, "PNG", optimize=True)
    return png.getvalue()


def colour_of(percentile: float | None) -> str:
    """Return the colour of a percentile as `#rrggbb`, or grey for None."""
    if percentile is None:
        return _NO_FIGURE
    (low, first), (high, last) = next((a, b) for a, b in pairwise(_COLOURS) if percentile <= b[0])
    part = (percentile - low) / (high - low)
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, last)]
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(*ends, strict=True))


def _draw_zones(canvas: ImageDraw.ImageDraw, zones: Sequence[Feature], panel: tuple[int, int, int, int]) -> None:
    """Draw zones in the middle of a panel, as large as they fit."""
    west, south, east, north = (
        edge(zone["bbox"][side] for zone in zones) for side, edge in enumerate((min, min, max, max))
    )
    narrow = cos(radians((south + north) / 2))
    left, top, right, bottom = panel
    scale = min((right - left) / ((east - west) * narrow), (bottom - top) / (north - south))
    x0 = (left + right - (east - west) * narrow * scale) / 2
    y0 = (top + bottom - (north - south) * scale) / 2
    for zone in zones:
        fill = colour_of(zone["properties"]["price_percentile"])
        for ring in _outer_rings(zone["geometry"]):
            points = [(x0 + (lon - west) * narrow * scale, y0 + (north - lat) * scale) for lon, lat in ring]
            canvas.polygon(points, fill=fill, outline=_PAPER)


def _outer_rings(geometry: Mapping[str, Any]) -> Iterator[Sequence[Sequence[float]]]:
    """Yield the outer ring of each polygon. Inner rings are too small to see at this size."""
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    yield from (polygon[0] for polygon in polygons)
