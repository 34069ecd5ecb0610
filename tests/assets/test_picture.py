"""Check the image of the map: each zone has the colour of its percentile, and a failed image affects no data."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

from assets.documents import picture
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder


def square(zone: str, lon: float, lat: float, percentile: int | None) -> dict[str, Any]:
    """Return a square zone of ten degrees."""
    ring = [[lon, lat], [lon + 10, lat], [lon + 10, lat + 10], [lon, lat + 10], [lon, lat]]
    return {
        "id": zone,
        "bbox": [lon, lat, lon + 10, lat + 10],
        "properties": {"price_percentile": percentile},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


LIVE = {
    "generated": 1_795_615_800,
    "simulated": True,
    "features": [square("US-CAISO", -120, 35, 0), square("FR", 0, 40, 100), square("AU-SA", 135, -35, None)],
}


def test_each_panel_shows_its_zone_in_its_colour() -> None:
    image = Image.open(io.BytesIO(picture.draw(LIVE)))
    assert (image.format, image.size) == ("PNG", picture.SIZE)
    middles = [((left + right) // 2, (top + bottom) // 2) for left, top, right, bottom in picture._PANELS.values()]
    colours = ["#" + bytes(image.getpixel(middle)).hex() for middle in middles]  # type: ignore[arg-type]
    assert colours == [picture.colour_of(0), picture.colour_of(None), picture.colour_of(100)]


def test_colours_run_from_blue_by_yellow_to_red() -> None:
    assert [picture.colour_of(at) for at in (0, 25, 50, 75, 100)] == [
        "#2c7bb6", "#abd9e9", "#ffffbf", "#fdae61", "#d7191c",
    ]  # fmt: skip
    assert picture.colour_of(62.5) == "#fed690"


def test_a_map_that_cannot_be_drawn_costs_the_picture_alone(tmp_path: Any) -> None:
    storage = Folder(tmp_path)
    picture.publish(storage)
    assert artefact.get(storage, layout.PICTURE) is None
    artefact.put(storage, layout.LIVE, artefact.encode({"features": [{"id": "FR"}]}), artefact.new_version())
    picture.publish(storage)
    assert artefact.get(storage, layout.PICTURE) is None
    artefact.put(storage, layout.LIVE, artefact.encode(LIVE), artefact.new_version())
    picture.publish(storage)
    drawn = artefact.get(storage, layout.PICTURE)
    assert drawn is not None
    assert drawn.body == picture.draw(LIVE)
