"""Every path of this service in one table, from which routes, checks, OpenAPI, `/catalog` and llms.txt follow."""

from __future__ import annotations

from dataclasses import replace

from api.endpoints.endpoint import Endpoint
from api.endpoints.market_data import MARKET_DATA
from api.endpoints.ogc_features import OGC_FEATURES
from api.endpoints.query_parameters import SAMPLE
from api.endpoints.service_paths import SERVICE_PATHS
from api.geo import parameters as geo_parameters

__all__ = ["ENDPOINTS", "Endpoint"]

# Every path takes `sample`, so that a caller may add it to any address, but for files that hold a whole layer.
_WHOLE = {geo_parameters.MEDIA[name] for name in geo_parameters.UNCUT}
ENDPOINTS: dict[str, Endpoint] = {
    endpoint.id: endpoint
    if _WHOLE.issuperset(endpoint.media)
    else replace(endpoint, parameters=endpoint.parameters | {"sample": SAMPLE})
    for endpoint in (*MARKET_DATA, *OGC_FEATURES, *SERVICE_PATHS)
}
"""By operationId."""
