"""Months made again from kept bytes: every row, what was known when, and what cannot be made again."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assets.fetch.session import Fetched
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from tests.assets.demand_feed import DAY, FEED, NOON, START, Publisher, pipeline, run, stored, whole
from tests.faults import files
from warehouse import clock, damaged, layout, manifest, raw, series, vintages
from warehouse.clock import Window
from warehouse.errors import StorageError
from warehouse.market import Request
from warehouse.storage import Folder
from warehouse.vintages import Month

pytestmark = pytest.mark.usefixtures("at_noon")
YESTERDAY, BEFORE = DAY - timedelta(days=1), DAY - timedelta(days=2)
MONTH = layout.series("demand", "GB", "2026-06")
ANSWERS = {BEFORE: whole(-96, -48), YESTERDAY: whole(-48, 0), DAY: whole(0, 30)}
CHANCE = random.Random(3)


class _At(Publisher):
    """The same publisher, answering at an instant."""

    def __init__(self, answers, at: int) -> None:  # type: ignore[no-untyped-def]
        super().__init__(answers)
        self.at = at

    def ask(self, request: Request) -> Fetched:
        return replace(super().ask(request), fetched_at=self.at)


@pytest.fixture
def of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Three days of a feed; an hour later the publisher has corrected today's half-hours from 20 on."""
    made = pipeline(tmp_path, dict(ANSWERS))
    run(made, *ANSWERS)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 3600))
    run(replace(made, session=_At({DAY: whole(0, 20) + b" " + whole(20, 32, 40000)}, NOON + 3590)), DAY)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 7200))
    return made


def known(of: PipelineContext, at: int) -> dict[int, float]:
    table = series.read_as_of(of.storage, "GB", "demand", Window(START - 90000 * 3, START + 86400), at, of.ranks)
    return dict(zip(table.column("ts").to_pylist(), table.column("value").to_pylist(), strict=True))


def set_aside(of: PipelineContext) -> None:
    vintages.set_aside(of.storage, Month(*layout.of_series(MONTH)[:3]), of.ranks, of.mode)


def lose(of: PipelineContext, *keys: str) -> None:
    for key in keys:
        of.storage.delete(key)


@pytest.mark.parametrize("lost", ["series", "history", "both"])
def test_a_month_made_again_answers_what_was_known_at_every_instant(of: PipelineContext, lost: str) -> None:
    instants = [NOON - 1, NOON + 30, NOON + 3589, NOON + 3600, clock.now()]
    before, served = [known(of, at) for at in instants], stored(of)
    assert before[0] == {}
    assert before[1] != before[-1]
    histories = of.storage.keys(layout.history_prefix())
    assert histories
    lose(of, *([MONTH] if lost != "history" else []), *(histories if lost != "series" else []))
    if lost == "history":
        damaged.set_aside(of.storage, histories[0], "is gone")
    elif lost == "series":
        assert manifest.missing(of.storage) == [MONTH]
        damaged.mark_gone(of.storage, MONTH)
    else:
        damaged.set_aside(of.storage, MONTH, "is gone")
    assert repair.rebuild_marked(of) == {"GB"}
    assert [known(of, at) for at in instants] == before
    assert stored(of) == served
    assert damaged.waiting(of.storage) == []


def test_a_run_between_the_loss_and_the_repair_costs_nothing(of: PipelineContext) -> None:
    served, before = stored(of), known(of, NOON + 30)
    assert isinstance(of.storage, Folder)
    files.cut(of.storage.path(MONTH), CHANCE)
    run(replace(of, session=_At({DAY: whole(0, 20) + b" " + whole(20, 34, 40000)}, NOON + 7190)), DAY)
    assert len(stored(of)) < len(served)
    assert damaged.waiting(of.storage) == [MONTH]
    repair.rebuild_marked(of)
    assert stored(of).items() > served.items()
    assert known(of, NOON + 30) == before


def test_a_month_that_cannot_be_written_now_keeps_its_mark(of: PipelineContext) -> None:
    assert isinstance(of.storage, Folder)
    before = stored(of)
    set_aside(of)
    assert damaged.waiting(of.storage) == []
    files.cut(of.storage.path(MONTH), CHANCE)
    set_aside(of)
    folder = of.storage.path(MONTH).parent
    folder.rename(of.storage.path("elsewhere"))
    folder.write_bytes(b"a file where the folder should be")
    repair.rebuild_marked(of)
    assert damaged.waiting(of.storage) == [MONTH]
    folder.unlink()
    of.storage.path("elsewhere").rename(folder)
    repair.rebuild_marked(of)
    assert damaged.waiting(of.storage) == []
    assert stored(of) == before


def test_a_month_whose_bodies_cannot_be_read_now_keeps_its_mark(
    of: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = stored(of), Folder.get
    lose(of, MONTH)
    damaged.set_aside(of.storage, MONTH, "is gone")

    def refused(self: Folder, key: str) -> bytes | None:
        if key.startswith(layout.RAW):
            raise StorageError(f"{key} cannot be read: too many open files")
        return real(self, key)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "get", refused)
        repair.rebuild_marked(of)
    assert damaged.waiting(of.storage) == [MONTH]
    repair.rebuild_marked(of)
    assert stored(of) == before


def test_a_body_lost_too_costs_its_own_days_until_they_are_asked_for_again(of: PipelineContext) -> None:
    assert isinstance(of.storage, Folder)
    [body] = of.storage.keys(layout.raw_prefix(FEED.id, str(YESTERDAY)))
    files.flip(of.storage.path(body), CHANCE)
    files.cut(of.storage.path(MONTH), CHANCE)
    set_aside(of)
    repair.rebuild_marked(of)
    assert sorted(stored(of)) == [-50, -49, *range(32)]
    run(of, YESTERDAY)
    assert sorted(stored(of)) == list(range(-50, 32))


def test_what_was_pruned_makes_the_month_say_since_when_it_is_known(of: PipelineContext) -> None:
    raw.prune(of.storage, FEED.id, NOON + 3000)
    of.storage.put(layout.PRUNED, str(NOON + 3000).encode())
    lose(of, MONTH, *of.storage.keys(layout.history_prefix()))
    damaged.set_aside(of.storage, MONTH, "is gone")
    repair.rebuild_marked(of)
    from warehouse.reader import Reader

    reader = Reader(of.storage, 10**6)
    [file] = reader.files("GB", "demand", Window(START, START + 3600))
    assert reader.known_since(file) == NOON + 3000


@pytest.mark.parametrize("by", ["count", "history"])
def test_a_file_that_is_gone_is_found_by_the_count_or_by_its_history(of: PipelineContext, by: str) -> None:
    if by == "count":
        manifest.publish(of.storage, NOON, lambda place: 10)
    assert manifest.missing(of.storage) == []
    lose(of, MONTH, *(of.storage.keys(layout.history_prefix()) if by == "count" else ()))
    assert manifest.missing(of.storage) == [MONTH]
    assert isinstance(of.storage, Folder)
    of.storage.path(MONTH).mkdir()
    assert manifest.missing(of.storage) == [], "what lies in a file's place is not gone"


def test_a_publication_marks_what_is_gone_before_it_forgets_it(of: PipelineContext) -> None:
    manifest.publish(of.storage, NOON, lambda place: 10)
    lose(of, MONTH)
    manifest.publish(of.storage, NOON, lambda place: 10)
    assert damaged.waiting(of.storage) == [MONTH]
    assert manifest.missing(of.storage) == []
