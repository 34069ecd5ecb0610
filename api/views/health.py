"""Whether this process runs and can read its warehouse, and its counts. How fresh figures are, `/v1/status` says."""

from __future__ import annotations

import hmac
from collections.abc import Callable

import orjson
from flask import Response, request

from api.http import metrics
from api.http.access_log import ACCESS_LOG
from api.http.problems import Problem
from api.service import Service

_JSON = "application/json"
_NEVER_KEPT = [("Cache-Control", "no-store")]


def views(service: Service) -> dict[str, Callable[..., Response]]:
    """The views of this file's paths, by operationId."""

    def healthz() -> Response:
        return Response(b'{"status":"ok"}', 200, _NEVER_KEPT, content_type=_JSON)

    def readyz() -> Response:
        catalogue = service.catalogue
        return Response(
            orjson.dumps({"status": "ready", "catalogue": catalogue.generated}), 200, _NEVER_KEPT, content_type=_JSON
        )

    def counts() -> Response:
        token = service.settings.metrics_token
        scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
        if not token or scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), token.encode()):
            raise Problem(
                "invalid-key",
                "The metrics take the bearer token of EMDS_METRICS_TOKEN.",
                headers=[("WWW-Authenticate", "Bearer")],
            )
        ACCESS_LOG.flush()
        return Response(metrics.exposition(), 200, _NEVER_KEPT, content_type="text/plain; version=0.0.4; charset=utf-8")

    return {"healthz": healthz, "readyz": readyz, "metrics": counts}
