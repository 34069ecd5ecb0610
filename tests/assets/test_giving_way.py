"""A backfill lets its publisher's pool go for runs of higher priority, and goes on where it was afterwards."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets import giving_way
from assets.feeds import series_asset
from assets.fetch.session import Fetched
from assets.giving_way import BACKFILL, LIVE_PRIORITY, OLD_PRIORITY, PRIORITY, Slot, priority_of
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, partitions_of, pool_of
from tests.assets.test_series_asset import DAYS, FEED, FIRST, SOURCE
from warehouse import clock
from warehouse.market import Request
from warehouse.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
POOL, STEP = pool_of(SOURCE), "neso__test"
LIVE = {"source": "neso", PRIORITY: str(LIVE_PRIORITY)}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as made:
        made.event_log_storage.set_concurrency_slots(POOL, 1)
        yield made


@pytest.fixture
def instance(storage: dg.DagsterInstance) -> dg.DagsterInstance:
    """Without runs, and with a pool of one free slot."""
    for run in storage.get_runs():
        storage.delete_run(run.run_id)
    assert not holders(storage)
    return storage


def waiting(instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.DagsterRun:
    """A run that waits for the publisher's pool. (One of the run queue's needs a code server: see test_ui.)"""
    run = dg.DagsterRun(job_name="neso_every_30m", tags=tags, status=dg.DagsterRunStatus.STARTING)
    return instance.add_run(run)


def end(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    instance.report_run_canceled(run)


class Clock:
    """A clock that goes on by ten seconds at each look; `meanwhile` is what others do in a sleep."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.now, self.slept, self.meanwhile = 0.0, 0, meanwhile

    def tick(self) -> float:
        self.now += 10
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        self.meanwhile()


def slot_of(instance: dg.DagsterInstance, tags: dict[str, str], clock: Clock) -> tuple[dg.DagsterRun, Slot]:
    """A run that holds the pool's only slot."""
    run = instance.add_run(dg.DagsterRun(job_name="backfill", tags=tags, status=dg.DagsterRunStatus.STARTED))
    assert instance.event_log_storage.claim_concurrency_slot(POOL, run.run_id, STEP).is_claimed
    return run, Slot(instance, run, STEP, "neso", POOL, clock.tick, clock.sleep)


def holders(instance: dg.DagsterInstance) -> set[str]:
    return {slot.run_id for slot in instance.event_log_storage.get_concurrency_info(POOL).claimed_slots}


def test_the_priority_of_a_run_is_its_tag_and_that_of_a_backfill_is_low() -> None:
    def of(**tags: str) -> int:
        return priority_of(dg.DagsterRun(job_name="a", tags={name.replace("__", "/"): v for name, v in tags.items()}))

    assert [of(), of(dagster__backfill="x"), of(emds__history="x")] == [0, OLD_PRIORITY, OLD_PRIORITY]
    assert [of(dagster__priority="10"), of(dagster__backfill="x", dagster__priority="-3")] == [10, -3]
    assert of(dagster__priority="high") == 0


def test_the_slot_is_free_while_live_data_waits_and_claimed_again_after(instance: dg.DagsterInstance) -> None:
    clock = Clock()
    own, slot = slot_of(instance, {BACKFILL: "old"}, clock)
    live = waiting(instance, LIVE)
    storage, held = instance.event_log_storage, []

    def serve() -> None:
        held.append(holders(instance))
        if storage.claim_concurrency_slot(POOL, live.run_id, "live").is_claimed:
            storage.free_concurrency_slot_for_step(live.run_id, "live")
            end(instance, live)

    clock.meanwhile = serve
    slot.give_way()
    assert held == [set()]
    assert holders(instance) == {own.run_id}


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({BACKFILL: "old"}, {"source": "elexon", PRIORITY: "10"}),
        ({PRIORITY: "10"}, LIVE),
        ({BACKFILL: "old", PRIORITY: "20"}, LIVE),
        ({}, {"source": "neso", BACKFILL: "other"}),
    ],
)
def test_no_way_is_given_to_another_publisher_or_to_a_lower_priority(
    instance: dg.DagsterInstance, own: dict[str, str], other: dict[str, str]
) -> None:
    clock = Clock()
    run, slot = slot_of(instance, own, clock)
    waiting(instance, other)
    slot.give_way()
    assert (clock.slept, holders(instance)) == (0, {run.run_id})


def test_way_is_given_to_a_persons_own_run_of_the_publishers_asset(instance: dg.DagsterInstance) -> None:
    clock = Clock()
    _, slot = slot_of(instance, {BACKFILL: "old"}, clock)
    chosen = frozenset({asset_key(FEED)})
    run = dg.DagsterRun(job_name="__ASSET_JOB", asset_selection=chosen, status=dg.DagsterRunStatus.STARTING)
    instance.add_run(run)
    clock.meanwhile = lambda: end(instance, run)
    slot.give_way()
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.CANCELED


def test_a_run_that_never_starts_is_waited_for_once(instance: dg.DagsterInstance) -> None:
    clock = Clock()
    own, slot = slot_of(instance, {BACKFILL: "old"}, clock)
    waiting(instance, LIVE)
    slot.give_way()
    slept = clock.slept
    assert 10 < slept < giving_way.LONGEST_S
    assert holders(instance) == {own.run_id}
    slot.give_way()
    assert clock.slept == slept


def test_a_run_that_is_cancelled_while_it_waits_leaves_no_place_in_the_queue(instance: dg.DagsterInstance) -> None:
    clock = Clock()
    _, slot = slot_of(instance, {BACKFILL: "old"}, clock)
    live = waiting(instance, LIVE)
    storage = instance.event_log_storage

    def interrupt() -> None:
        if live.run_id in holders(instance):
            raise KeyboardInterrupt
        storage.claim_concurrency_slot(POOL, live.run_id, "live")
        end(instance, live)

    clock.meanwhile = interrupt
    with pytest.raises(KeyboardInterrupt):
        slot.give_way()
    pool = storage.get_concurrency_info(POOL)
    assert {step.run_id for step in pool.pending_steps} == {live.run_id}


class Publisher:
    """Every day; at the tenth request a run of live data is queued, which is served by a thread of its own."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance, self.asked, self.served_after = instance, 0, -1

    def ask(self, request: Request) -> Fetched:
        self.asked += 1
        if self.asked == 10:
            self.live = waiting(self.instance, LIVE)
            self.thread = threading.Thread(target=self.serve)
            self.thread.start()
        return Fetched(request, str(request.days[0]).encode(), 1_800_000_000)

    def serve(self) -> None:
        storage = self.instance.event_log_storage
        for _ in range(600):
            if storage.claim_concurrency_slot(POOL, self.live.run_id, "live").is_claimed:
                break
            threading.Event().wait(0.05)
        self.served_after = self.asked
        storage.free_concurrency_slot_for_step(self.live.run_id, "live")
        end(self.instance, self.live)


def test_a_backfill_in_dagster_gives_way_between_two_requests_and_finishes(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-02-11T12:00:00Z")
    monkeypatch.setattr(giving_way, "LOOK_EVERY_S", 0.0)
    publisher = Publisher(instance)
    pipeline = PipelineContext(
        Folder(tmp_path / "home"),
        "simulated",
        {"neso": SOURCE},
        (),
        {FEED.id: 1},
        {"neso"},
        publisher,
        lambda f, d: f.requests(d, clock.now()),
    )
    asset = series_asset(SOURCE, FEED, partitions_of(FEED, FIRST))
    days = {"dagster/asset_partition_range_start": str(DAYS[0]), "dagster/asset_partition_range_end": str(DAYS[-1])}
    result = dg.materialize(
        [asset], instance=instance, resources={"pipeline": pipeline}, tags={**days, BACKFILL: "old"}
    )
    publisher.thread.join(60)
    assert result.success
    assert publisher.served_after == 10, "before the backfill's next request, not after its last"
    assert publisher.asked == len(DAYS)
    assert instance.get_materialized_partitions(asset_key(FEED)) == {str(FIRST + timedelta(i)) for i in range(22)}
    assert not holders(instance)
