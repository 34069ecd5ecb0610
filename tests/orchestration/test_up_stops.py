"""Check that `emds up` leaves no process behind, however it ends, and ends with the first server that ends.

The servers are stand-ins. Only one `emds up` runs over a home.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestration.servers import up
from tests.stand_ins.ports import free_port
from tests.stand_ins.processes import children, descendants, runs
from tests.stand_ins.receiver import patient

pytestmark = pytest.mark.slow

SERVER = """
import http.server, subprocess, sys
class Reply(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *args): pass
print("its last line", flush=True)
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Reply)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[2], "w").write(str(child.pid))
server.serve_forever()
"""
"""A server with a child process, as gunicorn and Dagster have."""
PROGRAM = """
import sys
from orchestration import cli
from orchestration.servers import serve, up
server, api, ui, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
up.fill_command = lambda days, recordings: [sys.executable, "-c", ""]
serve.command = lambda port, host: [sys.executable, "-c", server, str(port), f"{folder}/api"]
up.dagster_commands = lambda code, port: {
    "webserver": [sys.executable, "-c", server, str(port), f"{folder}/ui"],
    "daemon": [sys.executable, "-c", "import time; print('the daemon', flush=True); time.sleep(600)"],
}
sys.exit(cli.main(["up", "--port", str(api), "--ui-port", str(ui)]))
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield `up` on two free ports."""
    ports = str(free_port()), str(free_port())
    argv = [sys.executable, "-u", "-c", PROGRAM, SERVER, *ports, str(tmp_path)]
    environ = {**os.environ, "EMDS_HOME": str(tmp_path)}
    with subprocess.Popen(
        argv, cwd=up.ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def until_up(process: subprocess.Popen[str]) -> str:
    """Return the output up to the time when everything runs."""
    output = ""
    for line in process.stdout or ():
        output += line
        if line.startswith("Dagster:"):
            return output
    raise AssertionError(output + (process.stderr.read() if process.stderr else ""))


def alive(folder: Path, *names: str) -> list[str]:
    """Return the servers whose own children still run."""
    return [name for name in names if runs(int((folder / name).read_text()))]


def all_end(folder: Path, *names: str) -> bool:
    """Return whether the servers' own children end; the kernel may take a moment for each."""
    return patient(lambda: alive(folder, *names) == [])


def test_a_signal_stops_everything(running: subprocess.Popen[str], tmp_path: Path) -> None:
    output = until_up(running)
    assert "/v1/brief/GB?sample=true'" in output
    assert alive(tmp_path, "api", "ui") == ["api", "ui"]
    running.send_signal(signal.SIGTERM)
    assert running.stdout is not None
    assert running.stdout.readline() == "stopping\n"
    assert running.poll() is None, "it says so before the servers have ended"
    assert running.wait(30) == 0
    assert all_end(tmp_path, "api", "ui")


def test_a_signal_before_all_is_up_stops_what_was_started(running: subprocess.Popen[str], tmp_path: Path) -> None:
    ends = time.monotonic() + 30
    while not (tmp_path / "api").exists() or not (tmp_path / "api").read_text():
        assert time.monotonic() < ends
        time.sleep(0.01)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 0
    assert all_end(tmp_path, "api")


def test_a_signal_that_comes_while_a_process_is_forked_is_not_lost(tmp_path: Path) -> None:
    hook = "import os, signal\nos.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
    argv = [sys.executable, "-c", hook + PROGRAM, SERVER, str(free_port()), str(free_port()), str(tmp_path)]
    done = subprocess.run(argv, cwd=up.ROOT, env={**os.environ, "EMDS_HOME": str(tmp_path)}, timeout=60, check=False)
    assert done.returncode == 0


def test_runs_that_cannot_be_ended_in_time_keep_no_server_running(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = up.Servers(None)
    code = servers.start("code", [sys.executable, "-c", "import time; time.sleep(600)"]).process
    held = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def take_too_long(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("ended_runs", 120)

    monkeypatch.setattr(subprocess, "run", take_too_long)
    try:
        up._stop(servers)
        assert code.poll() is not None
    finally:
        code.kill()
        for number, handler in held.items():
            signal.signal(number, handler)


def test_a_fill_that_fails_ends_all(tmp_path: Path) -> None:
    failing = PROGRAM.replace('"-c", ""]', '"-c", "raise SystemExit(3)"]')
    argv = [sys.executable, "-c", failing, SERVER, str(free_port()), str(free_port()), str(tmp_path)]
    environ = {**os.environ, "EMDS_HOME": str(tmp_path)}
    done = subprocess.run(argv, cwd=up.ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "emds: fill exited with code 3\n")


def server_of(folder: Path, name: str) -> int:
    """Return the process id of a server, which is the parent of the child that it recorded."""
    return int(Path(f"/proc/{(folder / name).read_text()}/stat").read_text().split()[3])


@pytest.mark.parametrize("name", ["ui", "api"])
def test_a_server_that_ends_ends_all(running: subprocess.Popen[str], tmp_path: Path, name: str) -> None:
    until_up(running)
    os.kill(server_of(tmp_path, name), signal.SIGKILL)
    assert running.wait(30) == 1
    assert all_end(tmp_path, "api", "ui")
    server = "webserver" if name == "ui" else "api"
    assert running.stderr
    assert running.stderr.read().endswith(f"emds: {server} exited with code -9\n")


def test_on_a_terminal_servers_log_to_files_and_the_screen_is_for_people(tmp_path: Path) -> None:
    ports = str(free_port()), str(free_port())
    screen, terminal = os.openpty()
    argv = [sys.executable, "-u", "-c", PROGRAM, SERVER, *ports, str(tmp_path)]
    with subprocess.Popen(
        argv, cwd=up.ROOT, stdout=terminal, stderr=terminal, env={**os.environ, "EMDS_HOME": str(tmp_path)}
    ) as process:
        os.close(terminal)
        try:
            shown = ""
            while "stops everything" not in shown:
                shown += os.read(screen, 1000).decode()
            daemon = tmp_path / "logs" / "daemon.log"
            ends = time.monotonic() + 30
            while daemon.read_text() != "the daemon\n":
                assert time.monotonic() < ends
                time.sleep(0.01)
            assert f"logs:    {tmp_path}/logs" in shown
            os.kill(server_of(tmp_path, "ui"), signal.SIGKILL)
            last_lines = f"emds: webserver exited with code -9\r\n-- {tmp_path}/logs/webserver.log\r\nits last line\r\n"
            while last_lines not in shown:
                shown += os.read(screen, 1000).decode()
            assert process.wait(30) == 1
        finally:
            process.terminate()
            os.close(screen)


def test_a_log_stays_within_bounds_while_it_is_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "MOST_LOG_BYTES", 100)
    supervised = up.Servers(tmp_path / "logs")
    server = supervised.start("api", [sys.executable, "-c", "import time; time.sleep(600)"])
    assert server.log
    with server.log.open("ab", buffering=0) as stream:
        stream.write(b"a" * 90)
        supervised.require_all()
        stream.write(b"b" * 90)
        supervised.require_all()
        stream.write(b"c")
    supervised.stop()
    assert server.log.read_bytes() == b"c"
    assert server.log.with_suffix(".log.1").read_bytes() == b"a" * 90 + b"b" * 90


def second(home: Path) -> subprocess.Popen[str]:
    """Start a real `emds up` over a home, on other ports."""
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


def test_servers_end_with_an_up_that_is_killed(running: subprocess.Popen[str], tmp_path: Path) -> None:
    until_up(running)
    servers = children(running.pid)
    assert len(servers) == 3
    running.kill()
    assert patient(lambda: not any(map(runs, servers)))
    for name in ("api", "ui"):  # killed servers leave their own children, which the test ends
        os.kill(int((tmp_path / name).read_text()), signal.SIGKILL)


def test_a_first_fill_ends_with_an_up_that_is_killed(tmp_path: Path) -> None:
    with second(tmp_path / "home") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("first start: ")
        assert patient(lambda: len(descendants(process.pid)) >= 4), "the fill, its workers, and what starts them"
        started = descendants(process.pid)
        process.kill()
        assert patient(lambda: not any(map(runs, started)))


def test_a_second_up_over_a_home_names_the_first_and_does_nothing(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    until_up(running)
    before = sorted(tmp_path.rglob("*"))
    with second(tmp_path) as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (1, "")
    assert errors == f"emds: emds up is already running for {tmp_path} (process {running.pid}); stop it first\n"
    assert sorted(tmp_path.rglob("*")) == before
    running.send_signal(signal.SIGKILL)
    running.wait(30)
    with up.lock(tmp_path):
        pass
