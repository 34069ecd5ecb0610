"""Check monthly files at the public URL: pinned lists work for sixty days, withheld rows disappear at once."""

from __future__ import annotations

import hashlib
import io
import os
import random
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchestration.static_side import publish
from orchestration.static_side.months import SERIES
from orchestration.static_side.publish import publish_to
from orchestration.static_side.target import Target, open_target
from tests.api.conftest import Rig
from warehouse.market.clock import DAY, HOUR, instant

URL = "https://files.example/emds"
MONTHS = [instant(f"2026-0{month}-03T00:00:00Z") for month in (1, 2, 3)]
SERIES_OF = [("north.price", "GB", "price"), ("north.grid", "GB", "demand"), ("south.hourly", "GB", "demand")]


class TrueTime:
    """The machine's time, as the publication and the folder see it; only monthly files are published."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.time()
        put = Target._put

        def put_now(target: Target, key: str, item: Any, mode: Any = "overwrite") -> None:
            put(target, key, item, mode)
            assert target._lock is not None
            os.utime(target._lock.parent / key, (self.now, self.now))

        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "time_ns", lambda: int(self.now * 1e9))
        monkeypatch.setattr(Target, "_put", put_now)
        monkeypatch.setattr(publish, "_client", nullcontext)
        monkeypatch.setattr(publish, "rendered", lambda asked, former: ())
        monkeypatch.setattr(publish.months, "build_duckdb", lambda entries, public_url: [])


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "home")
    yield rig
    rig.close()


@pytest.mark.parametrize("seed", range(2))
def test_pinned_lists_answer_for_sixty_days_and_withheld_rows_leave_at_once(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Compare random revisions, publication intervals and terms of one feed with what was listed at each time."""
    chance, clock, folder = random.Random(seed), TrueTime(monkeypatch), tmp_path / "public"
    open_sources, bytes_of = dict(rig.sources), dict[str, bytes]()
    last_listed, missed, excused, shut = dict[str, float](), dict[str, float](), set[str](), False
    counts = {"pinned": 0, "gone": 0, "excused": 0}
    service = rig.client(public_url=URL)
    for step in range(45):
        feed, zone, metric = chance.choice(SERIES_OF)
        unit, span = ("GBP/MWh", "30m") if metric == "price" else ("MW", "1h")
        rig.put(feed, zone, metric, [(chance.choice(MONTHS) + chance.randrange(9) * HOUR, float(step))], unit, span)
        was_shut, shut = shut, chance.random() < (0.8 if shut else 0.15)
        rig.sources = dict(open_sources)
        if shut:
            feeds = tuple(replace(feed, withheld=True) for feed in open_sources["south"].feeds)
            rig.sources["south"] = replace(open_sources["south"], feeds=feeds)
        rig.publish()
        clock.now += chance.choice([HOUR / 4, 6 * HOUR, DAY, 9 * DAY, 30 * DAY])
        publish_to(open_target(str(folder)), rig.storage, rig.settings(public_url=URL))
        lying = {str(path.relative_to(folder)): path.read_bytes() for path in (folder / SERIES).rglob("*.parquet")}
        listed = {file["url"].removeprefix(f"{URL}/") for file in service.get("/v1/bulk").get_json()["files"]}
        assert listed <= set(lying), step
        bytes_of |= lying
        excused -= listed
        if shut and not was_shut:
            excused |= last_listed.keys() - listed
        for key, body in lying.items():
            assert key.split(".")[1] == hashlib.sha256(body).hexdigest()[:8]
            assert not (shut and "south.hourly" in feeds_of(body)), (step, key)
        for key, at in last_listed.items():
            if clock.now - at <= 60 * DAY and key not in excused:
                assert lying.get(key) == bytes_of[key], (step, key)
                counts["pinned"] += key not in listed
        is_new_day = clock.now // DAY > max(last_listed.values(), default=0.0) // DAY
        missed = {key: missed.get(key, clock.now) for key in last_listed.keys() - listed}
        assert not is_new_day or all(clock.now - at <= 61 * DAY for key, at in missed.items() if key in lying), step
        last_listed |= dict.fromkeys(listed, clock.now)
        counts["gone"] += len(set(last_listed) - set(lying))
        counts["excused"] += len(excused)
    assert min(counts.values()) > 10, counts


def feeds_of(body: bytes) -> set[str]:
    return {*pq.read_table(io.BytesIO(body)).column("feed").to_pylist()}
