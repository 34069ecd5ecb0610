"""What `gunicorn.conf.py` changes in its process and in gunicorn where neither has a setting, each with its reason."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import inspect
import logging
import os
import re
import resource
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_OPEN_FILES = 65_536
_SHORT_BYTES = 65_536
"""Longer bodies cost more to copy behind their head than to send by themselves."""
_SECRET = re.compile(r"emds_[0-9A-Za-z]+|(?i:bearer|basic)\s+\S+|[A-Za-z0-9+/=_-]{80,}|[^\s'\"]+@[^\s'\"]+")
_KIND_OF_STATUS = {414: "url-too-long", 431: "headers-too-large", 500: "internal-error"}


@dataclass(frozen=True, slots=True)
class _Gathered:
    """Stands for a socket, and keeps what is sent."""

    parts: list[bytes]

    def sendall(self, part: bytes) -> None:
        self.parts.append(part)


class _WithoutPandas:
    """An import hook that says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the API works without pandas", name=name)


def own_counts_folder() -> str:
    """Makes the folder in which each worker counts, which /metrics adds up; empty where the owner set one.

    prometheus_client looks for it as it is imported: call this before.
    """
    if COUNTS_FOLDER in os.environ:
        return ""
    os.environ[COUNTS_FOLDER] = folder = tempfile.mkdtemp(prefix="emds-metrics-")
    return folder


def return_freed_memory() -> None:
    """Makes the allocators give freed memory back. Call it before pyarrow is imported.

    Arrow's own allocator keeps, for each thread, what it once took, and chooses its pool as it is imported. glibc
    raises the threshold below which it gives memory back up to 32 MB, and keeps eight arenas a core that never
    shrink: a geo layer cut once would stay in memory for good. Below half a megabyte, though, memory is kept for the
    next answer: one of 5,000 rows is made of such pieces, and fresh pages from the kernel cost it a sixth of its time.
    """
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc alone
        libc.mallopt(_M_TRIM_THRESHOLD, 4_194_304)
        libc.mallopt(_M_MMAP_THRESHOLD, 524_288)
        libc.mallopt(_M_ARENA_MAX, 1)


def one_math_thread() -> None:
    """Keeps OpenBLAS from threads of its own. Call it before numpy is imported.

    They wait for each other by spinning: on one core (`api.http.worker_core`) each takes a time slice from the one that
    works, and a product of vectors that takes 0.2 ms takes 8.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def hold_back_collector() -> None:
    """Looks for no cycles while the API loads: what is made then stays, and going through it is a fifth of a start."""
    gc.disable()


def collect_rarely() -> None:
    """Lets the collector of cycles leave alone what stands by now, and look for others seldom.

    Going through a worker's hundred thousand lasting objects holds up all its requests for 0.1 s. A request leaves
    eight small objects in a cycle (werkzeug's matching of paths): a thousand requests' are less than a megabyte. What
    loading left behind in cycles (some 600 small objects) stays.
    """
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


def leave_pandas_out() -> None:
    """Keeps pyarrow from importing pandas, 40 MB a worker for conversions that no answer needs."""
    sys.meta_path.insert(0, _WithoutPandas)


def one_arrow_thread() -> None:
    """Leaves the cores to the requests' own threads."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def raise_open_files() -> int:
    """Raises the limit of open files as far as is allowed; the limit. A worker that meets it would end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def hide_secrets(record: logging.LogRecord) -> bool:
    """A log filter: gunicorn quotes what it cannot read, and keys, payments and addresses must not reach the log."""
    if record.exc_info and isinstance(record.exc_info[1], BlockingIOError):
        record.msg, record.args, record.exc_info = "A client was too slow.", (), None
    record.msg, record.args = _SECRET.sub("***", record.getMessage()), ()
    return True


def raw_problem(base_url: str, kind_name: str, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """A whole HTTP answer with a problem that ends the connection, for requests that never reach the application."""
    from api.http.problem_kinds import KINDS
    from api.http.problems import MEDIA, body_of

    kind, request_id = KINDS[kind_name], secrets.token_hex(16)
    body = body_of(base_url, kind, kind.meaning, request_id, {})
    fields = (
        ("Connection", "close"),
        ("Content-Type", MEDIA),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Request-Id", request_id),
        ("X-Content-Type-Options", "nosniff"),
        ("Access-Control-Allow-Origin", "*"),
        *headers,
    )
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 {kind.status} {kind.title}\r\n{lines}\r\n".encode("latin-1") + body


def answer_errors_as_problems(base_url: str) -> None:
    """Makes gunicorn answer a request that it cannot read with a problem document instead of a page of HTML."""
    from gunicorn import util

    def write_error(sock: socket.socket, status: int, reason: str, _message: str) -> None:
        util.write_nonblock(sock, raw_problem(base_url, _KIND_OF_STATUS.get(status, "invalid-request")))

    write: Callable[..., Any] = write_error
    util.write_error = write


def send_short_answers_whole() -> None:
    """Makes gunicorn send an answer's head together with its body, where that is short.

    It sends them one after the other: a system call, a packet and a wake of the client more, and Python's global lock
    given up once more, for which under load another thread waits. A reload, which calls this again, changes nothing.
    """
    from gunicorn.http import wsgi

    plain: Any = wsgi.Response
    write: Callable[[Any, bytes], None] = inspect.unwrap(plain.write)

    @wraps(write)
    def write_whole(response: Any, body: bytes) -> None:
        if response.headers_sent or type(response) is not plain or len(body) > _SHORT_BYTES:
            write(response, body)
            return
        sock, gathered = response.sock, _Gathered([])
        response.sock = gathered
        try:
            write(response, body)
        finally:
            response.sock = sock
        sock.sendall(b"".join(gathered.parts))

    plain.write = write_whole
