"""Every way to end `emds up` leaves no process behind: signals at any moment, a server that ends by itself. Stand-ins for its servers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestration import logs, up
from warehouse.errors import StorageError

pytestmark = pytest.mark.slow

SERVER = """
import http.server, json, subprocess, sys
class Reply(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def do_POST(self):
        self.send_response(201); self.end_headers(); self.wfile.write(json.dumps({"api_key": "emds_test"}).encode())
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Reply)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[2], "w").write(str(child.pid))
server.serve_forever()
"""
"""A server with a child of its own, as gunicorn and Dagster have."""
PROGRAM = """
import sys
from orchestration import serve, up
server, api, ui, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
up._fill = lambda days, recordings: None
serve.command = lambda port: [sys.executable, "-c", server, str(port), f"{folder}/api"]
up._dagster_commands = lambda port, host: {
    "webserver": [sys.executable, "-c", server, str(port), f"{folder}/ui"],
    "daemon": [sys.executable, "-c", "import time; print('the daemon', flush=True); time.sleep(600)"],
}
sys.exit(up.up(api, ui, "127.0.0.1", 1, None))
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`up` on two free ports."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = str(one.getsockname()[1]), str(other.getsockname()[1])
    argv = [sys.executable, "-u", "-c", PROGRAM, SERVER, *ports, str(tmp_path)]
    with subprocess.Popen(argv, cwd=up.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def until_up(process: subprocess.Popen[str]) -> str:
    """What it has printed when all runs."""
    told = ""
    for line in process.stdout or ():
        told += line
        if line.startswith("Dagster:"):
            return told
    raise AssertionError(told + (process.stderr.read() if process.stderr else ""))


def alive(folder: Path, *names: str) -> list[str]:
    """The servers whose own children still run, after a moment."""
    time.sleep(0.1)
    return [name for name in names if _runs(int((folder / name).read_text()))]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything(running: subprocess.Popen[str], tmp_path: Path, number: int) -> None:
    told = until_up(running)
    assert "curl -H 'Authorization: Bearer emds_test'" in told
    assert alive(tmp_path, "api", "ui") == ["api", "ui"]
    running.send_signal(number)
    assert running.wait(30) == 0
    assert alive(tmp_path, "api", "ui") == []


def test_a_signal_before_all_is_up_stops_what_was_started(running: subprocess.Popen[str], tmp_path: Path) -> None:
    ends = time.monotonic() + 30
    while not (tmp_path / "api").exists() or not (tmp_path / "api").read_text():
        assert time.monotonic() < ends
        time.sleep(0.01)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 0
    assert alive(tmp_path, "api") == []


def test_a_server_that_ends_by_itself_takes_the_others_along(running: subprocess.Popen[str], tmp_path: Path) -> None:
    until_up(running)
    child = (tmp_path / "ui").read_text()
    os.kill(int(Path(f"/proc/{child}/stat").read_text().split()[3]), signal.SIGKILL)
    assert running.wait(30) == 1
    assert alive(tmp_path, "api", "ui") == []
    assert "a server ended by itself" in (running.stderr.read() if running.stderr else "")


def test_on_a_terminal_servers_log_to_files_and_the_screen_is_for_people(tmp_path: Path) -> None:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = str(one.getsockname()[1]), str(other.getsockname()[1])
    screen, terminal = os.openpty()
    argv = [sys.executable, "-u", "-c", PROGRAM, SERVER, *ports, str(tmp_path)]
    with subprocess.Popen(
        argv, cwd=up.ROOT, stdout=terminal, stderr=terminal, env={**os.environ, "EMDS_HOME": str(tmp_path)}
    ) as process:
        os.close(terminal)
        try:
            told = ""
            while "stops everything" not in told:
                told += os.read(screen, 1000).decode()
            daemon = tmp_path / "logs" / "daemon.log"
            ends = time.monotonic() + 30
            while daemon.read_text() != "the daemon\n":
                assert time.monotonic() < ends
                time.sleep(0.01)
            assert f"logs:    {tmp_path}/logs" in told
            os.kill(int((tmp_path / "ui").read_text()), 0)
            os.kill(int(Path(f"/proc/{(tmp_path / 'ui').read_text()}/stat").read_text().split()[3]), signal.SIGKILL)
            while "a server ended by itself" not in told:
                told += os.read(screen, 1000).decode()
            assert "the daemon" in told.partition("stops everything")[2], (
                "what the servers said last is told when one ends"
            )
            assert "the daemon" not in told.partition("stops everything")[0]
            assert process.wait(30) == 1
        finally:
            process.terminate()
            os.close(screen)


def test_a_log_stays_within_bounds_while_it_is_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 100)
    kept = logs.Logs(tmp_path / "logs")
    path = kept.of("api")
    assert path
    with path.open("ab", buffering=0) as server:
        server.write(b"a" * 90)
        kept.bound()
        server.write(b"b" * 90)
        kept.bound()
        server.write(b"c")
    assert path.read_bytes() == b"c"
    assert path.with_suffix(".log.1").read_bytes() == b"a" * 90 + b"b" * 90
    assert kept.ends() == f"-- {path}\nc\n"


def test_a_taken_port_is_told_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(StorageError, match="choose another with --port"):
            up._free(taken.getsockname()[1])
