"""A year of all series behind our worker and behind each peer, asked the same random questions.

Peers are compared with our worker under gunicorn.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

from tests.bench import wrk
from tests.bench.decade import warehouse
from tests.bench.figures import Figure
from tests.bench.peers import prepared
from tests.bench.random_questions import every_series, questions
from tests.bench.servers import fetch, keys, on_core, ours, running
from tests.stand_ins.ports import free_port
from warehouse.market.clock import Window
from warehouse.series import series
from warehouse.store.storage import Folder

SECONDS = 8
LEAST_TO_PEERS = 10.0


def on_one_core() -> list[Figure]:
    """Each server on a core of its own, wrk on another."""
    return _measured("", 1, on_core(0), on_core(1), LEAST_TO_PEERS)


def on_two_cores() -> list[Figure]:
    """Each server with two processes where it can, wrk beside them on the same cores."""
    return _measured("two cores: ", 2, [], [], None)


def _measured(lead: str, processes: int, server_on: list[str], wrk_on: list[str], least: float | None) -> list[Figure]:
    home, port = warehouse(1), free_port()
    base = f"http://127.0.0.1:{port}"
    paths = [path for path in questions(4, 1, 1, every_series()) if "format=" not in path]
    ask = partial(wrk.run, seconds=SECONDS, before=wrk_on)
    figures = []
    for server in ("granian", "gunicorn"):
        command, environ = ours(home, port, processes, server)
        with running([*server_on, *command], environ, f"{base}/readyz"):
            headers = keys(home, f"{server}{os.getpid()}")
            wrk.run(base, headers, paths=paths[::-1])  # by its end every process of a server is there
            mine = ask(base, headers, paths=paths)
        figures.append(Figure(f"{lead}a year, 24 h, ours under {server}", mine))
    for peer in prepared(home, free_port(), processes):
        with running([*server_on, *peer.command], peer.environ, peer.base + peer.path(paths[0]), peer.folder):
            _same(peer.base + peer.path(paths[0]), home, paths[0])
            asked = [peer.path(path) for path in paths]
            wrk.run(peer.base, (), paths=asked[::-1])
            theirs = ask(peer.base, (), paths=asked)
        figures.append(Figure(f"{lead}a year, 24 h, {peer.name}", theirs, mine.rate / theirs.rate, "theirs", least))
    return figures


def _same(url: str, home: Path, path: str) -> None:
    """Raises RuntimeError where the peer gives other rows than the month files hold."""
    _, _, metric, rest = path.split("/")
    zone, _, query = rest.partition("?")
    bounds = dict(part.split("=") for part in query.split("&"))
    table = series.read(Folder(home), zone, metric, Window(int(bounds["start"]), int(bounds["end"])))
    wanted = list(zip(table["ts"].to_pylist(), table["value"].to_pylist(), strict=True))
    document = json.loads(fetch(url)[0])
    rows = [(row["ts"], row["value"]) for row in (document if isinstance(document, list) else document["data"])]
    if rows != wanted:
        raise RuntimeError(f"{url} gives other rows")
