"""A small service behind the gate, for tests and benchmarks. The query sets its answer.

`/v1/latest/GB?rows=0`, `?status=500`, `?raise=1`, `?sleep=0.5`. Served by gunicorn as `tests.stand_ins.shop:served()`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

import orjson
from flask import Flask, request

from api.access.gate import Gate
from api.access.values import Grant
from api.access.x402.resource_server import Spans, X402ResourceServer
from api.http import problem_responses
from api.http.flask_views import answer_failures, request_at_hand
from api.http.guard import guard
from api.http.messages import Response
from api.settings import Settings
from api.views import keys


def shop(gate: Gate) -> Flask:
    """The application over a gate."""
    app = Flask(__name__)
    base_url = gate.settings.base_url
    refuse = partial(problem_responses.refused, base_url)
    answer_failures(app, base_url)
    app.register_blueprint(keys.blueprint(gate))

    @app.get("/v1/latest/<zone>")
    def latest(zone: str) -> Response:
        return guard(gate, request_at_hand(), "latest", partial(_made, zone), refuse)

    @app.get("/v1/price/<zone>")
    def price(zone: str) -> Response:
        return guard(gate, request_at_hand(), "price", partial(_made, zone), refuse)

    @app.get("/v1/zones")
    def zones() -> Response:
        return guard(gate, request_at_hand(), "", partial(_made, "all"), refuse)

    @app.get("/open/<zone>")
    def ungated(zone: str) -> Response:
        return _made(zone, None)[0]

    return app


def _made(zone: str, entry: Grant | None) -> tuple[Response, int]:
    """The answer that the query asks for, and its rows."""
    time.sleep(request.args.get("sleep", 0.0, float))
    if "raise" in request.args:
        raise RuntimeError("the work failed")
    rows = request.args.get("rows", 1, int)
    body = {
        "zone": zone,
        "method": entry.method if entry else "open",
        "rows": rows,
        "made": time.time_ns(),
        "more": "x" * _SIZE,
    }
    tag = ("ETag", '"tag"')
    if request.headers.get("If-None-Match") == tag[1]:
        return Response(304, [tag]), rows
    status = request.args.get("status", 200, int)
    return Response(status, [tag, ("Content-Type", "application/json")], orjson.dumps(body)), rows


_SIZE = 700
"""With the rest, a brief's length."""


def served() -> Flask:
    """The application of the environment: settings, SHOP_MODE, SHOP_LEASE, and SHOP_CLOCK (seconds to shift time)."""
    shift = float(os.environ.get("SHOP_CLOCK", "0"))
    clock: Callable[[], float] = time.time if not shift else lambda: time.time() + shift
    settings = Settings.from_environ(os.environ)
    gate = Gate.open(settings, os.environ.get("SHOP_MODE", "live"), clock)
    gate.x402 = X402ResourceServer(
        settings, gate.accounts.ledger, True, clock, Spans(lease=int(os.environ.get("SHOP_LEASE", "60")))
    )
    return shop(gate)
