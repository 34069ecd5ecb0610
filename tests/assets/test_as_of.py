"""Check that what this service knew at a time never changes, while runs write files and readers read them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from api.series.query import SETTLED_S, series_request
from assets.fetch.session import Fetched
from tests.assets.demand_feed import DAY, FEED, NOON, START, Publisher, pipeline, run, whole
from tests.stand_ins import stored_rows
from warehouse.market import clock
from warehouse.market.clock import Window
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.store.storage import Folder

WINDOW = Window(START, START + 86400)


class Readers:
    """Readers that query random times. `answers` has the first response for each time, which later ones must equal."""

    def __init__(self, storage: Folder) -> None:
        self.storage, self.now, self.random = storage, NOON, random.Random(7)
        self.answers: dict[int, list[tuple[int, float]]] = {}

    def wait(self, most: int) -> None:
        """Let up to `most` seconds pass, and query."""
        self.now += self.random.randint(0, most)
        self.ask(self.now - max(SETTLED_S, self.random.randint(0, 40)))

    def ask(self, at: int) -> None:
        table = stored_rows.read_as_of(self.storage, "GB", "demand", WINDOW, at, {FEED.id: 1})
        rows = list(zip(table.column("ts").to_pylist(), table.column("value").to_pylist(), strict=True))
        assert self.answers.setdefault(at, rows) == rows


def test_an_answer_as_of_an_instant_never_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Folder(tmp_path)
    readers = Readers(storage)
    monkeypatch.setattr(clock, "now", lambda: readers.now)
    put, ask = Folder.put, Publisher.ask

    def put_slowly(self: Folder, key: str, *args: Any, **options: Any) -> None:
        readers.wait(4)
        put(self, key, *args, **options)
        readers.wait(0)

    def ask_slowly(self: Publisher, request: Request) -> Fetched:
        readers.wait(30)
        return ask(self, request)

    monkeypatch.setattr(Publisher, "ask", ask_slowly)
    month_files = ("series/", "history/")
    monkeypatch.setattr(
        Folder,
        "put",
        lambda self, key, *a, **o: (put_slowly if key.startswith(month_files) else put)(self, key, *a, **o),
    )
    for number in range(60):
        first = readers.random.randint(0, 10)
        run(pipeline(tmp_path, {DAY: whole(first, first + 20, 9000 + number // 2)}))
        readers.wait(5)
    assert len({tuple(rows) for rows in readers.answers.values()}) > 40
    for at in [*readers.answers]:
        readers.ask(at)


def test_the_last_seconds_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOON)
    query = {"start": None, "end": None, "limit": 1, "order": "asc", "sample": False, "time": None}
    requests = [
        series_request(Metric.DEMAND, ("GB",), ("demand",), {**query, "as_of": NOON - ago}, several=False)
        for ago in (0, 9, 10, 11)
    ]
    assert [request.as_of for request in requests] == [NOON - 10, NOON - 10, NOON - 10, NOON - 11]
