"""Test the cost of long windows: what is read, pages that end early, refusals, and two requests at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from api.series import expensive
from tests.api.conftest import NOW, Rig, _rig_at, asking
from warehouse.market.clock import DAY, HOUR, Window, month_window
from warehouse.series.reader import MonthFile, Reader

ZONES = ("DE-LU", "FR", "GB")
DAYS = 400
START = NOW - DAYS * DAY
WINDOW = f"start={START}&end={NOW}"
SEVERAL = f"/v1/price?zones={','.join(ZONES)}&{WINDOW}"


def fill(rig: Rig) -> None:
    """Store thirteen months of hours for three zones, each with its own gap, and for GB's interchange."""
    for number, zone in enumerate(ZONES):
        rows = rig.every(START, HOUR, DAYS * 24, lambda i, number=number: round(50 + number + i % 91 / 7, 2))
        hole = range(START + (50 + 40 * number) * DAY, START + (90 + 40 * number) * DAY)
        unit = "GBP/MWh" if zone == "GB" else "EUR/MWh"
        rig.put("north.price", zone, "price", [row for row in rows if row[0] not in hole], unit, "1h")
    for link, name in (("ifa", "FR"), ("britned", "NL"), (None, None)):
        own = {} if name is None else {"counterparty": name, "link": link}
        rig.put("north.grid", "GB", "interchange", rig.every(START, HOUR, DAYS * 24), "MW", "1h", **own)
    rig.publish()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with _rig_at(tmp_path_factory.mktemp("long") / "home") as rig:
        fill(rig)
        yield rig


@pytest.fixture(scope="module")
def ask(filled: Rig) -> Any:
    return asking(filled)


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> list[MonthFile]:
    """Return the list of monthly files whose rows are read."""
    read, rows = list[MonthFile](), Reader.rows

    def counted(reader: Reader, file: MonthFile, side: Any, window: Window | None = None) -> Any:
        read.append(file)
        return rows(reader, file, side, window)

    monkeypatch.setattr(Reader, "rows", counted)
    return read


def walked(ask: Any, path: str) -> tuple[list[Any], list[Any], int]:
    """Return the rows, the gaps and the number of all pages."""
    rows, gaps, pages = list[Any](), list[Any](), 0
    while path:
        body = ask(path)
        rows, gaps, pages = rows + body["data"], gaps + body["gaps"], pages + 1
        assert body["start"] <= body["end"]
        assert body["truncated"] == ("Link" in ask.last.headers)
        path = ask.last.headers.get("Link", "").partition(">")[0].removeprefix("<http://emds.example")
    return rows, gaps, pages


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("interval", ["", "&interval=1h", "&interval=1d", "&interval=1w", "&interval=1mo"])
@pytest.mark.parametrize("path", [SEVERAL, f"/v1/price/GB?{WINDOW}"])
def test_pages_that_end_early_hold_the_same_rows_in_the_same_order(
    ask: Any, monkeypatch: pytest.MonkeyPatch, path: str, interval: str, order: str
) -> None:
    path = f"{path}{interval}&order={order}&limit=5000"
    whole, _, pages = walked(ask, path)
    monkeypatch.setattr(expensive, "MOST_WORK", 0)
    rows, _, more = walked(ask, f"{path}&time=utc")  # a different request, so that nothing is cached
    assert [{name: row[name] for name in row if name != "time"} for row in rows] == whole
    assert more > pages
    assert more <= 40


def test_a_sample_reads_back_no_further_than_its_rows(ask: Any, files_read: list[MonthFile]) -> None:
    assert ask(f"{SEVERAL}&interval=1d&sample=true")["count"] in (48, 49, 50)
    assert {file.month for file in files_read} <= {"2026-02", "2026-03"}
    files_read.clear()
    body = ask(f"/v1/price/GB?{WINDOW}&stats=true&sample=true")
    assert {file.month for file in files_read} == {"2026-03"}
    assert (body["statistics"]["count"], body["start"]) == (50, START + (DAYS * 24 - 50) * HOUR)


def test_a_sample_that_ends_before_its_first_row_has_no_statistics(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expensive, "MOST_WORK", 0)
    body = ask(f"/v1/price/GB?start={START}&end={START + 169 * DAY}&stats=true&sample=true")  # ends in a gap
    assert body["statistics"] is None
    assert START < body["start"] < body["end"]


def test_a_page_reads_each_zone_no_further_than_it_reaches(ask: Any, files_read: list[MonthFile]) -> None:
    assert ask(f"{SEVERAL}&interval=1d&limit=60")["count"] == 60
    assert len({file.month for file in files_read}) <= 3, "twenty days of each zone"


def test_the_third_expensive_request_is_503_and_costs_nothing(filled: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    client = filled.client()
    key = filled.key(client)
    monkeypatch.setattr(expensive, "EXPENSIVE", 0)
    path = f"/v1/price/GB?{WINDOW}&interval=1d"
    with expensive._RUNNING, expensive._RUNNING:
        for each in (path, f"/v1/price/GB?{WINDOW}&stats=true"):
            refused = client.get(each, headers=key)
            assert (refused.status_code, refused.json["type"].rpartition("/")[2]) == (503, "overloaded")
            assert refused.headers["Retry-After"] == "2"
        assert client.get(f"/v1/price/GB?{WINDOW}", headers=key).status_code == 200, "rows alone are cheap"
    assert client.get("/v1/usage", headers=key).json["quota"]["used"] == 1
    assert client.get(path, headers=key).status_code == 200
    assert client.get(f"/v1/price/GB?{WINDOW}&stats=true", headers=key).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/price/GB?{WINDOW}&stats=true",
        f"/v1/price/GB?{WINDOW}&as_of={NOW - HOUR}",
        f"/v1/interchange?zones=GB&{WINDOW}&by=border",
    ],
)
def test_a_window_that_is_too_long_to_be_read_whole_is_refused(
    ask: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    ask(path)
    monkeypatch.setattr(expensive, "MOST_WORK", 300_000)
    fault = ask(path + ("" if "stats" in path else "&limit=999"), 400)["errors"][0]
    assert (fault["parameter"], fault["code"]) == ("start", "out-of-range")
    ask(path.replace(str(START), str(NOW - DAY)))


def test_sources_of_a_month_that_is_decoded_are_those_of_its_rows(filled: Rig) -> None:
    reader = Reader(filled.storage, 1_000_000)
    files = reader.files("GB", "interchange", Window(START, NOW))
    for file in files[1:3]:
        for side, count in (("borders", 2), ("net", 1)):
            rows = reader.rows(file, side)  # type: ignore[arg-type]
            assert len(rows.labels) == count
            short = reader.labels(file, "borders", month_window(file.month))
            assert {(label.source, label.feed) for label in short} == {("north", "north.grid")}
