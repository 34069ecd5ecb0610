"""Rows that were lost with damaged files: which days have to be asked for again, and when nothing has to."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import orjson
import pytest

from assets.ingest import losses, repair
from assets.ingest.context import PipelineContext
from tests.assets.demand_feed import DAY, FEED, NOON, Publisher, pipeline, run, stored, whole
from tests.faults import files
from warehouse import damaged, layout, raw
from warehouse.damaged import Damage
from warehouse.storage import Folder

pytestmark = pytest.mark.usefixtures("at_noon")
YESTERDAY, BEFORE = DAY - timedelta(days=1), DAY - timedelta(days=2)
MONTH = layout.series("demand", "GB", "2026-06")
ANSWERS = {BEFORE: whole(-96, -48), YESTERDAY: whole(-48, 0), DAY: whole(0, 30)}
CHANCE = random.Random(3)


@pytest.fixture
def of(tmp_path: Path) -> PipelineContext:
    """Three days of a feed, one kept body each."""
    made = pipeline(tmp_path, dict(ANSWERS))
    run(made, *ANSWERS)
    made.storage.put(layout.FIRST_DAYS, orjson.dumps({FEED.id: str(BEFORE)}))
    return made


def body_of(of: PipelineContext, day: date) -> Path:
    assert isinstance(of.storage, Folder)
    (key,) = of.storage.keys(layout.raw_prefix(FEED.id, str(day)))
    return of.storage.path(key)


def spoil(of: PipelineContext, day: date) -> None:
    """Changes a body's last byte: what it says of its question can still be read."""
    path = body_of(of, day)
    stored = path.read_bytes()
    path.write_bytes(stored[:-1] + bytes([stored[-1] ^ 1]))


def lose_month(of: PipelineContext) -> None:
    assert isinstance(of.storage, Folder)
    files.cut(of.storage.path(MONTH), CHANCE)
    assert repair.set_aside(of, MONTH)


def test_a_month_that_cannot_be_written_now_waits_and_is_no_loss(of: PipelineContext) -> None:
    assert isinstance(of.storage, Folder)
    before = stored(of)
    lose_month(of)
    folder = of.storage.path(MONTH).parent
    folder.rmdir()
    folder.write_bytes(b"a file where the folder should be")
    repair.rebuild_pending(of)
    [waiting] = damaged.pending(of.storage)
    assert waiting.key == MONTH
    folder.unlink()
    repair.rebuild_pending(of)
    assert damaged.pending(of.storage) == []
    assert stored(of) == before


def asked_for(of: PipelineContext) -> list[str]:
    """What has to be asked for again after what lies aside was made again as far as that goes."""
    repair.rebuild_pending(of)
    return list(losses.to_ask(damaged.pending(of.storage)))


def asks(first: date, last: date) -> str:
    span = f"`emds backfill --feed test.demand --start {first} --end {last}` asks for them again"
    return f"test.demand: rows of {first} to {last} were lost with damaged files: {span}"


@pytest.mark.parametrize("harm", [files.flip, files.cut, files.empty])
def test_a_month_and_one_of_its_bodies_cost_that_bodys_days(of: PipelineContext, harm: files.Harm) -> None:
    harm(body_of(of, YESTERDAY), CHANCE)
    lose_month(of)
    assert asked_for(of) == [asks(YESTERDAY, YESTERDAY)]
    assert sorted(stored(of)) == [-50, -49, *range(30)]
    assert asked_for(of) == [asks(YESTERDAY, YESTERDAY)], "until somebody has asked"
    run(of, YESTERDAY)
    assert asked_for(of) == []
    assert sorted(stored(of)) == list(range(-50, 30))
    settled = {damage.key: damage.settled for damage in damaged.listed(of.storage)}
    assert settled.pop(MONTH) == "made again from the kept bytes: 126 rows"
    assert list(settled.values()) == ["its rows stand in the series; `emds backfill` asks for it again"]


def test_a_month_and_all_of_its_bodies_cost_all_that_was_held(of: PipelineContext) -> None:
    for day in ANSWERS:
        spoil(of, day)
    lose_month(of)
    assert asked_for(of) == [asks(BEFORE, DAY)]


def test_a_damaged_body_alone_costs_nothing(of: PipelineContext) -> None:
    path = body_of(of, YESTERDAY)
    key = str(path.relative_to(of.storage.local))
    files.flip(path, CHANCE)
    damaged.set_aside(of.storage, key, "its bytes are not those that were written")
    assert asked_for(of) == []
    (note,) = damaged.listed(of.storage)
    assert note.settled == "no month file was lost that it was made into; `emds backfill` asks for it again"


def test_days_whose_bodies_are_kept_no_longer_are_told_too(of: PipelineContext) -> None:
    """Neither days before the first that was asked for, nor those that were never brought, nor tomorrow."""
    body_of(of, BEFORE).unlink()
    lose_month(of)
    assert asked_for(of) == [asks(BEFORE, BEFORE)]
    run(of, BEFORE)
    assert asked_for(of) == []


def test_a_publishers_own_hole_is_told_until_it_was_asked_again(
    of: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(of, YESTERDAY)
    lose_month(of)
    later = replace(of, session=_Later({YESTERDAY: whole(-48, -10)}))
    assert asked_for(later) == [asks(YESTERDAY, YESTERDAY)]
    run(later, YESTERDAY)
    assert asked_for(later) == []


class _Later(Publisher):
    """The same publisher an hour later."""

    def ask(self, request):  # type: ignore[no-untyped-def]
        return replace(super().ask(request), fetched_at=NOON + 3600)


def test_what_no_publisher_gives_again_is_said_to_be_lost(of: PipelineContext) -> None:
    (source,) = of.sources.values()
    short = replace(of, sources={"test": replace(source, feeds=(replace(FEED, reach_days=1),))})
    for day in (BEFORE, YESTERDAY):
        spoil(of, day)
    lose_month(of)
    assert asked_for(short) == [asks(YESTERDAY, YESTERDAY)]
    run(short, YESTERDAY)
    assert asked_for(short) == []
    lost = [damage for damage in damaged.listed(of.storage) if str(BEFORE) in damage.settled]
    gone = f"test.demand of {BEFORE} is lost: its publisher keeps that no longer"
    assert {d.settled for d in lost} == {gone, f"made again from the kept bytes: 78 rows; {gone}"}


def test_what_is_damaged_beside_it_keeps_no_month_from_being_made_good(of: PipelineContext) -> None:
    of.storage.put(layout.FIRST_DAYS, b"torn")
    damaged.note(of.storage, f"{layout.raw_prefix(FEED.id)}no day/1-1-deadbeef.txt.zst", "spoilt")
    lose_month(of)
    assert asked_for(of) == []
    assert not damaged.pending(of.storage)
    assert sorted(stored(of)) == list(range(-50, 30))


def test_what_a_damaged_body_still_says_was_asked_is_a_hint_alone() -> None:
    for stored_bytes in (b"", b"torn", b"P*M\x18\x10\x00\x00\x00" + b"{}", b"P*M\x18\xff\xff\xff\xff{"):
        assert raw.stated(stored_bytes) is None


def test_days_that_follow_each_other_are_one_command() -> None:
    days = {"a.b": ("2026-06-01", "2026-06-02", "2026-06-04"), "a.a": ("2026-06-09",)}
    told = list(losses.to_ask([Damage("n", "k", "r", 0, missing=days), Damage("m", "k", "r", 0)]))
    assert [line.split(": ")[0] for line in told] == ["a.a", "a.b", "a.b"]
    assert "--start 2026-06-01 --end 2026-06-02" in told[1]
