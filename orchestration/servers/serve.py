"""Publish the catalogue and then become gunicorn, for `emds serve`, without importing Dagster."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import sys
from pathlib import Path

from msgspec import UNSET

from api.settings import Settings
from orchestration.work.environment import open_context
from warehouse.documents import catalogue
from warehouse.errors import DamagedFile, StorageError
from warehouse.market import clock
from warehouse.store import home

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = "127.0.0.1"
MOST_FILES = 4096
"""A worker opens a file for each connection, 512 at most, and some for documents and databases."""
ENVIRONMENT = {
    # glibc keeps eight arenas per core that never shrink, and raises the threshold for kept memory to 32 MB: one cut
    # geo layer would stay for good. Pieces below half a megabyte are kept: long responses consist of them.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "524288",
    "MALLOC_TRIM_THRESHOLD_": "4194304",
    # Arrow's own allocator keeps what each thread once took.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Each worker is bound to one core: threads of the libraries would take turns there, and OpenBLAS's threads spin.
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""The environment of the API's processes, which libraries read as they load. The image sets the same."""


def check_settings() -> None:
    """Raise MarketError for settings with which the API would not start; gunicorn would show a traceback."""
    Settings.from_environ(os.environ)
    workers = os.environ.get("WEB_CONCURRENCY", "1")
    if not (workers.isascii() and workers.isdigit() and 1 <= int(workers) <= 1000):
        raise StorageError("WEB_CONCURRENCY must be a number of workers from 1 to 1000")


def prepare() -> None:
    """Publish zones, licences and availability, as every start does, also for an empty warehouse.

    The API may run without the publishers' credentials: a source that the pipeline published as configured stays
    configured, and the progress of a current first fill stays published.
    """
    # The server runs in the project's folder, but a relative EMDS_HOME is relative to the current folder.
    home.from_environ(os.environ).settle(os.environ)
    pipeline = open_context(adds_zones=False)
    pipeline.storage.sweep()
    published = None
    with contextlib.suppress(DamagedFile):  # a damaged catalogue is replaced below
        published = catalogue.load(pipeline.storage)
    configured, filling = set(pipeline.configured), published.filling if published else UNSET
    configured |= {code for code, source in published.sources.items() if source.configured} if published else set()
    terms = pipeline.sources, pipeline.mode, pipeline.rights, configured
    catalogue.publish(pipeline.storage, *terms, clock.now(), filling)


def environ(port: int) -> dict[str, str]:
    """Return the environment of the server's process: this process's, completed.

    If no public URL is set, links and offers name this machine.
    """
    return {**ENVIRONMENT, "EMDS_BASE_URL": f"http://127.0.0.1:{port}", **os.environ}


def command(port: int, host: str = LOOPBACK) -> list[str]:
    """Return the server's command line, to be run in ROOT."""
    config = str(ROOT / "api" / "gunicorn.conf.py")
    bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return [sys.executable, "-m", "gunicorn", "--config", config, "--bind", bind, "api.wsgi:app"]


def raise_file_limit() -> None:
    """Raise the limit of open files to the maximum for this process and its children; shells often set 256 or 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def advise_proxy(host: str, port: int) -> None:
    """Advise in one line to put a proxy in front of an API that other machines reach."""
    if host != LOOPBACK:
        sys.stderr.write(
            f"emds: the API listens on {host}:{port}; a public service stands behind nginx or another proxy\n"
        )


def require_free(port: int, option: str = "--port", host: str = "0.0.0.0") -> None:  # noqa: S104  as servers listen
    """Raise StorageError if a port is in use or not allowed for this user; `option` sets another port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):  # the server itself reports a wrong host
                raise StorageError(
                    f"port {port} is already in use ({error.strerror}); choose another port with {option}"
                ) from None


def serve(port: int, host: str = LOOPBACK) -> int:
    """Become the server; return only by an exception. Raises MarketError if it cannot start."""
    check_settings()
    require_free(port)
    prepare()
    raise_file_limit()
    argv = command(port, host)
    advise_proxy(host, port)
    os.chdir(ROOT)
    os.execve(argv[0], argv, environ(port))  # noqa: S606
