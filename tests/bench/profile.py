"""CPU time of a keyed series call inside the application, by layer: no sockets, no other thread at work.

    python -m tests.bench.profile

Random 24 h windows over one series and over all, windows of 5,000 rows, the first as CSV, Parquet and a tool's answer
over MCP, both in each content coding, and a day of all zones in one call. Time inside compiled functions counts for
the layer that called them. The profiler's own cost, which falls on Python's functions alone, is taken out by scaling
to the time measured without it.
"""

from __future__ import annotations

import cProfile
import io
import json
import os
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from api.http.compression import CODINGS
from orchestration.servers import serve
from tests.bench import mcp
from tests.bench.decade import warehouse
from tests.bench.random_questions import WARM, YEARS, every_series, of_all_zones, questions
from tests.bench.servers import ROOT, keys, ours

LAYERS = (
    ("flask", "Flask and werkzeug"),
    ("werkzeug", "Flask and werkzeug"),
    ("api/access", "gate and accounts"),
    ("api/http", "request, headers and log"),
    ("api/application", "request, headers and log"),
    ("api/endpoints", "request, headers and log"),
    ("api/documents", "plan: which files, which terms"),
    ("api/series", "rows to bytes"),
    ("api/mcp", "MCP: protocol and tool"),
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
    from api.wsgi import app  # reads its settings when it is imported

    return app, [header.partition(": ")[2] for header in keys(home, f"profile{os.getpid()}")]


def by_rest(path: str) -> dict[str, Any]:
    """What a WSGI environ says of a GET."""
    place, _, query = path.partition("?")
    return {"REQUEST_METHOD": "GET", "PATH_INFO": place, "QUERY_STRING": query, "wsgi.input": io.BytesIO()}


def by_mcp(path: str) -> dict[str, Any]:
    """What a WSGI environ says of `get_history`, called for the rows of a path."""
    place, _, query = path.partition("?")
    _, _, metric, zone = place.split("/")
    arguments = {"zone": zone, "metric": metric, **dict(parse_qsl(query))}
    params = {"name": "get_history", "arguments": arguments, "_meta": mcp.META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = mcp.headers_of("get_history")
    return {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mcp",
        "QUERY_STRING": "",
        "CONTENT_TYPE": headers.pop("Content-Type"),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }


class Questions(NamedTuple):
    """What is measured: its name, paths, how many of them a part of it takes, in which coding and way."""

    name: str
    paths: list[str]
    count: int
    coding: str = "identity"
    way: Callable[[str], dict[str, Any]] = by_rest


def ask(app: Any, secrets: Sequence[str], of: Questions, paths: Sequence[str]) -> None:
    """Each path once, with the next key. Raises RuntimeError for an answer that is none."""
    for number, path in enumerate(paths):
        environ = {
            **of.way(path),
            "SCRIPT_NAME": "",
            "SERVER_NAME": "localhost",
            "HTTP_HOST": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_ACCEPT_ENCODING": of.coding,
            "HTTP_AUTHORIZATION": secrets[number % len(secrets)],
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
        }
        stated: list[str] = []
        body = b"".join(app(environ, lambda status, *_, to=stated: to.append(status)))
        if not stated[0].startswith("200") or b'"isError"' in body:
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


def measure(app: Any, secrets: Sequence[str], of: Questions) -> dict[str, float]:
    """Milliseconds of CPU time a call, by layer and as a whole."""
    paths, profiled = of.paths[of.count // 2 : of.count], of.paths[of.count : 2 * of.count]
    ask(app, secrets, of, of.paths[: of.count // 2])
    begun = time.process_time()
    ask(app, secrets, of, paths)
    whole = (time.process_time() - begun) / len(paths) * 1000
    profile = cProfile.Profile(time.process_time)
    profile.runcall(ask, app, secrets, of, profiled)
    seconds = shares(profile)
    return {name: part / seconds.total() * whole for name, part in seconds.most_common()} | {"whole": whole}


def main() -> None:
    """Prints the tables."""
    log = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the access log
    app, secrets = application()
    for each in _questions():
        lines = [f"{part:<34}{ms:8.3f} ms" for part, ms in measure(app, secrets, each).items()]
        os.write(log, "\n".join([each.name, *lines, ""]).encode())


def _questions() -> Iterator[Questions]:
    """What is measured."""
    warm, every = [(WARM[0], WARM[1].value)], every_series()
    long = [pair for pair in every if pair[0].startswith(("US-", "AU-"))]
    for name, days, series, count, form in (
        ("24 h", 1, warm, 3000, ""),
        ("24 h of all series", 1, every, 3000, ""),
        ("5,000 rows", 18, long, 400, ""),
        ("24 h as CSV", 1, warm, 1000, "&format=csv"),
        ("24 h as Parquet", 1, warm, 1000, "&format=parquet"),
    ):
        yield Questions(name, [path + form for path in _plain(days, series, count)], count)
    yield Questions("24 h over MCP", _plain(1, warm, 1000), 1000, way=by_mcp)
    for coding in CODINGS:
        for name, days, series, count in (("24 h", 1, warm, 1000), ("5,000 rows", 18, long, 200)):
            yield Questions(f"{name}, {coding}", _plain(days, series, count), count, coding)
    yield Questions("24 h of all zones in one call", list(of_all_zones(7, YEARS, 600)), 300)


def _plain(days: int, series: Sequence[tuple[str, str]], count: int) -> list[str]:
    """Paths that name no format."""
    return [path for path in questions(7, days, YEARS, series, 3 * count) if "format=" not in path]


if __name__ == "__main__":
    if not serve.ENVIRONMENT.keys() <= os.environ.keys():  # read by the libraries as they load, as in a worker
        os.execve(sys.executable, [sys.executable, "-m", "tests.bench.profile"], serve.ENVIRONMENT | os.environ)
    main()
    sys.stdout.flush()
    os._exit(0)
