"""Precomputed windows: whatever is folded, published and asked when, they say what computing says, or nothing."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.documents import catalogue as catalogues
from api.documents.cache import DocumentCache
from api.series import horizon as answers
from api.series.horizon import WindowQuestion
from assets.documents.publish import publish
from assets.documents.windows import windows
from tests.api.conftest import Rig
from tests.api.declared_sources import SOURCES, feed, source
from warehouse import artefact, horizon, layout
from warehouse.clock import DAY, HOUR, instant
from warehouse.horizon_document import COMMON
from warehouse.market import Metric
from warehouse.reader import Reader

QUARTER = 900
BASES = [
    instant(text)
    for text in (
        "2026-03-30T12:00:00Z",
        "2026-03-28T20:00:00Z",  # the clocks go forward that night
        "2026-10-24T18:00:00Z",  # back
        "2026-02-28T18:00:00Z",  # a month ends
    )
]
EAST = source("east", (feed("east.price", ("DE-LU",), (Metric.PRICE,), "15m", 5),))
STEPS = {"15m": QUARTER, "1h": HOUR}


def asked(seconds: int = HOUR, within: int | None = None, kind: Any = "lowest", zone: str = "DE-LU") -> WindowQuestion:
    return WindowQuestion(zone, Metric.PRICE, seconds, within, kind)


@dataclasses.dataclass
class Market:
    """A rig whose DE-LU has prices of two publishers, and one worker that reads it."""

    rig: Rig
    reader: Reader = dataclasses.field(init=False)
    documents: DocumentCache = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.reader, self.documents = Reader(self.rig.storage, 4_000_000), DocumentCache(self.rig.storage)

    def fold(self, start: int, values: list[float], resolution: str, publisher: str, known_at: int) -> None:
        step = STEPS[resolution]
        rows = [(start + n * step, value) for n, value in enumerate(values)]
        self.rig.put(f"{publisher}.price", "DE-LU", "price", rows, "EUR/MWh", resolution, known_at)

    def put(self, now: int) -> None:
        """Puts DE-LU's document alone, as `publish` does."""
        version, withheld = artefact.new_version(), catalogues.current(self.documents).withheld
        body = windows(self.rig.storage, "DE-LU", withheld, now)
        name = layout.windows("DE-LU")
        if body is None:
            artefact.withdraw(self.rig.storage, name, version)
        else:
            artefact.put(self.rig.storage, name, artefact.encode(body), version)

    def bodies(self, question: WindowQuestion, now: int) -> tuple[Any, Any]:
        """What is answered with documents, and without."""
        described = catalogues.current(self.documents)
        return (
            answers.answer(self.reader, described, question, now, self.documents),
            answers.answer(self.reader, described, question, now),
        )


def opened(home: Path) -> Market:
    rig = Rig(home, sources={**SOURCES, "east": EAST})
    rig.publish()
    return Market(rig)


@pytest.fixture
def market(tmp_path: Path) -> Market:
    return opened(tmp_path / "home")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by each answer that is computed."""
    counts: list[int] = []
    search = horizon.find

    def counting(*given: Any) -> Any:
        counts.append(1)
        return search(*given)

    monkeypatch.setattr(answers.horizon, "find", counting)
    return counts


PRICES = st.decimals(-60, 90, places=1, allow_nan=False).map(float)
FOLD = st.tuples(
    st.just("fold"),
    st.integers(-8, 3 * 96),
    st.lists(st.one_of(PRICES, st.sampled_from([0.0, -5.0, 20.0])), min_size=1, max_size=40),
    st.sampled_from(sorted(STEPS)),
    st.sampled_from(["north", "east"]),
)
TURN = st.one_of(
    FOLD,
    st.tuples(st.just("publish"), st.integers(0, 2 * HOUR)),
    st.tuples(st.just("rights"), st.booleans()),
    st.tuples(st.just("wait"), st.one_of(st.integers(0, QUARTER), st.integers(0, 30 * HOUR))),
)
QUESTION = st.one_of(
    st.sampled_from(COMMON).map(asked),
    st.builds(
        asked,
        st.sampled_from([HOUR, 5 * QUARTER, 5 * HOUR, 24 * HOUR]),
        st.sampled_from([None, 2 * HOUR, 26 * HOUR]),
        st.sampled_from(["lowest", "highest"]),
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(BASES), st.lists(st.tuples(TURN, QUESTION), min_size=2, max_size=8))
def test_precomputed_equals_computed(base: int, turns: list[tuple[Any, WindowQuestion]]) -> None:
    """A published document answers at once, after later folds, rights and clocks: never otherwise than the rows do."""
    home = Path(mkdtemp())
    try:
        market, now = opened(home), base
        market.fold(base - base % HOUR, [float(50 - n % 13) for n in range(40)], "1h", "north", 1)
        market.put(now)
        for known_at, ((what, *given_), question) in enumerate(turns, 2):
            if what == "fold":
                place, values, resolution, publisher = given_
                step = STEPS[resolution]
                market.fold((base + place * QUARTER) // step * step, values, resolution, publisher, known_at)
            elif what == "publish":
                market.put(now + given_[0])
            elif what == "rights":
                shut = dataclasses.replace(EAST, withheld=given_[0])
                market.rig.sources["east"] = shut
                market.rig.publish()
            else:
                now += given_[0]
            published, fresh = market.bodies(question, now)
            assert published == fresh
    finally:
        shutil.rmtree(home)


def day_ahead(market: Market, now: int) -> None:
    """Hours of a known day and quarter hours of the next one."""
    market.fold(now - now % HOUR - HOUR, [float(-3 + n * 7 % 11) for n in range(20)], "1h", "north", 1)
    market.fold(now - now % HOUR + 19 * HOUR, [float(n * 5 % 17) for n in range(60)], "15m", "east", 2)


@pytest.mark.parametrize("seconds", COMMON)
def test_a_common_length_is_answered_without_computing(market: Market, computed: list[int], seconds: int) -> None:
    now = BASES[0] + 600
    day_ahead(market, now)
    publish(market.rig.storage, now, ["DE-LU"])
    computed.clear()
    for at in (BASES[0], now, BASES[0] + HOUR - 1):
        published, fresh = market.bodies(asked(seconds), at)
        assert published.available
        assert published == fresh
    assert len(computed) == 3


def test_other_questions_are_computed(market: Market, computed: list[int]) -> None:
    now = BASES[0]
    day_ahead(market, now)
    publish(market.rig.storage, now, ["DE-LU"])
    for question in (asked(5 * HOUR), asked(HOUR, within=DAY), asked(HOUR, kind="highest")):
        computed.clear()
        published, fresh = market.bodies(question, now)
        assert (published, len(computed)) == (fresh, 2)


def test_the_next_interval_and_newer_rows_are_computed(market: Market, computed: list[int]) -> None:
    now = BASES[0]
    day_ahead(market, now)
    publish(market.rig.storage, now, ["DE-LU"])
    computed.clear()
    later, fresh = market.bodies(asked(), now + HOUR)
    assert later == fresh
    assert later.body["horizon"]["from"] == now + HOUR
    assert len(computed) == 2
    market.fold(now + 2 * HOUR, [-500.0], "1h", "north", 3)
    newer, fresh = market.bodies(asked(), now)
    assert newer == fresh
    assert newer.body["mean"] == -500
    assert len(computed) == 4


def test_rows_that_may_no_longer_leave_are_computed_without(market: Market, computed: list[int]) -> None:
    now = BASES[0]
    day_ahead(market, now)
    publish(market.rig.storage, now, ["DE-LU"])
    market.rig.sources["east"] = dataclasses.replace(EAST, withheld=True)
    market.rig.publish()
    computed.clear()
    closed, fresh = market.bodies(asked(), now)
    assert (closed, len(computed)) == (fresh, 2)
    assert closed.body["horizon"]["until"] == now + 19 * HOUR
    assert "East" not in closed.body["attribution"]
    publish(market.rig.storage, now, ["DE-LU"])
    assert artefact.load(market.rig.storage, layout.windows("DE-LU")) is None


def test_a_damaged_document_is_computed_over(market: Market, computed: list[int]) -> None:
    now = BASES[0]
    day_ahead(market, now)
    publish(market.rig.storage, now, ["DE-LU"])
    key = layout.published(layout.windows("DE-LU"))
    body = market.rig.storage.get(key) or b""
    market.rig.storage.put(key, body.replace(b'"min":', b'"mix":', 1))
    computed.clear()
    published, fresh = market.bodies(asked(), now)
    assert (published, len(computed)) == (fresh, 2)


def test_a_zone_without_prices_ahead_has_no_document(market: Market) -> None:
    now = BASES[0]
    for zone in ("GB", "US-NYISO"):
        market.rig.put("north.price", zone, "price", [(now + n * HOUR, 5.0) for n in range(-48, 24)], "GBP/MWh", "1h")
    publish(market.rig.storage, now, ["GB", "US-NYISO"])
    assert market.rig.storage.stat(layout.published(layout.windows("GB"))) is None
    assert artefact.load(market.rig.storage, layout.windows("US-NYISO")) is None
    auction = [(now + n * HOUR, float(n)) for n in range(-2, 9)]
    market.rig.put("north.auction", "US-NYISO", "price_day_ahead", auction, "USD/MWh", "1h")
    publish(market.rig.storage, now, ["US-NYISO"])
    body = artefact.load(market.rig.storage, layout.windows("US-NYISO"))
    assert [body["blocks"][str(seconds)]["mean"] for seconds in COMMON[:2]] == [0, 0.5]
