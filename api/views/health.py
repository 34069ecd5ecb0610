"""Whether this process runs and can read its warehouse, and its counts. How fresh figures are, `/v1/status` says."""

from __future__ import annotations

import hmac

import orjson

from api.http import metrics
from api.http.messages import Request, Response, View
from api.http.problems import Problem
from api.service import Service

_NEVER_KEPT = ("Cache-Control", "no-store")
_JSON = ("Content-Type", "application/json")
_TEXT = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")


def views(service: Service) -> dict[str, View]:
    """The views of this file's paths, by operationId."""

    def healthz(_request: Request) -> Response:
        return Response(200, [_NEVER_KEPT, _JSON], b'{"status":"ok"}')

    def readyz(_request: Request) -> Response:
        catalogue = service.catalogue
        body = orjson.dumps({"status": "ready", "catalogue": catalogue.generated})
        return Response(200, [_NEVER_KEPT, _JSON], body)

    def counts(request: Request) -> Response:
        token = service.settings.metrics_token
        scheme, _, shown = request.header("HTTP_AUTHORIZATION").partition(" ")
        if not token or scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), token.encode()):
            raise Problem(
                "invalid-key",
                "The metrics take the bearer token of EMDS_METRICS_TOKEN.",
                headers=[("WWW-Authenticate", "Bearer")],
            )
        return Response(200, [_NEVER_KEPT, _TEXT], metrics.exposition())

    return {"healthz": healthz, "readyz": readyz, "metrics": counts}
