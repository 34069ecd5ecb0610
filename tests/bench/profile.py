"""CPU time of a keyed series call inside the application, by layer: no sockets, no other thread at work.

    python -m tests.bench.profile

Random 24 h windows over one series and over all, windows of 5,000 rows, the first as CSV and Parquet, both in each
content coding, and a day of all zones in one call. Time inside compiled functions counts for the layer that called
them. The profiler's own cost, which falls on Python's functions alone, is taken out by scaling to the time measured
without it.
"""

from __future__ import annotations

import cProfile
import io
import os
import pstats
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from api.http import gunicorn_setup
from api.http.compression import CODINGS
from tests.bench.decade import warehouse
from tests.bench.random_questions import WARM, YEARS, every_series, of_all_zones, questions
from tests.bench.servers import ROOT, keys, ours

LAYERS = (
    ("flask", "Flask and werkzeug"),
    ("werkzeug", "Flask and werkzeug"),
    ("api/access", "gate and accounts"),
    ("api/http", "request, headers and log"),
    ("api/views", "request, headers and log"),
    ("api/exact_paths", "request, headers and log"),
    ("api/endpoints", "request, headers and log"),
    ("api/documents", "plan: which files, which terms"),
    ("api/series", "rows to bytes"),
    ("warehouse", "month files to rows"),
    ("pyarrow", "month files to rows"),
    ("numpy", "month files to rows"),
)
"""By the first part that a function's path holds; the rest is `other`."""


def application() -> tuple[Any, list[str]]:
    """The WSGI application over ten years, and the values of its keys' header."""
    home = warehouse(YEARS)
    _, environ = ours(home, 0)
    os.environ.update(environ)
    gunicorn_setup.return_freed_memory()  # as in a worker: fresh pages from the kernel cost a long answer a sixth
    from api.wsgi import app  # reads its settings when it is imported

    gunicorn_setup.collect_rarely()
    return app, [header.partition(": ")[2] for header in keys(home, f"profile{os.getpid()}")]


def ask(app: Any, secrets: Sequence[str], paths: Sequence[str], coding: str = "identity") -> None:
    """Each path once, with the next key. Raises RuntimeError for an answer that is none."""
    for number, path in enumerate(paths):
        place, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": place,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "HTTP_HOST": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_ACCEPT_ENCODING": coding,
            "HTTP_AUTHORIZATION": secrets[number % len(secrets)],
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": sys.stderr,
        }
        stated: list[str] = []
        body = b"".join(app(environ, lambda status, *_, to=stated: to.append(status)))
        if not stated[0].startswith("200"):
            raise RuntimeError(f"{path}: {stated[0]} {body!r}")


def layer(function: tuple[str, int, str]) -> str | None:
    """The layer of a function of Python's; None for a compiled one."""
    path = function[0]
    if path in ("~", ""):
        return None
    inside = path.removeprefix(f"{ROOT}/") if "site-packages" not in path else path.rpartition("site-packages/")[2]
    return next((name for part, name in LAYERS if inside.startswith(part)), "other")


def shares(profile: cProfile.Profile) -> Counter[str]:
    """Seconds by layer."""
    seconds: Counter[str] = Counter()
    for function, (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        name = layer(function)
        if name is not None:
            seconds[name] += own
            continue
        for caller, (_, _, within, _) in callers.items():
            seconds[layer(caller) or "other"] += within
    return seconds


def measure(
    app: Any, secrets: Sequence[str], paths: Sequence[str], profiled: Sequence[str], coding: str
) -> dict[str, float]:
    """Milliseconds of CPU time a call, by layer and as a whole."""
    begun = time.process_time()
    ask(app, secrets, paths, coding)
    whole = (time.process_time() - begun) / len(paths) * 1000
    profile = cProfile.Profile(time.process_time)
    profile.runcall(ask, app, secrets, profiled, coding)
    seconds = shares(profile)
    return {name: part / seconds.total() * whole for name, part in seconds.most_common()} | {"whole": whole}


def main() -> None:
    """Prints the tables."""
    log = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the access log
    app, secrets = application()
    for name, plain, count, coding in _questions():
        ask(app, secrets, plain[: count // 2], coding)
        made = measure(app, secrets, plain[count // 2 : count], plain[count : 2 * count], coding)
        lines = [f"{part:<34}{ms:8.3f} ms" for part, ms in made.items()]
        os.write(log, "\n".join([name, *lines, ""]).encode())


def _questions() -> Iterator[tuple[str, list[str], int, str]]:
    """What is measured: its name, paths, how many of them a part of it takes, and the content coding."""
    warm, every = [(WARM[0], WARM[1].value)], every_series()
    long = [pair for pair in every if pair[0].startswith(("US-", "AU-"))]
    for name, days, series, count, form in (
        ("24 h", 1, warm, 3000, ""),
        ("24 h of all series", 1, every, 3000, ""),
        ("5,000 rows", 18, long, 400, ""),
        ("24 h as CSV", 1, warm, 1000, "&format=csv"),
        ("24 h as Parquet", 1, warm, 1000, "&format=parquet"),
    ):
        paths = questions(7, days, YEARS, series, 3 * count)
        yield name, [path + form for path in paths if "format=" not in path], count, "identity"
    for coding in CODINGS:
        for name, days, series, count in (("24 h", 1, warm, 1000), ("5,000 rows", 18, long, 200)):
            paths = questions(7, days, YEARS, series, 3 * count)
            yield f"{name}, {coding}", [path for path in paths if "format=" not in path], count, coding
    yield "24 h of all zones in one call", list(of_all_zones(7, YEARS, 600)), 300, "identity"


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
