"""`emds up` that is killed leaves nothing running, and runs once over a home."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestration.servers import up
from tests.orchestration.test_up_stops import PROGRAM, until_up
from tests.stand_ins.ports import free_port
from tests.stand_ins.receiver import patient

SERVER = """
import http.server, sys
class Reply(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Reply).serve_forever()
"""


def below(pid: int) -> set[int]:
    """The processes that one has started, and those that they have."""
    try:
        tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
        children = {int(child) for task in tasks for child in task.read_text().split()}
    except FileNotFoundError:
        return set()
    return children.union(*map(below, children))


def left(pids: set[int]) -> list[list[str]]:
    """The command lines of those that still run; a zombie has none."""
    running = []
    for pid in pids:
        try:
            running.append(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [argv for argv in running if argv != [""]]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`up` with stand-ins for its servers."""
    ports = str(free_port()), str(free_port())
    argv = [sys.executable, "-u", "-c", PROGRAM, SERVER, *ports, str(tmp_path)]
    environ = {**os.environ, "EMDS_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        argv, cwd=up.ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def second(home: Path) -> subprocess.Popen[str]:
    """A true `emds up` over a home, on ports of its own."""
    ports = ("--port", str(free_port()), "--ui-port", str(free_port()))
    environ = {name: value for name, value in os.environ.items() if name not in ("EMDS_NOW", "EMDS_FEEDS")}
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "orchestration.cli", "up", "--home", str(home), *ports],
        cwd=up.ROOT,
        env={**environ, "DAGSTER_HOME": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_servers_end_with_an_up_that_is_killed(running: subprocess.Popen[str]) -> None:
    until_up(running)
    servers = below(running.pid)
    assert len(servers) == 3
    running.kill()
    assert patient(lambda: left(servers) == []), left(servers)


@pytest.mark.slow
def test_a_first_fill_ends_with_an_up_that_is_killed(tmp_path: Path) -> None:
    with second(tmp_path / "home") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("first start: ")
        assert patient(lambda: len(below(process.pid)) >= 4), "the fill, its workers, and what starts them"
        started = below(process.pid)
        process.kill()
        assert patient(lambda: left(started) == []), left(started)


@pytest.mark.slow
def test_a_second_up_over_a_home_names_the_first_and_does_nothing(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    until_up(running)
    home = tmp_path / "home"
    before = sorted(home.rglob("*"))
    with second(home) as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (1, "")
    assert errors == f"emds: emds up runs over {home} already, process {running.pid}\n"
    assert sorted(home.rglob("*")) == before
    running.send_signal(signal.SIGKILL)
    running.wait(30)
    with up.lock(home):
        pass
