"""`emds serve`: publishes the catalogue, then becomes gunicorn. Dagster is not imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestration.resources import open_context
from warehouse import catalogue, clock, home

ROOT = Path(__file__).resolve().parent.parent


def prepare() -> None:
    """Publishes zones, licences and availability, as every start does, also for an empty warehouse."""
    # The server runs in the project's folder, but a relative EMDS_HOME is relative to this one.
    home.of(os.environ).settle(os.environ)
    pipeline = open_context()
    pipeline.storage.sweep()
    catalogue.publish(
        pipeline.storage, pipeline.sources, pipeline.mode, pipeline.rights, pipeline.configured, clock.now()
    )


def command(port: int) -> list[str]:
    """The gunicorn command line; where no public address is set, links and offers name this machine's own."""
    os.environ.setdefault("EMDS_BASE_URL", f"http://127.0.0.1:{port}")
    config = str(ROOT / "api" / "gunicorn.conf.py")
    return [sys.executable, "-m", "gunicorn", "--config", config, "--bind", f"0.0.0.0:{port}", "api.wsgi:app"]


def serve(port: int) -> int:
    """Never returns where it succeeds: the process becomes gunicorn."""
    prepare()
    argv = command(port)
    os.chdir(ROOT)
    os.execv(argv[0], argv)  # noqa: S606
