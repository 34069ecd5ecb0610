"""A copy that was stopped: every verb tells it from a warehouse that lost its mode, and only `emds copy` goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from orchestration import copy
from orchestration.cli import main
from tests.stand_ins.places import Place
from warehouse import half_copy, layout, modes, release
from warehouse.errors import HalfCopy, StorageError
from warehouse.storage import Folder, Storage


@pytest.fixture
def tiny(tmp_path: Path) -> Folder:
    """A warehouse of few files, which nobody reads."""
    storage = Folder(tmp_path / "tiny")
    storage.put(layout.MODE, b"simulated")
    release.stamp(storage)
    for number in range(3):
        storage.put(layout.raw("elexon.price", "2026-11-01", number, number, "deadbeef", "json"), b"kept")
    return storage


def _copy(source: Folder, target: Storage) -> None:
    copy.copy(source, target)


def _bytes(storage: Storage) -> dict[str, bytes | None]:
    keys = [layout.MODE, layout.SCHEMA, layout.COPIED_FROM, *storage.keys(layout.RAW)]
    return {key: storage.get(key) for key in keys if storage.stat(key) is not None}


@pytest.mark.slow
def test_a_copy_killed_at_any_step_is_half_a_copy_or_whole_and_goes_on(tiny: Folder, place: Place) -> None:
    step, seen = 1, set()
    while place.killed_at(partial(_copy, tiny), step):
        target = place.open()
        try:
            mode = modes.kept(target)
        except HalfCopy as error:
            mode = str(error)
            assert f"a copy of {tiny} into this place was stopped" in mode
        else:
            assert not _bytes(target) if mode is None else _bytes(tiny).items() <= _bytes(target).items()
        seen.add(mode)
        if _bytes(target) != _bytes(tiny):  # but where the kill came behind the very last step
            copy.copy(tiny, target)
        assert _bytes(place.open()) == _bytes(tiny)
        for key in _bytes(target):
            target.delete(key)
        step += 1
    assert len(seen) == 3, "killed before the mark, under it, and behind the mode"


def test_a_copy_killed_behind_its_last_file_is_a_warehouse_of_its_own(
    tiny: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it was given since is not taken away by a copy that goes on."""
    target = Folder(tmp_path / "target")
    copy.copy(tiny, target)
    target.put(layout.COPIED_FROM, str(tiny).encode())
    own = layout.raw("elexon.price", "2026-11-02", 1, 1, "deadbeef", "json")
    target.put(own, b"its own")
    assert main(["copy", str(tiny), str(target)]) == 0
    assert target.stat(own) is not None
    target.put(layout.COPIED_FROM, str(tiny).encode())
    monkeypatch.setenv("EMDS_HOME", str(target))
    assert main(["publish"]) == 0
    assert target.stat(layout.COPIED_FROM) is None
    assert main(["copy", str(tiny), str(target)]) == 1
    assert "holds a warehouse already" in capsys.readouterr().err


def test_nobody_makes_a_warehouse_of_a_place_into_which_a_copy_has_begun(tiny: Folder, tmp_path: Path) -> None:
    target = Folder(tmp_path / "target")
    half_copy.begin(target, str(tiny))
    for ask in (modes.of, modes.kept, partial(modes.claim, wanted="live")):
        with pytest.raises(HalfCopy):
            ask(target)
    with pytest.raises(StorageError, match="was stopped"):
        copy.copy(target, Folder(tmp_path / "third"))
    assert target.stat(layout.MODE) is None


@pytest.fixture
def half(tmp_path: Path, backfilled: Callable[..., Folder], monkeypatch: pytest.MonkeyPatch) -> tuple[Folder, Folder]:
    """A warehouse, and half a copy of it as the environment's own."""
    source, target = backfilled(tmp_path / "home", "neso.generation"), Folder(tmp_path / "half of it")
    copy.copy(source, target)
    target.delete(layout.MODE)
    target.delete(layout.series("generation", "GB", "2026-11"))
    target.delete(layout.published(layout.SNAPSHOT))
    half_copy.begin(target, str(source))
    monkeypatch.setenv("EMDS_HOME", str(target))
    return source, target


@pytest.mark.parametrize("verb", ["verify", "doctor", "repair", "ingest", "publish", "rebuild", "gaps"])
def test_each_verb_says_that_the_copy_goes_on_and_changes_nothing(
    half: tuple[Folder, Folder], verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = half
    before = {key: target.stat(key) for prefix in layout.KEPT for key in target.keys(prefix)}
    assert main([verb]) == 1
    told = "".join(capsys.readouterr())
    assert f"a copy of {source} into this place was stopped" in told
    assert f"`emds copy {source} '{target}'` goes on" in told
    assert "emds repair" not in told
    assert target.stat(layout.MODE) is None
    assert {key: target.stat(key) for prefix in layout.KEPT for key in target.keys(prefix)} == before


def test_half_a_copy_goes_on_after_a_repair_was_refused(half: tuple[Folder, Folder]) -> None:
    source, target = half
    assert main(["repair"]) == 1
    assert main(["copy", str(source), str(target)]) == 0
    assert main(["verify"]) == 0
    assert target.stat(layout.COPIED_FROM) is None
    assert target.keys(layout.published()) == source.keys(layout.published())


def test_half_a_copy_of_an_older_release_bears_no_mark_and_goes_on(half: tuple[Folder, Folder]) -> None:
    source, target = half
    target.delete(layout.COPIED_FROM)
    assert main(["copy", str(source), str(target)]) == 0
    assert main(["verify"]) == 0


def test_a_copy_into_itself_either_way_is_refused(
    tiny: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tiny.root)
    bucket = "s3://emds/{}?endpoint=http://127.0.0.1:9"
    for first, second in (
        (f"{tiny}", f"{tiny}/sub"),
        (f"{tiny}/sub", f"{tiny}"),
        (f"{tiny}", f"{tmp_path}/link/sub"),
        (bucket.format("a"), bucket.format("a/b")),
        (bucket.format("a/b"), bucket.format("")),
    ):
        assert main(["copy", first, second]) == 1
        assert "one place lies inside the other" in capsys.readouterr().err
    assert not (tiny.root / "sub").exists()
    assert main(["copy", str(tiny), f"{tiny}er"]) == 0
