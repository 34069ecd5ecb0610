"""Configure gunicorn. `--bind` gives the address; WEB_CONCURRENCY sets the number of workers."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import shutil
import tempfile
from pathlib import Path
from typing import Any

from api.http import web_server
from api.settings import Settings

# Each worker writes its counts to files in this folder, and /metrics adds them up. prometheus_client reads the
# variable when it is imported, which happens after this line.
if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="emds-metrics-")
web_server.answer_as_problems(Settings.from_environ(os.environ).base_url)

# Workers have threads, so that a slow facilitator blocks one thread instead of a worker; threads start on demand. A
# second worker uses the second core, and serves while the first is replaced.
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", min(4, web_server.usable_cores())))
# A connection takes a descriptor, and a second until its first byte arrives; documents and databases take the rest. If
# the limit of open files is low, further clients wait in the backlog, because a worker without free descriptors exits.
worker_connections = max(4, min(512, (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 56) // 2))
threads = min(64, worker_connections // 2)
backlog = 2048
# This exceeds the time that a browser or proxy waits between two requests of a page. A stopping worker cuts it to 2 s.
keepalive = 15
# A worker whose main loop is silent for this many seconds is replaced.
timeout = 60
# After TERM or HUP, gunicorn finishes the requests in progress first; a settlement may take 20 s.
graceful_timeout = 30
# `api.http.middleware` rejects URLs above 8000 bytes with a problem, so gunicorn's own limit must only be higher.
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 16384  # a signed payment in base64 takes 3 kB
# gunicorn ignores X-Forwarded-*; `api.access.client_address` reads it if EMDS_TRUSTED_PROXIES allows.
forwarded_allow_ips = ""
# Heartbeats use a file in memory, because a disk may stall.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
# `api.http.access_log` logs requests; gunicorn's own log goes to standard error.
accesslog = None
errorlog = "-"
# Signals are enough; gunicorn 25 and later would open a control socket in the home folder.
control_socket_disable = True


def when_ready(server: Any) -> None:
    """Hide secrets in gunicorn's log, and warn if the limit of open files leaves few connections."""
    logging.getLogger("gunicorn.error").addFilter(web_server.hide_secrets)
    if worker_connections < 256:
        server.log.warning("few open files are allowed (ulimit -n): %s connections a worker", worker_connections)


def post_fork(server: Any, worker: Any) -> None:
    """Bind each worker to a core, because threads on several cores wake a core at each release of Python's lock."""
    with contextlib.suppress(AttributeError, OSError):  # only Linux has it, and a sandbox may forbid it
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[worker.age % len(usable)]})


def post_worker_init(worker: Any) -> None:
    """Let a worker's threads stay with busy clients."""
    web_server.stay_with_clients(worker)


def on_exit(server: Any) -> None:
    """Remove the folder of counts if this file created it. gunicorn reads this file again at each reload."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    if folder.name.startswith("emds-metrics-"):
        shutil.rmtree(folder, ignore_errors=True)
