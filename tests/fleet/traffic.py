"""Callers of the fleet, all through nginx: free documents, keyed documents and windows, 304s; every answer is tallied.

First as fast as sixteen connections go, then at a pace of its own: a call is due at its instant whether the one before
was answered or not, and its time counts from then.
"""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from warehouse.market.clock import DAY, Window

FREE = ("/v1/zones", "/catalog", "/v1/geo/live", "/v1/geo/zones.geojson", "/v1/status", "/docs", "/")
DOCUMENTS = ("/v1/latest/GB", "/v1/brief/GB")
SERIES = ("price", "demand", "interchange")
PATIENCE_S = 45.0
"""Longer than a worker waits for its store."""
AT_ONCE = 16


@dataclass(frozen=True)
class Done:
    """One call. `status` 0: it broke off. `at`: Unix seconds at which it was due."""

    kind: str
    key: int
    status: int
    at: float
    seconds: float
    what: str = ""


@dataclass
class Tally:
    """What became of all calls; by key, those that cost and those whose end nobody knows."""

    calls: list[Done] = field(default_factory=list)
    cost: Counter[int] = field(default_factory=Counter)
    open: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, done: Done) -> None:
        with self.lock:
            self.calls.append(done)
            if done.key >= 0:
                self.cost[done.key] += 200 <= done.status < 300
                self.open[done.key] += done.status == 0 or done.status >= 500
                self.refused[done.key] += done.status == 429

    def errors(self) -> list[Done]:
        """The calls that got no answer of those that are right."""
        return [done for done in self.calls if done.status not in EXPECTED[done.kind]]


EXPECTED = {
    "free": (200,),
    "document": (200,),
    "window": (200,),
    "unchanged": (200, 304),
    "unknown": (404,),
    "spent": (200, 429),
}
"""The right answers to each kind of call. `spent`: by a key with a small quota."""


class Callers:
    """Threads that ask one address with many keys."""

    def __init__(self, url: str, keys: Sequence[str], spent: Sequence[int], span: Window, tally: Tally) -> None:
        """`spent`: the numbers of keys with a small quota; `span`: whole days of which there are rows."""
        self._host, self._keys, self._span, self.tally = urlsplit(url).netloc, keys, span, tally
        self._spent = list(spent)
        self._many = [number for number in range(len(keys)) if number not in spent]
        self._ended, self._number, self._lock = threading.Event(), 0, threading.Lock()
        self._tags: dict[str, str] = {}

    def capacity(self, seconds: float) -> float:
        """Calls a second, as fast as they are answered."""
        begun = time.time()
        count = len(self.tally.calls)
        self._all(AT_ONCE, lambda number: time.time() if time.time() < begun + seconds else None)
        return (len(self.tally.calls) - count) / (time.time() - begun)

    def paced(self, rate: float) -> None:
        """So many calls a second until `end`."""
        begun = time.time() + 0.2
        self._number = 0

        def due(number: int) -> float | None:
            return None if self._ended.is_set() else begun + number / rate

        self._all(4 * AT_ONCE, due)

    def end(self) -> None:
        self._ended.set()

    def _all(self, threads: int, due: Callable[[int], float | None]) -> None:
        started = [threading.Thread(target=self._work, args=(due, number)) for number in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    def _next(self) -> int:
        with self._lock:
            self._number += 1
            return self._number - 1

    def _work(self, due: Callable[[int], float | None], seed: int) -> None:
        caller = _Caller(self._host, random.Random(seed), self._span, self._tags)
        while True:
            number = self._next()
            at = due(number)
            if at is None:
                return caller.close()
            time.sleep(max(0.0, at - time.time()))
            kind = caller.chance.choices(tuple(_SHARES), tuple(_SHARES.values()))[0]
            key = -1 if kind == "free" else self._many[number % len(self._many)]
            if kind == "spent":
                key = caller.chance.choice(self._spent)
            self.tally.add(caller.ask(kind, key, self._keys[key] if key >= 0 else "", at))


_SHARES = {"free": 40, "document": 15, "window": 30, "unchanged": 11, "unknown": 2, "spent": 2}


class _Caller:
    """One connection."""

    def __init__(self, host: str, chance: random.Random, span: Window, tags: dict[str, str]) -> None:
        """`tags`: the newest ETag of each path, whoever got it."""
        self.chance, self._host, self._span, self._tags = chance, host, span, tags
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def ask(self, kind: str, key: int, secret: str, at: float) -> Done:
        path = self._path(kind)
        headers = {"X-Forwarded-For": f"10.{self.chance.randrange(250)}.{self.chance.randrange(250)}.9"}
        if secret:
            headers |= {"Authorization": f"Bearer {secret}", "X-Caller": str(key)}
        if kind == "unchanged":
            headers["If-None-Match"] = self._tags.get(path, '"none"')
        try:
            connection = self._connection or http.client.HTTPConnection(self._host, timeout=PATIENCE_S)
            self._connection = connection
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Done(kind, key, 0, at, time.time() - at, f"{path}: {type(error).__name__}")
        self._tags[path] = answer.headers.get("ETag", '"none"')
        what = "" if answer.status in EXPECTED[kind] else f"{path}: {body[:300].decode(errors='replace')}"
        return Done(kind, key, answer.status, at, time.time() - at, what)

    def _path(self, kind: str) -> str:
        if kind == "free":
            return self.chance.choice(FREE)
        if kind == "unknown":
            return "/v1/latest/NOWHERE"
        if kind == "window":
            start = self.chance.randrange(self._span.start, self._span.end - DAY + 1, 300)
            return f"/v1/{self.chance.choice(SERIES)}/GB?start={start}&end={start + DAY}"
        return self.chance.choice(DOCUMENTS)
