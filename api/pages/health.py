"""Whether this process runs and can read its warehouse, and its counts. How fresh figures are, `/v1/status` says."""

from __future__ import annotations

import hmac
from typing import Any

import orjson

from api.http import metrics
from api.http.messages import Request, Response, View
from api.http.problems import Problem
from api.service import Service

_NO_STORE = ("Cache-Control", "no-store")
_JSON = ("Content-Type", "application/json")
_TEXT = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")


def _healthz(_service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    return Response(200, [_NO_STORE, _JSON], b'{"status":"ok"}')


def _readyz(service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    body = orjson.dumps({"status": "ready", "catalogue": service.catalogue.generated})
    return Response(200, [_NO_STORE, _JSON], body)


def _metrics(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    token = service.settings.metrics_token
    scheme, _, token_sent = request.header("HTTP_AUTHORIZATION").partition(" ")
    if not token or scheme.lower() != "bearer" or not hmac.compare_digest(token_sent.strip().encode(), token.encode()):
        raise Problem(
            "invalid-key",
            "The metrics take the bearer token of EMDS_METRICS_TOKEN.",
            headers=[("WWW-Authenticate", "Bearer")],
        )
    return Response(200, [_NO_STORE, _TEXT], metrics.exposition())


VIEWS: dict[str, View] = {"healthz": _healthz, "readyz": _readyz, "metrics": _metrics}
