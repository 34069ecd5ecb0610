"""What this service is, in the words of pages and as a Dataset of schema.org, by which search engines find data."""

from __future__ import annotations

from typing import Any

from api.settings import Settings
from warehouse.market.metrics import METRICS, PUBLIC
from warehouse.market.zones import ZONES

TITLE = "Electricity Market Data Service"
ABOUT = (
    f"Real-time and historical electricity market data for {len(ZONES)} grid zones in the US, Great Britain, Australia "
    "and continental Europe: price, demand, cross-border flow, generation mix, carbon intensity, installed capacity, "
    "and a brief that ranks the present against each zone's last 30 days."
)


def dataset(settings: Settings) -> dict[str, Any]:
    """Return the JSON-LD of the service as a Dataset. Licences differ by zone: the catalogue holds each."""
    base = settings.base_url
    files = {
        "application/json": "/v1/price/GB?sample=true",
        "text/csv": "/v1/price/GB?sample=true&format=csv",
        "application/vnd.apache.parquet": "/v1/price/GB?sample=true&format=parquet",
    }
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "@id": f"{base}/#dataset",
        "name": TITLE,
        "description": ABOUT,
        "url": f"{base}/",
        "license": f"{base}/catalog",
        "creator": {"@type": "Organization", "name": TITLE, "url": f"{base}/"},
        "isAccessibleForFree": True,
        "keywords": ["electricity", "power market", *(METRICS[metric].title for metric in PUBLIC)],
        "variableMeasured": [
            {"@type": "PropertyValue", "name": METRICS[metric].title, "unitText": METRICS[metric].units}
            for metric in PUBLIC
        ],
        "spatialCoverage": [zone.name for zone in ZONES.values()],
        "includedInDataCatalog": {"@type": "DataCatalog", "name": "Catalogue", "url": f"{base}/catalog"},
        "distribution": [
            {"@type": "DataDownload", "encodingFormat": media, "contentUrl": f"{base}{path}"}
            for media, path in files.items()
        ],
    }
