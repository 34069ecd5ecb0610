"""Test gunicorn as configured: ready soon, reloaded and stopped under load without losses, one sum of all counts."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.stand_ins.receiver import patient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


class Load:
    """Clients that send requests without pause, half on persistent connections. They record statuses and failures."""

    def __init__(self, url: str) -> None:
        self.url, self.statuses, self.failed = url, list[int](), list[str]()
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(bool(i % 2),)) for i in range(6)]

    def _ask(self, kept_alive: bool) -> None:
        with requests.Session() as session:
            while not self.stopped.is_set():
                try:
                    headers = {} if kept_alive else {"Connection": "close"}
                    answer = session.get(f"{self.url}/v1/zones", headers=headers, timeout=20)
                    assert len(answer.json()["zones"]) == 25
                    self.statuses.append(answer.status_code)
                except (requests.RequestException, AssertionError, ValueError) as error:
                    self.failed.append(repr(error)[:200])
                    time.sleep(0.05)

    @property
    def done(self) -> Counter[int]:
        """Return the number of responses by status. Threads that shared a counter would lose some."""
        return Counter(self.statuses)

    def __enter__(self) -> Load:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def test_a_reload_under_load_loses_no_request(market: Any, serve: Any) -> None:
    served = serve(market, WEB_CONCURRENCY="2")
    with Load(served.url) as load:
        for turn in (1, 2):
            assert patient(lambda turn=turn: load.done[200] > 50 * turn)
            before = set(served.workers())
            served.process.send_signal(signal.SIGHUP)
            assert patient(lambda before=before: len(workers := served.workers()) == 2 and before.isdisjoint(workers))
        answered = load.done[200]
        assert patient(lambda: load.done[200] > answered + 50)
    assert not load.failed
    assert set(load.done) == {200}


def test_a_stop_finishes_the_requests_at_work(market: Any, serve: Any, tmp_path: Path) -> None:
    served = serve(market)
    with Load(served.url) as load:
        assert patient(lambda: load.done[200] > 20)
        served.process.terminate()
        assert served.process.wait(30) == 0
        load.stopped.set()
    lines = (tmp_path / "access.log").read_text().splitlines()
    answered = sum('"route":"zones"' in line for line in lines)
    assert load.done == {200: answered}, "every answer that was sent arrived whole; later connections were refused"


def test_the_counts_of_all_workers_are_added_up(market: Any, serve: Any) -> None:
    served = serve(market, WEB_CONCURRENCY="2", EMDS_METRICS_TOKEN="t")
    calls = 40
    for _ in range(calls):
        requests.get(f"{served.url}/v1/zones", headers={"Connection": "close"}, timeout=20)
    line = f'emds_answers_total{{route="zones",status="200"}} {calls}.0'
    headers = {"Authorization": "Bearer t"}
    assert patient(lambda: line in requests.get(f"{served.url}/metrics", headers=headers, timeout=20).text)


def test_it_is_ready_soon_and_small(market: Any, serve: Any) -> None:
    served = serve(market)
    for path in (
        "/v1/zones",
        "/v1/price/GB?sample=true",
        "/v1/generation/GB?sample=true",
        "/openapi.json",
        "/docs",
        "/catalog",
    ):
        assert requests.get(served.url + path, timeout=20).status_code == 200
    status = Path(f"/proc/{served.workers()[0]}/status").read_text()
    # Count the worker's own memory. The kernel maps cached pages of the libraries, which all workers share.
    own = int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")))
    assert own < 100_000
