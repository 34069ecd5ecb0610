"""A warehouse with publishers' forecasts says of everything else what one without them says.

Three documents tell forecasts too, in members of their own: those alone may differ, and they do.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from assets.documents import geo_layers, publishers
from assets.documents.publish import publish
from tests.api.conftest import NOW, Rig
from warehouse.documents.catalogue import ranks
from warehouse.market.clock import HOUR
from warehouse.market.metrics import Forecast, is_forecast
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.series import fold
from warehouse.store import layout

PATHS = (
    "/v1/status",
    "/v1/latest/GB",
    "/v1/map/snapshot",
    "/v1/brief/GB",
    "/v1/demand/GB?start=2026-03-30T00:00:00Z&end=2026-04-02T00:00:00Z",
    "/v1/demand/GB?start=2026-03-29T00:00:00Z&end=2026-04-02T00:00:00Z&interval=1d",
    "/v1/demand/GB?start=2026-03-29T00:00:00Z&end=2026-04-02T00:00:00Z&stats=true",
    "/v1/demand?zones=all&start=2026-03-30T00:00:00Z&end=2026-04-02T00:00:00Z",
    "/v1/carbon-intensity/GB?start=2026-03-30T00:00:00Z&end=2026-04-02T00:00:00Z",
    "/v1/windows/DE-LU?hours=3",
    "/v1/windows/GB?hours=3",
    "/v1/publishers",
    "/v1/geo/live",
    "/v1/geo/live/hours",
    "/v1/geo/live/GB",
    "/v1/bulk",
    "/v1/changes",
    "/v1/zones",
    "/catalog",
)
MARK = 31_415.0
"""Of every forecast, and of nothing else."""


def publish_all(rig: Rig) -> None:
    rig.publish()
    publish(rig.storage, NOW)
    publishers.publish(rig.storage, rig.sources, (), rig.mode, NOW)
    geo_layers.publish(rig.storage)


def put_forecasts(rig: Rig) -> None:
    """Vintages of three hours, over the last day and the next two."""
    for zone, metric, unit, feed in (
        ("GB", Forecast.DEMAND, "MW", "east.ahead"),
        ("US-NYISO", Forecast.DEMAND, "MW", "east.ahead"),
        ("GB", Forecast.CARBON_INTENSITY, "gCO2/kWh", "east.carbon"),
        ("AU-NSW", Forecast.PRICE, "AUD/MWh", "east.price"),
    ):
        rows = Rows()
        hours = [NOW - NOW % HOUR + i * HOUR for i in range(-24, 48)]
        for back in (26, 4, 0):
            rows.extend_vintage(
                SeriesKey(zone, metric, unit, "1h"), NOW - back * HOUR, "body", hours, [MARK + back] * len(hours)
            )
        fold(rig.storage, feed, rows, {}, ranks(rig.sources, (), rig.mode), NOW - 60, rig.mode)


@pytest.mark.slow
def test_all_documents_and_answers_are_those_of_a_warehouse_without_forecasts(everywhere: Rig) -> None:
    publish_all(everywhere)
    before, documents = answers(everywhere), documents_of(everywhere)
    put_forecasts(everywhere)
    publish_all(everywhere)
    assert answers(everywhere) == before
    assert documents_of(everywhere) == documents
    hours, zone, publishers_read = (
        orjson.loads(everywhere.storage.get(layout.published(key)) or b"")
        for key in ("geo/live/hours.json", "geo/live/GB.json", "publishers.json")
    )
    assert {word for own in hours["zones"].values() for word in own if is_forecast(word)} == {
        "demand_forecast",
        "carbon_intensity_forecast",
    }
    assert zone["metrics"]["demand"]["forecast"]
    assert {(score["zone"], score["feed"]) for score in publishers_read["scores"]} == {
        ("GB", "east.ahead"),
        ("US-NYISO", "east.ahead"),
        ("GB", "east.carbon"),
        ("AU-NSW", "east.price"),
    }


def answers(rig: Rig) -> dict[str, tuple[int, Any]]:
    client = rig.client()
    headers, found = rig.key(client), {}
    for path in PATHS:
        answer = client.get(path, headers={} if path == "/v1/bulk" else headers)  # with a key: addresses of its own
        found[path] = answer.status_code, without_forecasts(path.removeprefix("/v1/"), answer.get_json())
    assert {status for status, _ in found.values()} == {200}, {p: s for p, (s, _) in found.items() if s != 200}
    return found


def documents_of(rig: Rig) -> dict[str, Any]:
    """Every published document, but the manifest, which counts all month files."""
    documents: dict[str, Any] = {}
    for key in rig.storage.keys(layout.published("")):
        body = rig.storage.get(key)
        name = key.removeprefix(layout.published("")).removesuffix(".json")
        if name in ("catalogue", "publishers") or name.startswith("geo/live/"):
            documents[key] = without_forecasts(name, orjson.loads(body or b""))
        elif "manifest" not in key:
            documents[key] = body
    return documents


def without_forecasts(name: str, body: Any) -> Any:
    """An answer or document without what it says of forecasts, and without the document's seal, which covers it."""
    body.pop("emds", None)
    if name == "publishers":
        del body["scores"]
    elif name == "geo/live/hours":
        for zone, own in body["zones"].items():
            body["zones"][zone] = {word: values for word, values in own.items() if not is_forecast(word)}
    elif name.startswith("geo/live/"):
        for metric in body["metrics"].values():
            del metric["forecast"]
    elif "endpoints" in body or "feeds" in body:  # how many forecasts a catalogue lists
        for zone in body["zones"].values():
            del zone["forecasts"]
    return body
