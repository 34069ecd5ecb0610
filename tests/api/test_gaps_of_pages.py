"""The holes that the pages of several zones tell: together those of the whole window, wherever a page is cut."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.api.conftest import NOW, Rig, asking
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS

START = NOW - NOW % DAY
ZONES = ("AU-SA", "DE-LU", "GB")


def filled(rig: Rig, resolution: str) -> Any:
    """Two hours of three zones, of which every fifth row is missing; DE-LU has a resolution of its own."""
    rng = random.Random(resolution)
    for zone in ZONES:
        own = resolution if zone == "DE-LU" else "5m"
        step = RESOLUTIONS[own]
        rows = [row for row in rig.every(START, step, 2 * HOUR // step) if rng.random() < 0.8]
        rig.put("north.grid", zone, "demand", rows, "MW", own)
    rig.publish()
    return asking(rig)


def told(ask: Any, path: str) -> dict[str, list[list[int]]]:
    """The holes of a path's pages by zone, those that touch as one. Fails where two overlap."""
    bodies = [ask(path)]
    while link := ask.last.headers.get("Link"):
        bodies.append(ask(link.partition(">")[0].removeprefix("<http://emds.example")))
    spans: dict[str, list[list[int]]] = {zone: [] for zone in ZONES}
    for zone, start, end in sorted((gap["zone"], gap["start"], gap["end"]) for body in bodies for gap in body["gaps"]):
        before = spans[zone]
        assert not before or before[-1][1] <= start, "told twice"
        if before and before[-1][1] == start:
            before[-1][1] = end
        else:
            before.append([start, end])
    return spans


@pytest.mark.parametrize("resolution", ["5m", "30m", "1h"])
def test_pages_tell_the_holes_of_the_whole_window_once(rig: Rig, resolution: str) -> None:
    ask = filled(rig, resolution)
    window = f"/v1/demand?zones={','.join(ZONES)}&start={START}&end={START + 2 * HOUR}"
    whole = told(ask, window)
    assert sum(map(len, whole.values())) > 4
    for order in ("asc", "desc"):
        for limit in (1, 2, 3, 7):
            assert told(ask, f"{window}&order={order}&limit={limit}") == whole, (order, limit)
