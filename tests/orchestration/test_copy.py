"""Test `emds copy` from a folder to a bucket and back, and that commands over a bucket do the same as in a folder."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from api.application import create_app
from api.settings import Settings
from orchestration import cli
from orchestration.work import copy
from orchestration.work.environment import open_context
from tests.campaigns.small import LATER, NOW, ingest, opened, served
from tests.warehouse.series_model import BASE, fold
from warehouse.errors import WrongMode
from warehouse.series import month_versions, raw
from warehouse.store import layout, modes
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder, Storage

pytestmark = pytest.mark.slow

WINDOW = "start=2026-11-16T00:00:00Z&end=2026-11-18T12:00:00Z"
FREE = ("/v1/zones", "/v1/status", "/v1/geo/zones.geojson", "/v1/geo/live", "/v1/geo/live/hours")
"""Free paths without the description, because its example keys follow the clock."""
KEYED = (
    "/v1/latest/GB",
    "/v1/brief/GB",
    "/v1/brief/US-NYISO",
    "/v1/map/snapshot",
    f"/v1/demand/GB?{WINDOW}",
    f"/v1/demand/GB?{WINDOW}&format=csv",
    f"/v1/generation/GB?{WINDOW}",
    f"/v1/demand/US-NYISO?{WINDOW}&as_of=2026-11-18T11:30:00Z",
    f"/v1/price/DE-LU?{WINDOW}",
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMDS_HOME", "EMDS_NOW", "EMDS_LOCAL_DIR", "EMDS_DATABASE_URL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def _small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("small") / "home"
    before = dict(os.environ)
    ingest(opened(home, NOW), NOW, 2)
    os.environ.clear()
    os.environ.update(before)
    return home


@pytest.fixture
def small(_small: Path, tmp_path: Path) -> Path:
    """Return a small simulated warehouse in a folder."""
    return Path(shutil.copytree(_small, tmp_path / "small"))


def files(storage: Storage) -> dict[str, tuple[int, bytes | None]]:
    """Return the version and bytes of every file that belongs to the warehouse."""
    keys = [layout.MODE, *(key for prefix in layout.KEPT for key in storage.keys(prefix))]
    return {key: (identity.version, storage.get(key)) for key in keys if (identity := storage.stat(key)) is not None}


def answers(home: str, local: Path, accounts: Path) -> Iterator[tuple[str, int, dict[str, str], bytes]]:
    """Yield the service's responses over a warehouse, without the headers that count calls.

    ETags of windows are left out too, since they identify the files themselves, as an inode does.
    """
    os.environ["EMDS_NOW"] = str(NOW)
    limits = dict.fromkeys(
        ("free_calls_per_minute", "sample_calls_per_day", "signups_per_hour", "key_calls_per_second"), 0
    )
    settings = Settings(home=home, local=str(local), database_url=f"sqlite:///{accounts}", **limits)
    app = create_app(settings)
    client = app.test_client()
    key = client.post("/v1/keys/signup", json={"email": "reader@example.org"}).get_json()["api_key"]
    for path in (*FREE, *KEYED):
        headers = {"Authorization": f"Bearer {key}"} if path in KEYED else {}
        answer = client.get(path, headers=headers)
        own = {"X-Request-Id", *(["ETag"] if "?" in path else [])}
        told = {name: value for name, value in answer.headers if "limit" not in name.lower() and name not in own}
        yield path, answer.status_code, told, answer.get_data()
    app.extensions["emds"].gate.close()


def test_from_folder_to_bucket_and_back_every_file_and_every_answer_is_the_same(small, bucket_place, tmp_path, capsys):
    os.environ["EMDS_LOCAL_DIR"] = str(bucket_place.local)
    back = tmp_path / "back"
    assert cli.main(["copy", str(small), bucket_place.address]) == 0
    assert cli.main(["copy", bucket_place.address, str(back)]) == 0
    first = files(Folder(small))
    assert len(first) > 100
    assert files(bucket_place.open()) == first
    assert files(Folder(back)) == first
    for home in (bucket_place.address, str(back)):
        os.environ["EMDS_HOME"] = home
        assert cli.main(["verify"]) == 0
    told = list(answers(str(small), tmp_path, tmp_path / "a.sqlite"))
    assert all(status == 200 for _, status, _, _ in told), [(path, status) for path, status, _, _ in told]
    assert list(answers(bucket_place.address, tmp_path / "cold", tmp_path / "b.sqlite")) == told
    assert list(answers(str(back), tmp_path, tmp_path / "c.sqlite")) == told


def _copy(small: Path, target: Storage) -> None:
    copy.copy(Folder(small), target)


def test_a_killed_copy_is_refused_as_a_warehouse_and_goes_on(small, bucket_place):
    assert bucket_place.killed_at(partial(_copy, small), 121)
    os.environ.update(EMDS_HOME=bucket_place.address, EMDS_LOCAL_DIR=str(bucket_place.local))
    with pytest.raises(WrongMode):
        open_context()
    count, copied = copy.copy(Folder(small), bucket_place.open())
    assert copied < count
    assert files(bucket_place.open()) == files(Folder(small))


def test_a_copy_over_a_warehouse_is_refused_its_own_by_whatever_name_too(tmp_path, capsys):
    tiny, other = (Folder(tmp_path / name) for name in ("tiny", "other"))
    for number, place in enumerate((tiny, other)):
        modes.ensure(place, "simulated")
        place.put(layout.published("a.json"), bytes([number]))
    (tmp_path / "link").symlink_to(tiny.root)
    before = files(tiny), files(other)
    for target in (tiny, other, f"{tmp_path}/link", f"{tiny}/../tiny/"):
        assert cli.main(["copy", str(tiny), str(target)]) == 1
        assert "already contains a warehouse" in capsys.readouterr().err
    assert (files(tiny), files(other)) == before
    assert cli.main(["copy", str(tiny), f"{tiny}/inside"]) == 0
    assert files(Folder(tiny.root / "inside")) == files(tiny) == before[0]


def _run(home: str, local: Path) -> tuple[dict, Storage]:
    os.environ.update(EMDS_HOME=home, EMDS_NOW=str(LATER), EMDS_LOCAL_DIR=str(local), EMDS_BUCKET_CACHE_SECONDS="0")
    pipeline = open_context()
    reports, unpublished = ingest(pipeline, LATER)
    assert not unpublished
    assert not any(report.failed for report in reports)
    rows, unreadable = served(pipeline)
    assert not unreadable
    return rows, pipeline.storage


def test_an_ingest_over_a_bucket_writes_what_it_writes_in_a_folder(small, bucket_place):
    copy.copy(Folder(small), bucket_place.open())
    rows, folder = _run(str(small), small)
    over, bucket = _run(bucket_place.address, bucket_place.local)
    assert isinstance(bucket, Bucket)
    assert over == rows
    assert _by_name(folder) == _by_name(bucket)


def _by_name(storage: Storage) -> dict[str, object]:
    """Return monthly files, and raw responses with their requests, without the milliseconds that order them."""
    months = {key: storage.get(key) for prefix in ("series/", "history/") for key in storage.keys(prefix)}
    bodies = [body for key in storage.keys("raw/") if (body := raw.opened(storage, key)) is not None]
    return months | {re.sub(r"/\d{13}-", "/", body.key): (body.request, body.body) for body in bodies}


def test_a_month_that_is_folded_while_it_is_copied_keeps_a_history_that_belongs_to_it(tmp_path, monkeypatch):
    source, target = Folder(tmp_path / "source"), Folder(tmp_path / "target")
    for turn in (1, 2):
        fold(source, "one.fast", BASE, [turn, 5], known_at=turn)
    put, turns = Folder.put, iter((3, 4))

    def folded_meanwhile(folder, at, *rest, **named):
        put(folder, at, *rest, **named)
        if folder is target and at.startswith(layout.history_prefix()) and (turn := next(turns, None)):
            fold(source, "one.fast", BASE, [turn, 5], known_at=turn)

    monkeypatch.setattr(Folder, "put", folded_meanwhile)
    count, _ = copy.copy(source, target)
    assert count == len(files(source)), "nothing is counted that is not there"
    copied = month_versions.read(target, month_versions.Month("demand", "GB", "2026-10"))
    assert sorted(copied.value[copied.ts == BASE].tolist()) == [1, 2, 3, 4]


def test_a_copy_ends_where_the_source_lacks_a_history_and_goes_on_changing(tmp_path, monkeypatch):
    source, target, passes = Folder(tmp_path / "source"), Folder(tmp_path / "target"), []
    for turn in (1, 2):
        fold(source, "one.fast", BASE, [turn, 5], known_at=turn)
    for history in source.keys(layout.history_prefix()):
        source.delete(history)
    keys = Folder.keys

    def changing(folder, prefix):
        if folder is source and prefix == layout.published():
            passes.append(len(passes))
            source.put(layout.published("a.json"), b"%d" * len(passes))
        return keys(folder, prefix)

    monkeypatch.setattr(Folder, "keys", changing)
    copy.copy(source, target)
    assert len(passes) == copy._MOST_PASSES
