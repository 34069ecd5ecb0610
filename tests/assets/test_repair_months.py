"""Check months rebuilt from the raw archive: every row, what was known when, and what cannot be rebuilt."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.fetch.session import Fetched
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from assets.ingest.runs import ingest_days
from tests.assets.demand_feed import DAY, FEED, NOON, START, Publisher, pipeline, run, stored, whole
from tests.stand_ins import damage, stored_rows
from warehouse.documents import manifest
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows
from warehouse.series import damaged, month_versions, raw, restore
from warehouse.series.month_versions import Month
from warehouse.store import layout
from warehouse.store.storage import Folder

pytestmark = pytest.mark.usefixtures("at_noon")
YESTERDAY, BEFORE = DAY - timedelta(days=1), DAY - timedelta(days=2)
MONTH = layout.series("demand", "GB", "2026-06")
ANSWERS = {BEFORE: whole(-96, -48), YESTERDAY: whole(-48, 0), DAY: whole(0, 30)}
CHANCE = random.Random(3)


class _At(Publisher):
    """The same publisher, with responses fetched at a given time."""

    def __init__(self, answers, at: int) -> None:  # type: ignore[no-untyped-def]
        super().__init__(answers)
        self.at = at

    def ask(self, request: Request) -> Fetched:
        return replace(super().ask(request), fetched_at=self.at)


@pytest.fixture
def corrected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Return three days of a feed. An hour later, the publisher corrected today's half-hours from number 20 onwards."""
    made = pipeline(tmp_path, dict(ANSWERS))
    run(made, *ANSWERS)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 3600))
    run(replace(made, session=_At({DAY: whole(0, 20) + b" " + whole(20, 32, 40000)}, NOON + 3590)), DAY)
    monkeypatch.setenv("EMDS_NOW", str(NOON + 7200))
    return made


def known(corrected: PipelineContext, at: int) -> dict[int, float]:
    table = stored_rows.read_as_of(
        corrected.storage, "GB", "demand", Window(START - 90000 * 3, START + 86400), at, corrected.ranks
    )
    return dict(zip(table.column("ts").to_pylist(), table.column("value").to_pylist(), strict=True))


def set_aside(corrected: PipelineContext) -> None:
    month_versions.mark_damaged(corrected.storage, Month(*layout.of_series(MONTH)[:3]))


def lose(corrected: PipelineContext, *keys: str) -> None:
    for key in keys:
        corrected.storage.delete(key)


@pytest.mark.parametrize("lost", ["series", "history", "both"])
def test_a_month_made_again_answers_what_was_known_at_every_instant(corrected: PipelineContext, lost: str) -> None:
    instants = [NOON - 1, NOON + 30, NOON + 3589, NOON + 3600, clock.now()]
    before, served = [known(corrected, at) for at in instants], stored(corrected)
    assert before[0] == {}
    assert before[1] != before[-1]
    histories = corrected.storage.keys(layout.history_prefix())
    assert histories
    lose(corrected, *([MONTH] if lost != "history" else []), *(histories if lost != "series" else []))
    if lost == "history":
        damaged.mark(corrected.storage, histories[0], "is gone")
    elif lost == "series":
        assert manifest.missing(corrected.storage) == [MONTH]
        damaged.mark_gone(corrected.storage, MONTH)
    else:
        damaged.mark(corrected.storage, MONTH, "is gone")
    assert repair.rebuild_marked(corrected) == {"GB"}
    assert [known(corrected, at) for at in instants] == before
    assert stored(corrected) == served
    assert damaged.waiting(corrected.storage) == []


def test_a_run_between_the_loss_and_the_repair_costs_nothing(corrected: PipelineContext) -> None:
    served, before = stored(corrected), known(corrected, NOON + 30)
    assert isinstance(corrected.storage, Folder)
    damage.cut(corrected.storage.path(MONTH), CHANCE)
    run(replace(corrected, session=_At({DAY: whole(0, 20) + b" " + whole(20, 34, 40000)}, NOON + 7190)), DAY)
    with pytest.raises(DamagedFile):
        stored(corrected)
    assert damaged.waiting(corrected.storage) == [MONTH]
    repair.rebuild_marked(corrected)
    assert stored(corrected).items() > served.items()
    assert known(corrected, NOON + 30) == before


def test_a_run_that_meets_a_rebuild_is_in_the_next_one(
    corrected: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's response was kept after the rebuild had read the archive, and its fold found the damaged month."""
    assert isinstance(corrected.storage, Folder)
    served = stored(corrected)
    damage.cut(corrected.storage.path(MONTH), CHANCE)
    set_aside(corrected)
    put = restore.put

    def run_first(*arguments: Any) -> int:
        monkeypatch.setattr(restore, "put", put)
        run(replace(corrected, session=_At({DAY: whole(0, 20) + b" " + whole(20, 34, 40000)}, NOON + 7190)), DAY)
        return put(*arguments)

    monkeypatch.setattr(restore, "put", run_first)
    repair.rebuild_marked(corrected)
    assert stored(corrected) == served
    assert damaged.waiting(corrected.storage) == [MONTH]
    repair.rebuild_marked(corrected)
    assert stored(corrected).items() > served.items()
    assert damaged.waiting(corrected.storage) == []


@pytest.mark.parametrize("loss", ["cut", "gone", "history"])
def test_a_month_is_damaged_until_its_replacement_is_in_place(
    corrected: PipelineContext, killed_at: Callable[[Callable[[], object], int], bool], loss: str
) -> None:
    """However far a killed repair came, a reader gets all rows or a refusal, and the next repair restores all rows."""
    assert isinstance(corrected.storage, Folder)
    served, before = stored(corrected), known(corrected, NOON + 30)
    [history] = corrected.storage.keys(layout.history_prefix())
    damage.cut(corrected.storage.path(history if loss == "history" else MONTH), CHANCE)
    if loss == "gone":
        corrected.storage.delete(MONTH)
        damaged.mark_gone(corrected.storage, MONTH)

    def repairs() -> None:
        set_aside(corrected)
        repair.rebuild_marked(corrected)

    step, refused = 1, 0
    while killed_at(repairs, step):
        for read, rows in ((lambda: stored(corrected), served), (lambda: known(corrected, NOON + 30), before)):
            try:
                assert read() == rows, (step, loss)
            except DamagedFile:
                refused += 1
        step += 1
    assert step > 10
    assert refused
    repairs()
    assert (stored(corrected), known(corrected, NOON + 30)) == (served, before)
    assert damaged.waiting(corrected.storage) == []


def test_a_day_that_no_response_was_requested_for_is_rebuilt_once(tmp_path: Path) -> None:
    """Nets are rebuilt day by day, and several days use a response that covers such a day as well."""
    summing = replace(FEED, combine=lambda rows: rows)
    made = pipeline(tmp_path, {DAY: whole(-48, 30)}, summing)
    ingest_days(made, summing, [MarketDay(DAY, FEED.tz)])
    assert isinstance(made.storage, Folder)
    damage.cut(made.storage.path(MONTH), CHANCE)
    set_aside(made)
    repair.rebuild_marked(made)
    span = Window(START - 86400, START + 86400)
    assert stored_rows.read(made.storage, "GB", "demand", span).num_rows == 78


def test_a_month_that_cannot_be_written_now_keeps_its_mark(corrected: PipelineContext) -> None:
    assert isinstance(corrected.storage, Folder)
    before = stored(corrected)
    set_aside(corrected)
    assert damaged.waiting(corrected.storage) == []
    damage.cut(corrected.storage.path(MONTH), CHANCE)
    set_aside(corrected)
    folder = corrected.storage.path(MONTH).parent
    folder.rename(corrected.storage.path("elsewhere"))
    folder.write_bytes(b"a file where the folder should be")
    repair.rebuild_marked(corrected)
    assert damaged.waiting(corrected.storage) == [MONTH]
    folder.unlink()
    corrected.storage.path("elsewhere").rename(folder)
    repair.rebuild_marked(corrected)
    assert damaged.waiting(corrected.storage) == []
    assert stored(corrected) == before


def test_a_body_lost_too_costs_its_own_days_until_they_are_asked_for_again(corrected: PipelineContext) -> None:
    assert isinstance(corrected.storage, Folder)
    [body] = corrected.storage.keys(layout.raw_prefix(FEED.id, str(YESTERDAY)))
    damage.flip(corrected.storage.path(body), CHANCE)
    damage.cut(corrected.storage.path(MONTH), CHANCE)
    set_aside(corrected)
    repair.rebuild_marked(corrected)
    assert sorted(stored(corrected)) == [-50, -49, *range(32)]
    run(corrected, YESTERDAY)
    assert sorted(stored(corrected)) == list(range(-50, 32))


def test_what_was_pruned_makes_the_month_say_since_when_it_is_known(corrected: PipelineContext) -> None:
    raw.prune(corrected.storage, FEED.id, NOON + 3000)
    corrected.storage.put(layout.PRUNED, str(NOON + 3000).encode())
    lose(corrected, MONTH, *corrected.storage.keys(layout.history_prefix()))
    damaged.mark(corrected.storage, MONTH, "is gone")
    repair.rebuild_marked(corrected)
    from warehouse.series.reader import Reader

    reader = Reader(corrected.storage, 10**6)
    [file] = reader.files("GB", "demand", Window(START, START + 3600))
    assert reader.known_since(file) == NOON + 3000


def test_the_response_to_a_request_for_another_zone_is_not_parsed(corrected: PipelineContext) -> None:
    parsed, served = list[str | None](), stored(corrected)

    def parse(body: bytes, request: Request) -> Rows:
        parsed.append(request.zone)
        return FEED.parse(body, request)

    source = replace(corrected.sources["test"], feeds=(replace(FEED, parse=parse),))
    for zone in ("GB", "FR"):
        request = Request(FEED.id, f"https://example.org/{zone}", days=(DAY,), zone=zone, ext="txt")
        raw.KeptAnswers(corrected.storage, request.feed).keep(request, whole(), NOON + 3590, "simulated")
    lose(corrected, MONTH)
    damaged.mark(corrected.storage, MONTH, "is gone")
    repair.rebuild_marked(replace(corrected, sources={"test": source}))
    assert {*parsed} == {None, "GB"}
    assert stored(corrected).keys() >= served.keys()


@pytest.mark.parametrize("by", ["count", "history"])
def test_a_file_that_is_gone_is_found_by_the_count_or_by_its_history(corrected: PipelineContext, by: str) -> None:
    if by == "count":
        manifest.publish(corrected.storage, NOON, lambda place: 10)
    assert manifest.missing(corrected.storage) == []
    lose(corrected, MONTH, *(corrected.storage.keys(layout.history_prefix()) if by == "count" else ()))
    assert manifest.missing(corrected.storage) == [MONTH]
    assert isinstance(corrected.storage, Folder)
    corrected.storage.path(MONTH).mkdir()
    assert manifest.missing(corrected.storage) == [], "what lies in a file's place is not gone"
