"""Every path of this service in one table, from which routes, checks, OpenAPI, `/catalog` and llms.txt follow."""

from __future__ import annotations

from dataclasses import replace

from api.endpoints.endpoint import Endpoint
from api.endpoints.query_parameters import SAMPLE
from api.endpoints.table import TABLE
from api.geo import parameters as geo

__all__ = ["ENDPOINTS", "Endpoint"]

# Every path takes `sample`, so that a caller may add it to any address, but for files that hold a whole layer.
_WHOLE_FILES = {geo.MEDIA[suffix] for suffix in geo.UNCUT}
ENDPOINTS: dict[str, Endpoint] = {
    endpoint.id: endpoint
    if _WHOLE_FILES.issuperset(endpoint.media)
    else replace(endpoint, parameters={**endpoint.parameters, "sample": SAMPLE})
    for endpoint in TABLE
}
"""By operationId."""
