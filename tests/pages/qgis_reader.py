"""Read layers with QGIS and print what it sees as JSON. Tests run this program in the system's Python.

That Python has `qgis.core`. The input is `{"layers": {name: {"uri", "provider", "box", "where"}}}`. If a URI contains
`restrictToRequestBBOX`, the layer is read only by its box.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from qgis.core import (
    QgsApplication,
    QgsFeatureRequest,
    QgsRectangle,
    QgsVectorLayer,
    QgsWkbTypes,
)
from qgis.PyQt.QtCore import QDate, QDateTime


def plain(value: Any) -> Any:
    """Return an attribute as JSON represents it."""
    if isinstance(value, QDateTime):
        return value.toString("yyyy-MM-ddTHH:mm:ss")
    if isinstance(value, QDate):
        return value.toString("yyyy-MM-dd")
    return value if isinstance(value, (str, int, float)) else None


def ids(layer: Any, request: Any) -> list[str]:
    return [feature["id"] for feature in layer.getFeatures(request)]


def seen(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return everything about one layer that the tests compare."""
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
    # The layer's own filter comes last, because it stays set.
    return {**told, "kept": ids(layer, QgsFeatureRequest()) if layer.setSubsetString(wanted["where"]) else None}


def main() -> None:
    wanted = json.loads(sys.stdin.read())
    QgsApplication.setPrefixPath("/usr", True)
    application = QgsApplication([], False)
    application.initQgis()
    layers = {name: seen(layer) for name, layer in wanted["layers"].items()}
    print(json.dumps({"layers": layers}), flush=True)
    os._exit(0)  # QGIS crashes at exit while layers are alive


main()
