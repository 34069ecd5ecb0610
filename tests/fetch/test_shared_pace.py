"""Processes that ask one publisher together: over PostgreSQL, over a file, and with neither within reach."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from tests.stand_ins.asker import AGAIN_S, Asker
from tests.stand_ins.postgres import Postgres, programs
from tests.stand_ins.publishers import LIMITS, Publishers, answers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL: run `make setup`"),
]
PJM, NEMWEB, ELEXON = "api.pjm.com", "nemweb.com.au", "data.elexon.co.uk"
SIX_A_MINUTE, HALF_A_SECOND, SIXTY_A_MINUTE = "pjm.lmp_da", "aemo.dispatch", "elexon.demand"
"""Feeds of theirs."""
ANSWERED = ["answered", 0]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def publishers(tmp_path: Path) -> Iterator[Publishers]:
    publishers = Publishers(lambda source: time.monotonic())
    with publishers.reach(tmp_path):
        yield publishers


@pytest.fixture(scope="module")
def processes() -> Iterator[list[Asker]]:
    with ExitStack() as running:
        askers = [Asker() for _ in range(3)]
        for asker in askers:
            running.callback(asker.close)
        yield askers


Start = Callable[..., Asker]


@pytest.fixture
def start(processes: list[Asker], publishers: Publishers, tmp_path: Path) -> Start:
    """A process that asks anew, by default with a folder of its own."""
    idle = list(processes)

    def started(url: str = "", home: Path | None = None, skew: float = 0.0) -> Asker:
        folder = home or tmp_path / f"alone-{len(idle)}"
        folder.mkdir(exist_ok=True)
        asker = idle.pop()
        asker.begin(
            publishers.port, tmp_path / "authority.pem", {"EMDS_DATABASE_URL": url, "EMDS_HOME": str(folder)}, skew
        )
        return asker

    return started


@pytest.fixture(params=["postgres", "file"])
def shared(request: pytest.FixtureRequest, postgres: Postgres, start: Start, tmp_path: Path) -> Start:
    """Starts processes that share their pace."""
    postgres.empty()
    (tmp_path / "home").mkdir()
    if request.param == "file":
        return lambda **options: start(home=tmp_path / "home", **options)
    return lambda **options: start(url=postgres.url, **options)


def turns(postgres: Postgres, host: str) -> list[float]:
    """Unix seconds."""
    with psycopg.connect(postgres.url.replace("+psycopg", ""), autocommit=True) as connection:
        query = "SELECT state -> 'turns' FROM publisher_pace WHERE host = %s"
        [(kept,)] = connection.execute(query, (host,)).fetchall()
        return list(kept)


def test_two_processes_keep_one_limit_a_minute(shared: Start, publishers: Publishers) -> None:
    one, other = shared(), shared()
    assert one.ask(SIX_A_MINUTE, 4) == [ANSWERED] * 4
    told = other.ask(SIX_A_MINUTE, 4)
    assert [outcome for outcome, _ in told] == ["answered", "answered", "waits", "waits"]
    assert told[2][1] <= 60, "until the first of the six turns is a minute old"
    assert one.ask(SIX_A_MINUTE)[0][0] == "waits"
    assert len(publishers.requests[PJM]) == LIMITS[PJM].most == 6
    assert publishers.limited[PJM] == 0


def test_two_that_share_nothing_ask_too_often(start: Start, publishers: Publishers) -> None:
    one, other = start(), start()
    one.ask(SIX_A_MINUTE, 4)
    other.ask(SIX_A_MINUTE, 4)
    assert publishers.limited[PJM] > 0


def test_clocks_that_differ_do_not_matter(postgres: Postgres, start: Start, publishers: Publishers) -> None:
    postgres.empty()
    askers = [start(postgres.url, skew=skew) for skew in (0.0, 3600.0, -3600.0)]
    assert [asker.ask(SIX_A_MINUTE, 2) for asker in askers] == [[ANSWERED] * 2] * 3
    for asker in askers:
        [(outcome, wait)] = asker.ask(SIX_A_MINUTE)
        assert outcome == "waits"
        assert wait <= 60
    assert publishers.limited[PJM] == 0


def test_two_that_ask_at_the_same_time_take_turns(postgres: Postgres, start: Start, publishers: Publishers) -> None:
    postgres.empty()
    askers = [start(postgres.url) for _ in range(2)]
    for asker in askers:
        asker.tell("ask", feed=HALF_A_SECOND, times=6, nap=True)
    assert [outcome for asker in askers for outcome, _ in asker.told()] == ["answered"] * 12
    taken, arrivals = turns(postgres, NEMWEB), sorted(publishers.arrivals[NEMWEB])
    assert min(later - turn for turn, later in pairwise(taken)) >= 0.5 - 1e-5
    assert len(taken) == len(arrivals) == 12
    assert all(arrival > turn - 0.05 for turn, arrival in zip(taken, arrivals, strict=True)), "none before its turn"


def test_a_circuit_that_one_opens_keeps_the_other_away(shared: Start, publishers: Publishers) -> None:
    one, other = shared(), shared()
    publishers.break_host(PJM, answers(503, b"", ("retry-after", "600")))
    assert one.ask(SIX_A_MINUTE)[0][0] == f"{PJM} answers 503"
    assert f"{PJM} answers 503; asked again in" in other.ask(SIX_A_MINUTE)[0][0]
    assert len(publishers.requests[PJM]) == 1


def test_a_database_that_goes_away_stops_no_work_and_is_used_again(
    postgres: Postgres, start: Start, publishers: Publishers
) -> None:
    """And who is left alone still knows what all had asked."""
    postgres.empty()
    one, other = start(postgres.url), start(postgres.url)
    assert one.ask(SIX_A_MINUTE, 4) == [ANSWERED] * 4
    assert other.ask(SIX_A_MINUTE) == [ANSWERED]
    assert one.ask(SIXTY_A_MINUTE, 2) == [ANSWERED] * 2
    postgres.stop()
    try:
        assert one.ask(SIXTY_A_MINUTE, 3) == [ANSWERED] * 3
        assert [outcome for outcome, _ in other.ask(SIX_A_MINUTE, 2)] == ["answered", "waits"]
    finally:
        postgres.start()
    assert len(turns(postgres, ELEXON)) == 2
    time.sleep(2 * AGAIN_S)
    assert one.ask(SIXTY_A_MINUTE) == [ANSWERED]
    assert len(turns(postgres, ELEXON)) == 6, "what it asked alone is told"
    assert [line.split(",")[0] for line in one.log()] == [
        "WARNING publishers' pace is not shared for now",
        "INFO publishers' pace is shared again",
    ]
    assert len(publishers.requests[ELEXON]) == 6
    assert publishers.limited[PJM] == 0


def test_a_database_that_never_was_there_costs_a_line_of_log(start: Start) -> None:
    one = start("postgresql://emds:s3cret-and-long@127.0.0.1:9/none")
    assert one.ask(SIXTY_A_MINUTE, 3) == [ANSWERED] * 3
    [line] = one.log()
    assert "not shared for now" in line
    assert "s3cret" not in line
