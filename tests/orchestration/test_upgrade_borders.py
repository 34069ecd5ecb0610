"""`emds upgrade` and the names of the areas beyond our zones: a border has one name from before it to after it."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestration import upgrade
from warehouse import clock, layout, series
from warehouse.clock import Window
from warehouse.schema import Rows, SeriesKey
from warehouse.storage import Folder

NOW = clock.instant("2026-11-20T12:00:00Z")
AT = NOW - 3600
FEED = "eia.interchange"


def _of_the_first_release(home: Path, names: tuple[str | None, ...]) -> Folder:
    """A warehouse of the first release with an hour of a zone's borders."""
    count = len(names)
    columns = {
        "zone": pa.array(["US-MISO"] * count),
        "metric": pa.array(["interchange"] * count),
        "fuel": pa.nulls(count, pa.string()),
        "counterparty": pa.array([*names]),
        "link": pa.nulls(count, pa.string()),
        "ts": pa.array([AT] * count),
        "value": pa.array([float(number) for number in range(count)]),
        "unit": pa.array(["MW"] * count),
        "resolution": pa.array(["1h"] * count),
        "source": pa.array(["eia"] * count),
        "feed": pa.array([FEED] * count),
        "known_at": pa.array([NOW] * count),
        "superseded_at": pa.nulls(count, pa.int64()),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd", store_schema=False)
    storage = Folder(home)
    storage.put("series/interchange/US-MISO/2026-11.parquet", out.getvalue())
    storage.put(layout.MODE, b"simulated")
    return storage


def test_a_border_keeps_one_name_from_before_an_upgrade_to_after_it(tmp_path: Path) -> None:
    """Rows under a publisher's own name would stand beside those that come under ours, one border twice."""
    storage = _of_the_first_release(tmp_path, (None, "Ontario IESO", "Manitoba Hydro", "US-PJM"))
    assert upgrade.upgrade(storage, lambda *_: None).months == 1
    rows = Rows()
    for number, name in enumerate((None, "Ontario", "Manitoba", "US-PJM")):
        rows.extend(SeriesKey("US-MISO", "interchange", "MW", "1h", None, name), [AT], [float(number)])
    folded = series.fold(storage, FEED, rows, {}, {FEED: 1}, NOW + 60, "simulated")
    assert [(each.added, each.changed, each.unchanged) for each in folded] == [(0, 0, 4)]
    served = series.read(storage, "US-MISO", "interchange", Window(AT, NOW))
    assert served.column("counterparty").to_pylist() == [None, "Manitoba", "Ontario", "US-PJM"]
