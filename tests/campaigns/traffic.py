"""Call the fleet through nginx: clients of documents and windows, whose responses are tallied, and a follower.

A call is due at its time whether or not the previous call has ended, and its duration counts from then.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.stand_ins.days import NOW
from tests.stand_ins.stored_rows import Row
from warehouse.market.clock import DAY, HOUR, Window, instant

FREE = ("/v1/zones", "/catalog", "/v1/geo/live", "/v1/geo/zones.geojson", "/v1/status", "/docs", "/")
DOCUMENTS = ("/v1/latest/GB", "/v1/brief/GB")
SERIES = ("price", "demand", "interchange")
PATIENCE_S = 45.0
"""A time-out in seconds, longer than a worker waits for its store."""
OF_ESTIMATES = "carbon", "&basis=estimate"
"""The path of estimates, which `/v1/changes` names `carbon_estimate`."""
RATE, THREADS = 10.0, 32
"""Calls per second, and the maximum number of calls in progress."""
SHARES = {"free": 40, "document": 15, "window": 30, "unchanged": 11, "unknown": 2, "spent": 10}
EXPECTED = {
    "free": (200,),
    "document": (200,),
    "window": (200,),
    "unchanged": (200, 304),
    "unknown": (404,),
    "spent": (200, 429),
}
"""The expected statuses of each kind of call; `spent` calls use a key with a small quota."""


@dataclass(frozen=True)
class Done:
    """A call that was due at the Unix time `at`; the status is 0 if it was interrupted."""

    kind: str
    key: int
    status: int
    at: float
    seconds: float
    what: str = ""


@dataclass
class Callers:
    """Threads that call one URL with many keys; they count, by key, the charged calls and those of unknown outcome.

    `spent` contains the numbers of keys with a small quota, and `span` is a range of complete days with rows.
    """

    url: str
    keys: Sequence[str]
    spent: Sequence[int]
    span: Window
    calls: list[Done] = field(default_factory=list)
    cost: Counter[int] = field(default_factory=Counter)
    open: Counter[int] = field(default_factory=Counter)
    tags: dict[str, str] = field(default_factory=dict)
    """The newest ETag of each path, from any thread."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Make calls at a steady rate inside the block."""
        ended, begun = threading.Event(), time.time() + 0.2
        threads = [threading.Thread(target=self._work, args=(n, begun, ended)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def errors(self) -> list[Done]:
        """Return the calls whose status was not expected."""
        return [done for done in self.calls if done.status not in EXPECTED[done.kind]]

    def _work(self, number: int, begun: float, ended: threading.Event) -> None:
        chance = random.Random(number)
        while not ended.wait(max(0.0, begun + number / RATE - time.time())):
            kind = chance.choices(tuple(SHARES), tuple(SHARES.values()))[0]
            key = -1 if kind == "free" else number % (len(self.keys) - len(self.spent)) + len(self.spent)
            key = chance.choice(self.spent) if kind == "spent" else key
            done = self._ask(kind, key, self._path(kind, chance), begun + number / RATE)
            with self.lock:
                self.calls.append(done)
                if key >= 0:
                    self.cost[key] += 200 <= done.status < 300
                    self.open[key] += done.status == 0 or done.status >= 500
            number += THREADS

    def _path(self, kind: str, chance: random.Random) -> str:
        if kind == "window":
            start = chance.randrange(self.span.start, self.span.end - DAY + 1, 300)
            return f"/v1/{chance.choice(SERIES)}/GB?start={start}&end={start + DAY}"
        return "/v1/latest/NOWHERE" if kind == "unknown" else chance.choice(FREE if kind == "free" else DOCUMENTS)

    def _ask(self, kind: str, key: int, path: str, at: float) -> Done:
        headers = {"X-Forwarded-For": f"10.{key % 250}.{len(self.calls) % 250}.9"}
        if key >= 0:
            headers |= {"Authorization": f"Bearer {self.keys[key]}", "X-Caller": str(key)}
        if kind == "unchanged":
            headers["If-None-Match"] = self.tags.get(path, '"none"')
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_S)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            return Done(kind, key, 0, at, time.time() - at, f"{path}: {type(error).__name__}")
        finally:
            connection.close()
        self.tags[path] = answer.headers.get("ETag", '"none"')
        what = "" if answer.status in EXPECTED[kind] else f"{path}: {body[:300].decode(errors='replace')}"
        return Done(kind, key, answer.status, at, time.time() - at, what)


def answers(url: str) -> bool:
    """Return whether a page responds."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@dataclass
class Follower:
    """A copy of rows that is kept only over HTTP, without forecasts; it reads the range of each change again."""

    url: str
    key: str
    held: dict[Row, float] = field(default_factory=dict)
    cursor: str = ""

    def get(self, path: str) -> Any:
        request = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def asks(self) -> bool:
        """Return whether the service responds to a window that no worker has cached. Raises OSError."""
        start = instant(NOW) - 5 * DAY + int(time.time()) % HOUR
        return bool(self.get(f"/v1/{SERIES[0]}/GB?start={start}&end={start + 3600}")["data"])

    def follow(self) -> None:
        """Follow the log to its end. Raises OSError if the service is unavailable."""
        more = True
        while more:
            page = self.get(f"/v1/changes?zone=GB&limit=5{f'&since={self.cursor}' if self.cursor else ''}")
            for entry in page["entries"]:
                if not entry["metric"].endswith("_forecast"):
                    self._take(entry["zone"], entry["metric"], entry["first"], entry["last"])
                self.cursor = entry["id"]
            self.cursor, more = page["next"], page["more"]

    def _take(self, zone: str, metric: str, first: int, last: int) -> None:
        fresh: dict[Row, float] = {}
        word, wanted = OF_ESTIMATES if metric == "carbon_estimate" else (metric.replace("_", "-"), "")
        for by in ("", "&by=border") if metric == "interchange" else (wanted,):
            start = first
            while True:
                window = f"start={start}&end={last + 1}&limit=5000{by}"
                page = self.get(f"/v1/{word}/{zone}?{window}")
                for row in page["data"]:
                    parts = (row.get(name) or "" for name in ("fuel", "counterparty", "link"))
                    fresh[(zone, metric, *parts, row["ts"])] = row["value"]  # type: ignore[index]
                if not page["truncated"]:
                    break
                start = page["end"]
        span = range(first, last + 1)
        self.held = {at: v for at, v in self.held.items() if at[:2] != (zone, metric) or at[5] not in span} | fresh
