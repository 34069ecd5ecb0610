"""Serve the yardstick of `tests.bench.random_windows`: a bare Flask route that returns existing bytes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from flask import Flask, Response

app = Flask(__name__)


@cache
def kept(name: str) -> bytes:
    """Return a body, read once."""
    return Path(os.environ["BENCH_BODIES"], name).read_bytes()


@app.get("/<name>")
def body(name: str) -> Response:
    """Return the body `name`; `unchanged` gives a 304."""
    if name == "unchanged":
        return Response(status=304)
    return Response(kept(name), content_type="application/json")
