"""Run the API under granian: `python -m api.granian_server HOST PORT`. It needs the extra `granian`."""

from __future__ import annotations

import os
import sys
import tempfile

from granian import Granian
from granian.constants import Interfaces

from api.http.web_server import usable_cores


def main(host: str, port: int) -> None:
    """Serve until a signal. WEB_CONCURRENCY sets the number of workers; see `api/gunicorn.conf.py` for the figures."""
    with tempfile.TemporaryDirectory(prefix="emds-metrics-") as counts:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", counts)
        Granian(
            "api.wsgi:app",
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=int(os.environ.get("WEB_CONCURRENCY", min(4, usable_cores()))),
            blocking_threads=64,
            backlog=2048,
            websockets=False,
            respawn_failed_workers=True,
            workers_kill_timeout=30,
        ).serve()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
