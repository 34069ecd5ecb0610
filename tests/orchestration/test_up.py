"""Run `emds up` as a person does.

An empty folder becomes a running service, Ctrl-C stops it completely, and a second start fills nothing.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stand_ins.days import NOW
from tests.stand_ins.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]


# The time is fixed, because in the first hours of a day some publishers have no data of the day before.
ENVIRON = {k: v for k, v in os.environ.items() if k not in ("EMDS_FEEDS", "EMDS_SIMULATED_FAULTS", "EMDS_BASE_URL")}
ENVIRON["EMDS_NOW"] = NOW
EMDS = (sys.executable, "-u", "-m", "orchestration.cli")


@contextmanager
def up(home: Path, *options: str) -> Iterator[tuple[str, str]]:
    """Yield the output once everything runs, and the API's URL; then stop the service as Ctrl-C does."""
    ports, log = (free_port(), free_port()), home.with_suffix(".log")
    # The tests request all zones at once with one key.
    environ = ENVIRON | {"EMDS_KEY_CALLS_PER_SECOND": "0", "DAGSTER_HOME": ""}
    argv = [*EMDS, "up", "--home", str(home), "--port", str(ports[0]), "--ui-port", str(ports[1]), *options]
    with log.open("wb") as out:
        child = subprocess.Popen(argv, env=environ, stdout=out, stderr=out, cwd=ROOT, start_new_session=True)
    ends = time.monotonic() + 600
    try:
        while b"stops everything" not in log.read_bytes():
            assert child.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < ends, log.read_text()[-3000:]
            time.sleep(0.2)
        yield log.read_text(), f"http://127.0.0.1:{ports[0]}"
        child.send_signal(signal.SIGINT)
        assert child.wait(40) == 0
        for port in ports:
            with socket.socket() as probe:
                assert probe.connect_ex(("127.0.0.1", port)), f"something still listens on {port}"
    finally:
        if child.poll() is None:  # its servers have sessions of their own, so only it can stop them
            child.terminate()
            child.wait(60)


def get(url: str, key: str = "") -> dict:  # type: ignore[type-arg]
    question = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(question, timeout=20) as answer:
        assert answer.headers["X-EMDS-Data"] == ("simulated" if "/usage" not in url else None)
        return json.load(answer)  # type: ignore[no-any-return]


def signed_up(base: str, email: str = "somebody@example.org") -> str:
    """Return a new API key."""
    body, headers = json.dumps({"email": email}).encode(), {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{base}/v1/keys/signup", body, headers), timeout=20) as answer:
        return str(json.load(answer)["api_key"])


def test_an_empty_folder_becomes_a_service_and_stays_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with up(home, "--days", "1") as (output, base):
        early, late = (
            output.index(words)
            for words in ("zones become available as they are filled", "publishing the documents of all")
        )
        assert early < late, "the API answers before the fill is over"
        assert "\x1b" not in output, "no colours in a log"
        assert f"curl '{base}/v1/brief/GB?sample=true'" in output
        key = signed_up(base)
        brief = get(f"{base}/v1/brief/GB", key)
        assert {"price", "demand", "interchange", "carbon_intensity"} <= set(brief["current"])
        zones = {z["id"] for z in get(f"{base}/v1/zones")["zones"]}
        for zone in zones:
            assert {"price", "demand", "interchange"} <= set(get(f"{base}/v1/latest/{zone}", key)["metrics"]), zone
        states = {s["state"] for s in get(f"{base}/v1/status")["sources"]}
        assert states <= {"ok", "late"}, states
        assert get(f"{base}/v1/usage", key)["quota"]["used"] == 26
    environ = ENVIRON | {"EMDS_HOME": str(home), "DAGSTER_HOME": ""}
    again = subprocess.run([*EMDS, "fill"], env=environ, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (again.returncode, "first start" in again.stdout) == (0, False), "the next start finds it filled"


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "orchestration.cli", "up", "--home", str(tmp_path / "h"), "--port", port],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert f"port {port} is already in use" in done.stderr
