"""Where few files may be open, a worker takes fewer connections and lives; further clients wait for their turn."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import requests

from orchestration.servers import serve as verb
from tests.stand_ins.receiver import patient

pytestmark = pytest.mark.slow


def test_more_clients_than_descriptors_end_no_worker(market: Any, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = verb.command
    few = ["sh", "-c", 'ulimit -n 80; exec "$@"', "sh"]
    monkeypatch.setattr(verb, "command", lambda port, server: [*few, *command(port, server=server)])
    served = serve(market)
    [worker] = served.workers()
    clients = [socket.create_connection(("127.0.0.1", served.port), timeout=10) for _ in range(120)]
    assert patient(lambda: len(list(Path(f"/proc/{worker}/fd").iterdir())) > 25)
    for client in clients:
        client.close()
    assert requests.get(f"{served.url}/v1/zones", timeout=20).status_code == 200
    assert served.workers() == [worker]
    assert "few open files are allowed (ulimit -n): 12 connections a worker" in served.log.read_text()
