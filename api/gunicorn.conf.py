"""How gunicorn runs the API, with reasons. `--bind` gives the address; WEB_CONCURRENCY sets the number of workers."""

from __future__ import annotations

import logging
import os
import random
import shutil
from typing import Any

from api.http import gunicorn_setup

gunicorn_setup.hold_back_collector()
# These four come before numpy, pyarrow and prometheus_client are imported, which look at the environment only then.
_own_counts = gunicorn_setup.own_counts_folder()
gunicorn_setup.return_freed_memory()
gunicorn_setup.one_math_thread()
gunicorn_setup.leave_pandas_out()

from prometheus_client import multiprocess  # noqa: E402

from api.http import connections, worker_core  # noqa: E402
from api.http.access_log import ACCESS_LOG  # noqa: E402
from api.settings import Settings  # noqa: E402

_settings = Settings.from_environ(os.environ)
gunicorn_setup.one_arrow_thread()
gunicorn_setup.answer_errors_as_problems(_settings.base_url)
gunicorn_setup.send_short_answers_whole()
connections.close_aside()
gunicorn_setup.collect_rarely()

# Threads, so that a slow client or a facilitator that takes its time holds up one thread and not a worker; they are
# started as they are needed. A second worker uses the second core and serves while the first is replaced.
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", min(4, worker_core.usable())))
threads = 64
# Above `connections.MOST_OPEN`, at which a worker answers 503: gunicorn itself would leave clients waiting unanswered.
worker_connections = connections.MOST_OPEN + 500
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


_shared = connections.OpenConnections()
_first_core = random.getrandbits(16)  # services side by side do not all begin with the same core


def when_ready(server: Any) -> None:
    """The listening sockets are open."""
    gunicorn_setup.raise_open_files()
    connections.bound_silence(server.LISTENERS)
    logging.getLogger("gunicorn.error").addFilter(gunicorn_setup.hide_secrets)


def post_fork(server: Any, worker: Any) -> None:
    """A worker is about to load the application."""
    gunicorn_setup.hold_back_collector()


def post_worker_init(worker: Any) -> None:
    """A worker is about to serve."""
    connections.watch(worker)
    overload = gunicorn_setup.raw_problem(_settings.base_url, "overloaded", (("Retry-After", "1"),))
    connections.share_and_shed(worker, _shared, overload, _settings.trusted_proxies)
    worker_core.keep_to_one(_first_core + worker.age, _shared.others(worker.pid))
    ACCESS_LOG.start()
    gunicorn_setup.collect_rarely()


def worker_exit(server: Any, worker: Any) -> None:
    """A worker has served its last request."""
    ACCESS_LOG.stop()


def pre_request(worker: Any, req: Any) -> None:
    """The head of a request has been read."""
    connections.head_read(req)


def child_exit(server: Any, worker: Any) -> None:
    """A worker has ended: its counts stay, its open connections are gone."""
    _shared.leave(worker.pid)
    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    """Removes the folder of counts, if it was made here."""
    if _own_counts:
        shutil.rmtree(_own_counts, ignore_errors=True)
