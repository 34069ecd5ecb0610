"""What QGIS reads of layers, as JSON: a program for the system's Python, which has `qgis.core`; tests start it.

Takes `{"layers": {name: {"uri", "provider", "box", "where"}}, "picture": name}` and prints what it saw of each; layers
whose URI has `restrictToRequestBBOX` are read by their box alone.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsFeatureRequest,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsRectangle,
    QgsVectorLayer,
    QgsWkbTypes,
)
from qgis.PyQt.QtCore import QBuffer, QDate, QDateTime, QSize
from qgis.PyQt.QtGui import QColor


def plain(value: Any) -> Any:
    """An attribute as JSON has it."""
    if isinstance(value, QDateTime):
        return value.toString("yyyy-MM-ddTHH:mm:ss")
    if isinstance(value, QDate):
        return value.toString("yyyy-MM-dd")
    return value if isinstance(value, (str, int, float)) else None


def ids(layer: Any, request: Any) -> list[str]:
    return [feature["id"] for feature in layer.getFeatures(request)]


def seen(wanted: dict[str, Any]) -> dict[str, Any]:
    """Everything that the tests compare, of one layer."""
    layer = QgsVectorLayer(wanted["uri"], "layer", wanted["provider"])
    if not layer.isValid():
        return {"valid": False}
    inside = ids(layer, QgsFeatureRequest(QgsRectangle(*wanted["box"])))
    if "restrictToRequestBBOX" in wanted["uri"]:
        return {"valid": True, "inside": inside}
    rows = [{f.name(): plain(feature[f.name()]) for f in layer.fields()} for feature in layer.getFeatures()]
    box = layer.extent()
    told = {
        "valid": True,
        "count": layer.featureCount(),
        "rows": rows,
        "fields": {field.name(): field.typeName() for field in layer.fields()},
        "crs": layer.crs().authid(),
        "extent": [box.xMinimum(), box.yMinimum(), box.xMaximum(), box.yMaximum()],
        "shape": QgsWkbTypes.displayString(layer.wkbType()),
        "inside": inside,
    }
    # The filter of a layer, as its properties take it; the last thing, for it stays.
    return {**told, "kept": ids(layer, QgsFeatureRequest()) if layer.setSubsetString(wanted["where"]) else None}


def picture(wanted: dict[str, Any]) -> dict[str, Any]:
    """A map of the layer's box, 600 by 400 pixels: a PNG in base64, the box, and the painted share of it."""
    layer = QgsVectorLayer(wanted["uri"], "layer", wanted["provider"])
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(layer.crs())
    settings.setExtent(QgsRectangle(*wanted["box"]))
    settings.setOutputSize(QSize(600, 400))
    settings.setBackgroundColor(QColor("white"))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    buffer = QBuffer()
    buffer.open(QBuffer.WriteOnly)
    image = job.renderedImage()
    image.save(buffer, "PNG")
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    white = memoryview(bytes(bits)).cast("I").tolist().count(0xFFFFFFFF)
    drawn = job.mapSettings().visibleExtent()
    return {
        "png": base64.b64encode(bytes(buffer.data())).decode(),
        "box": [drawn.xMinimum(), drawn.yMinimum(), drawn.xMaximum(), drawn.yMaximum()],
        "painted": 1 - white / (image.width() * image.height()),
    }


def main() -> None:
    wanted = json.loads(sys.stdin.read())
    QgsApplication.setPrefixPath("/usr", True)
    application = QgsApplication([], False)
    application.initQgis()
    layers = {name: seen(layer) for name, layer in wanted["layers"].items()}
    drawn = picture(wanted["layers"][wanted["picture"]])
    print(json.dumps({"version": Qgis.QGIS_VERSION, "layers": layers, "picture": drawn}), flush=True)
    os._exit(0)  # QGIS ends with a crash while layers are alive


main()
