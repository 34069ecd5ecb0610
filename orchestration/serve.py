"""`emds serve`: publishes the catalogue, then becomes gunicorn. Dagster is not imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from api.settings import Settings
from orchestration import ports
from orchestration.resources import open_context
from warehouse import catalogue, clock, home
from warehouse.errors import StorageError

ROOT = Path(__file__).resolve().parent.parent


def check_settings() -> None:
    """Raises MarketError for settings with which the API would not start: gunicorn tells of them by a traceback."""
    Settings.from_environ(os.environ)
    workers = os.environ.get("WEB_CONCURRENCY", "1")
    if not (workers.isascii() and workers.isdigit() and 1 <= int(workers) <= 1000):
        raise StorageError("WEB_CONCURRENCY is not a number of workers from 1 to 1000")


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
    """Never returns where it succeeds: the process becomes gunicorn. Raises MarketError where it cannot."""
    check_settings()
    ports.require_free(port)
    prepare()
    argv = command(port)
    os.chdir(ROOT)
    os.execv(argv[0], argv)  # noqa: S606
