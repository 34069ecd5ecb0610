"""Test typed documents: they are read back as written, and an error names the path of a wrong field."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec import Struct

from assets.sources import sources
from warehouse.documents import catalogue, health, manifest
from warehouse.documents.health import Health
from warehouse.documents.manifest_entries import NetRows
from warehouse.documents.present import Brief, Latest, SnapshotZone
from warehouse.errors import DamagedFile
from warehouse.market.metrics import MIXES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

NOW = 1_795_305_600


@pytest.fixture
def published(folder: Folder) -> Folder:
    catalogue.publish(folder, sources(), "live", (), ("elexon",), NOW)
    return folder


def put_prices(folder: Folder) -> None:
    folder.put(layout.MODE, b"live")
    rows = Rows()
    rows.extend(SeriesKey("GB", "price", "GBP/MWh", "30m"), [NOW, NOW + 1800], [1.0, 2.0])
    fold(folder, "elexon.price", rows, {}, {"elexon.price": 1}, NOW, mode="live")


def change(folder: Folder, name: str, path: list[str | int], value: Any) -> None:
    """Write the document again with another value at `path`; None removes the field."""
    body = part = artefact.load(folder, name)
    for step in path[:-1]:
        part = part[step]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    artefact.put(folder, name, artefact.encode(body), artefact.new_version())


def test_the_catalogue_is_read_as_it_was_written(published: Folder) -> None:
    read = catalogue.load(published)
    assert read == catalogue.publish(published, sources(), "live", (), ("elexon",), NOW)
    body = artefact.get(published, layout.CATALOGUE)
    assert body is not None
    assert artefact.encode(read) == body.body


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["zones", "GB", "id"], 7, "Expected `str`, got `int` - at `$.zones[...].id`"),
        (["zones", "FR", "metrics", "price", "feeds", 0, "rank"], "first", "got `str` - at `$.zones[...].metrics"),
        (["zones", "FR", "metrics", "price", "rows"], -1, "Expected `int` >= 0 - at `$.zones[...].metrics[...].rows`"),
        (["feeds", "elexon.price", "publication", "daily_at"], "noon", "`$.feeds[...].publication.daily_at`"),
        (["sources", "elexon", "withheld"], None, "missing required field `withheld` - at `$.sources[...]`"),
        (["feeds"], None, "missing required field `feeds`"),
    ],
)
def test_a_wrong_field_of_the_catalogue_is_named(
    published: Folder, path: list[str | int], value: Any, named: str
) -> None:
    change(published, layout.CATALOGUE, path, value)
    with pytest.raises(DamagedFile) as raised:
        catalogue.load(published)
    assert "published/catalogue.json" in str(raised.value)
    assert named in str(raised.value)


@pytest.mark.parametrize("body", [b"[]", b'{"zones": ', b'{"zones": "\xff"}'])
def test_bytes_that_are_no_document_are_damaged(body: bytes) -> None:
    with pytest.raises(DamagedFile, match=r"x\.json .*cannot be decoded"):
        artefact.decode(body, "x.json", dict[str, dict[str, int]])


def test_fields_of_a_newer_release_are_ignored(published: Folder) -> None:
    change(published, layout.CATALOGUE, ["zones", "GB", "later"], [1])
    assert catalogue.load(published) is not None
    assert orjson.loads(artefact.encode(catalogue.load(published)))["zones"]["GB"].get("later") is None


def test_health_is_read_as_it_was_noted_and_a_wrong_field_costs_only_what_was_known(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    known = Health("elexon.price", "GB", 5, "", 0, NOW, 0, {"price": NOW})
    health.note(folder, "elexon", [known])
    assert health.load(folder, "elexon") == [known]
    change(folder, layout.health("elexon"), ["feeds", 0, "reached", "price"], "late")
    assert health.load(folder, "elexon") == []
    assert "Expected `int`, got `str` - at `$.feeds[0].reached[...]`" in caplog.text
    health.note(folder, "elexon", [known])
    assert health.load(folder, "elexon") == [known]


def test_a_month_whose_entry_is_wrong_is_counted_again(published: Folder, caplog: pytest.LogCaptureFixture) -> None:
    put_prices(published)
    catalogue.publish(published, sources(), "live", (), ("elexon",), NOW)
    [(month, counted)] = manifest.load(published, "price", "GB").items()
    assert counted.net == NetRows(2, NOW, NOW + 1800)
    change(published, layout.manifest("price", "GB"), ["months", month, "net", 1], "first")
    assert manifest.load(published, "price", "GB") == {}
    assert "Expected `int | null`, got `str` - at `$.months[...].net[1]`" in caplog.text
    change(published, layout.MANIFEST, ["series", "price/GB", "mark"], "")
    catalogue.publish(published, sources(), "live", (), ("elexon",), NOW)
    assert manifest.load(published, "price", "GB") == {month: counted}


@pytest.mark.parametrize("kind", [Latest, SnapshotZone, Brief])
def test_values_by_fuel_are_no_fields_of_these_types(kind: type[Struct]) -> None:
    """Check that each metric by fuel names its own fields, so that a new metric does not change these types."""
    assert not [name for name in kind.__struct_fields__ if any(mix.names(name) for mix in MIXES.values())]
