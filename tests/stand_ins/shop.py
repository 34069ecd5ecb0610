"""Serve a small service behind the gate, for tests and benchmarks.

The query selects the response, as in `/v1/latest/GB?rows=0`, `?status=500`, `?raise=1` or `?sleep=0.5`. gunicorn serves
the application as `tests.stand_ins.shop:served()`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from flask import Flask, request
from flask.globals import request_ctx

from api.access import key_life, sign_up
from api.access.gate import Admission, Gate
from api.access.x402.ledger import Ledger
from api.access.x402.server import PaymentLimits, X402ResourceServer
from api.endpoints.table import ENDPOINTS
from api.http import failures, parameters
from api.http.messages import HttpRequest, Response, View
from api.service import Service
from api.settings import Settings
from warehouse.store.storage import Folder


def shop(gate: Gate) -> Flask:
    """Return the application behind `gate`."""
    app = Flask(__name__)
    settings = gate.settings
    service = Service(settings, Folder(Path(settings.home)), gate, 0.0)
    app.register_error_handler(Exception, lambda error: failures.failed(settings.base_url, error, _request()))
    for name, view in (sign_up.VIEWS | key_life.VIEWS).items():
        app.add_url_rule(ENDPOINTS[name].path, name, _of_keys(service, name, view), methods=[ENDPOINTS[name].method])

    @app.get("/v1/latest/<zone>")
    def latest(zone: str) -> Response:
        return _gated(gate, "latest", zone)

    @app.get("/v1/price/<zone>")
    def price(zone: str) -> Response:
        return _gated(gate, "price", zone)

    @app.get("/v1/zones")
    def zones() -> Response:
        return _gated(gate, "", "all")

    @app.get("/open/<zone>")
    def ungated(zone: str) -> Response:
        return _answer(zone, None)[0]

    return app


def _request() -> HttpRequest:
    return HttpRequest(request_ctx.request.environ)


def _of_keys(service: Service, name: str, view: View) -> Callable[[], Response]:
    own = ENDPOINTS[name].parameters
    return lambda: view(service, _request(), parameters.values(own, _request().args))


def _gated(gate: Gate, price: str, zone: str) -> Response:
    with gate.enter(_request(), price) as entry:
        return entry.settle(*_answer(zone, entry))


def _answer(zone: str, entry: Admission | None) -> tuple[Response, int]:
    """Return the response that the query selects, and its number of rows."""
    time.sleep(request.args.get("sleep", 0.0, float))
    if "raise" in request.args:
        raise RuntimeError("the work failed")
    rows = request.args.get("rows", 1, int)
    body = {
        "zone": zone,
        "method": entry.method if entry else "open",
        "rows": rows,
        "nonce": time.time_ns(),
        "more": "x" * _SIZE,
    }
    tag = ("ETag", '"tag"')
    if request.headers.get("If-None-Match") == tag[1]:
        return Response(304, [tag]), rows
    status = request.args.get("status", 200, int)
    return Response(status, [tag, ("Content-Type", "application/json")], orjson.dumps(body)), rows


_SIZE = 700
"""The padding, in characters, that gives a response the length of a brief."""


def served() -> Flask:
    """Return the application that the environment configures.

    In addition to the settings, it reads SHOP_MODE, SHOP_LEASE, and SHOP_CLOCK (the seconds by which time is shifted).
    """
    shift = float(os.environ.get("SHOP_CLOCK", "0"))
    clock: Callable[[], float] = time.time if not shift else lambda: time.time() + shift
    settings = Settings.from_environ(os.environ)
    gate = Gate(settings, os.environ.get("SHOP_MODE", "live"), clock)
    gate.x402 = X402ResourceServer(
        settings, Ledger(gate.database), True, clock, PaymentLimits(lease=int(os.environ.get("SHOP_LEASE", "60")))
    )
    return shop(gate)
