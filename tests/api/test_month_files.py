"""Whose rows a month file holds, told by its end or by its rows: rights hang on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from api.documents import month_files
from api.documents.catalogue import sources_of
from warehouse.caches import LruCache
from warehouse.rows.versions import LIVE, NEVER, RowLabels, Versions
from warehouse.series import monthfile
from warehouse.store import layout
from warehouse.store.storage import Folder

FROM = 1_772_323_200
"""2026-03-01T00:00Z."""


def label(source: str, fuel: str | None = None, border: str | None = None) -> RowLabels:
    return RowLabels(fuel, border, None, "MW", "1h", source, f"{source}.feed")


@pytest.mark.parametrize(
    ("metric", "labels", "wanted"),
    [
        ("demand", [label("north")], {"north"}),
        ("demand", [label("north"), label("south")], {"north", "south"}),
        ("interchange", [label("north"), label("east", border="FR")], {"north", "east"}),
        ("interchange", [label("east", border="FR")], {"east"}),
        ("generation", [label("north", "wind"), label("west", "solar")], {"north", "west"}),
        ("demand", [], set()),
    ],
)
def test_the_feeds_are_those_of_all_rows(
    tmp_path: Path, metric: str, labels: list[RowLabels], wanted: set[str]
) -> None:
    storage, key = Folder(tmp_path), layout.series(metric, "GB", "2026-03")
    storage.put(layout.MODE, b"live")
    count = 24 * len(labels)
    code, zeros = np.arange(count) % max(1, len(labels)), np.zeros(count, np.int64)
    hours = FROM + np.arange(count) * 3600
    rows = Versions(tuple(labels), code, hours, zeros + 1.5, zeros + 1, zeros + LIVE, zeros + NEVER)
    body = monthfile.encode(rows, key, "live")
    storage.put(key, body)
    whole = month_files.read(storage, LruCache(10**6), metric, "GB", "2026-03")
    assert whole is not None
    assert (whole.feeds, whole.body) == ({f"{source}.feed" for source in wanted}, body)
    assert sources_of(whole.feeds) == wanted
