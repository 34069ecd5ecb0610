"""Run the API under granian: `python -m api.granian_server HOST PORT`. It needs the extra `granian`."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from granian import Granian
from granian.constants import Interfaces

from api.http.messages import READING
from api.http.web_server import usable_cores

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

THREADS = 64
_READERS = 16
"""granian sets no time limit on a request's body, so slow bodies may hold a quarter of the threads at most."""


def make_app() -> WSGIApplication:
    """Return the application of a worker, which reads few request bodies at once."""
    from api.wsgi import app

    places = threading.BoundedSemaphore(_READERS)

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[READING] = places
        return app(environ, start_response)

    return serve


def main(host: str, port: int) -> None:
    """Serve until a signal. WEB_CONCURRENCY sets the number of workers; see `api/gunicorn.conf.py` for the figures."""
    with tempfile.TemporaryDirectory(prefix="emds-metrics-") as counts:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", counts)
        Granian(
            "api.granian_server:make_app",
            factory=True,
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=int(os.environ.get("WEB_CONCURRENCY", min(4, usable_cores()))),
            blocking_threads=THREADS,
            backlog=2048,
            websockets=False,
            respawn_failed_workers=True,
            workers_kill_timeout=30,
        ).serve()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
