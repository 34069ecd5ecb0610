"""Adapt web servers to this service: count usable cores, keep threads with clients, and send problem documents.

A thread stays with its client for a moment after a response, because a busy client sends its next request at once.
gunicorn returns every connection to its main thread after each response, and another thread takes the next request
from a pipe, a poller and a queue. Under load this is a fifth of the work of a small response.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import secrets
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gunicorn import util

from api.http.problems import MEDIA, Problem

_MOMENT_MS = 5
_SECRET = re.compile(r"emds_[0-9A-Za-z]+|(?i:bearer|basic)\s+\S+|[A-Za-z0-9+/=_-]{80,}|[^\s'\"]+@[^\s'\"]+")
_KIND_OF_STATUS = {414: "url-too-long", 431: "headers-too-large", 500: "internal-error"}


def usable_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many cores this process may use by its cpuset and its container's quota, at least 1.

    `docker run --cpus` and a limit of Kubernetes set the quota: https://docs.kernel.org/admin-guide/cgroup-v2.html.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError, ArithmeticError):  # the file does not exist, or contains "max"
        most, period = quota.read_text().split()
        cores = min(cores, math.ceil(int(most) / int(period)))
    return max(1, cores)


def stay_with_clients(worker: Any) -> None:
    """Make the threads of gunicorn's gthread `worker` stay with their clients while no other client waits."""
    handle, waiting = worker.handle, worker.tpool._work_queue

    def serve(connection: Any) -> Any:
        goes_on = handle(connection)
        while goes_on is True and worker.alive and waiting.empty() and _has_more(connection):
            goes_on = handle(connection)
        return goes_on

    worker.handle = serve


def _has_more(connection: Any) -> bool:
    """Return whether another request, or the connection's end, arrives within a moment."""
    if connection.parser.unreader.buf.getvalue():
        return True  # it arrived with the previous request
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(_MOMENT_MS))


def hide_secrets(record: logging.LogRecord) -> bool:
    """Replace keys, payments and addresses in a record, since gunicorn quotes unreadable input. A log filter."""
    record.msg, record.args = _SECRET.sub("***", record.getMessage()), ()
    return True


def answer_as_problems(base_url: str) -> None:
    """Make gunicorn respond with problem documents instead of HTML pages."""

    def write_error(sock: socket.socket, status: int, reason: str, _message: str) -> None:
        util.write_nonblock(sock, _problem(base_url, _KIND_OF_STATUS.get(status, "invalid-request")))

    write: Callable[..., Any] = write_error
    util.write_error = write


def _problem(base_url: str, kind_name: str) -> bytes:
    """Return a whole HTTP response that closes the connection."""
    problem, request_id = Problem(kind_name), secrets.token_hex(16)
    body = problem.document(base_url, request_id)
    head = (
        f"HTTP/1.1 {problem.kind.status} {problem.kind.title}\r\n"
        "Connection: close\r\n"
        f"Content-Type: {MEDIA}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        f"X-Request-Id: {request_id}\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Access-Control-Allow-Origin: *\r\n\r\n"
    )
    return head.encode("latin-1") + body
