"""How gunicorn runs the API, with reasons. The address comes with `--bind`; WEB_CONCURRENCY sets the number of workers."""

from __future__ import annotations

import ctypes
import logging
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
from typing import Any

# Each worker counts in files of its own, which /metrics adds up. prometheus_client decides on it as it is loaded.
_own_counts = "PROMETHEUS_MULTIPROC_DIR" not in os.environ
if _own_counts:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="emds-metrics-")

# Arrow's own allocator keeps, for each thread, what it once took; the system's gives it back. Arrow decides on it as it is
# loaded, and what it writes Parquet with cannot be set later.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import pyarrow as pa  # noqa: E402
from gunicorn import util  # noqa: E402
from prometheus_client import multiprocess  # noqa: E402

from api.http import connections  # noqa: E402
from api.http.access_log import ACCESS_LOG  # noqa: E402
from api.http.problems import KINDS, MEDIA, body_of  # noqa: E402
from api.settings import Settings  # noqa: E402

# Threads, so that a slow client or a facilitator that takes its time holds up one thread and not a worker; they are
# started as they are needed. A second worker uses the second core and serves while the first is replaced.
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", min(4, os.cpu_count() or 1)))
threads = 64
worker_connections = 1000
backlog = 2048
# Longer than a browser or a proxy waits between two requests of one page; a stopping worker cuts it to 2 s.
keepalive = 15
# A worker whose main loop says nothing for so long is replaced.
timeout = 60
# On TERM and HUP the requests at work are finished first; a settlement may take 20 s.
graceful_timeout = 30
# `api.http.middleware` refuses above 8000 bytes with a problem; gunicorn's own bound only has to lie above that.
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 16384  # a signed payment in base64 takes 3 kB
# X-Forwarded-* has no say in gunicorn: `api.access.client_address` goes by EMDS_TRUSTED_PROXIES.
forwarded_allow_ips = ""
# Heartbeats go through a file: in memory, since a disk may stall.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
# One line a request is written by `api.http.middleware`; gunicorn's own log goes to standard error.
accesslog = None
errorlog = "-"
# Signals are enough; gunicorn 25 and later would open a control socket in the home folder.
control_socket_disable = True


class _Absent:
    """Says that pandas is not installed: pyarrow loads it where it can, 40 MB for conversions that nobody asks for here."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the API works without pandas", name=name)


sys.meta_path.insert(0, _Absent)  # type: ignore[arg-type]
# glibc gives freed memory back only below a threshold that it raises itself up to 32 MB, and keeps eight arenas a core for
# threads, none of which shrinks: a layer cut once would stay for good.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_libc = ctypes.CDLL(None)
if hasattr(_libc, "mallopt"):
    _libc.mallopt(_M_TRIM_THRESHOLD, 262_144)
    _libc.mallopt(_M_MMAP_THRESHOLD, 65_536)
    _libc.mallopt(_M_ARENA_MAX, 1)
pa.set_cpu_count(1)  # the worker's threads are the requests': Arrow's own would only take the core from them
pa.set_io_thread_count(1)

_SECRET = re.compile(r"emds_[0-9A-Za-z]+|(?i:bearer)\s+\S+|[A-Za-z0-9+/=_-]{80,}|[^\s'\"]+@[^\s'\"]+")
_KINDS = {414: "url-too-long", 431: "headers-too-large", 500: "internal-error"}
_BASE_URL = Settings.from_environ(os.environ).base_url


def when_ready(server: Any) -> None:
    """The listening sockets are there."""
    connections.bound_silence(server.LISTENERS)
    logging.getLogger("gunicorn.error").addFilter(_plain)


def post_worker_init(worker: Any) -> None:
    """A worker is about to serve."""
    connections.watch(worker)
    ACCESS_LOG.start()


def worker_exit(server: Any, worker: Any) -> None:
    """A worker has served its last request."""
    ACCESS_LOG.stop()


def pre_request(worker: Any, req: Any) -> None:
    """A request's head was read."""
    connections.head_read(req)


def child_exit(server: Any, worker: Any) -> None:
    """What a worker counted stays; what it was doing does not."""
    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    """Removes the counts' folder, if it was made here."""
    if _own_counts:
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def _plain(record: logging.LogRecord) -> bool:
    """gunicorn quotes what it cannot read: keys, payments and addresses stay out of the log, as does a slow client's end."""
    if record.exc_info and isinstance(record.exc_info[1], BlockingIOError):
        record.msg, record.args, record.exc_info = "A client was too slow.", (), None
    record.msg, record.args = _SECRET.sub("***", record.getMessage()), ()
    return True


def _write_problem(sock: socket.socket, status: int, reason: str, _message: str) -> None:
    """What gunicorn answers itself, to requests that it cannot read, as a problem instead of a page of HTML."""
    kind = KINDS[_KINDS.get(status, "invalid-request")]
    name = secrets.token_hex(16)
    body = body_of(_BASE_URL, kind, kind.meaning, name, {})
    head = (
        f"HTTP/1.1 {kind.status} {kind.title}\r\nConnection: close\r\nContent-Type: {MEDIA}\r\nContent-Length: {len(body)}\r\n"
        f"Cache-Control: no-store\r\nX-Request-Id: {name}\r\nAccess-Control-Allow-Origin: *\r\n\r\n"
    )
    util.write_nonblock(sock, head.encode("latin-1") + body)


util.write_error = _write_problem
connections.close_aside()
