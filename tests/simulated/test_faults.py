"""Check faults that are switched on: their names, which requests they affect and when, and the resulting responses."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import pytest

from assets.simulated.answer import Answer
from assets.simulated.faults import PlantedFault, apply, parse
from warehouse.errors import BadWindow
from warehouse.market.feeds import Request

DAY = date(2026, 11, 20)
REQUEST = Request("aemo.dispatch", "https://example.org", days=(DAY,))


def answer(request: Request, now: int) -> Answer:
    return Answer(200, f"time,value\n{now},1\n".encode(), (("content-type", "text/csv"),))


def test_a_setting_names_faults() -> None:
    assert parse("") == ()
    assert parse(" eia:503 , aemo.dispatch#2026-11-20:late=120@2026-11-21T10:00:00Z/2026-11-21T12:00:00Z") == (
        PlantedFault("eia", "503"),
        PlantedFault("aemo.dispatch", "late", 120, 1795255200, 1795262400, "2026-11-20"),
    )


@pytest.mark.parametrize("name", ["nobody", "eia.nothing", "nobody.load"])
def test_a_fault_of_nobody_is_refused(name: str) -> None:
    with pytest.raises(BadWindow, match=f"unknown publisher or feed '{name}'"):
        parse(f"{name}:503")


def test_a_fault_concerns_its_source_feed_day_and_span() -> None:
    assert PlantedFault("aemo", "503").concerns(REQUEST, 5)
    assert not PlantedFault("eia", "503").concerns(REQUEST, 5)
    assert not PlantedFault("aemo.trading", "503").concerns(REQUEST, 5)
    assert not PlantedFault("aemo", "503", start=6).concerns(REQUEST, 5)
    assert not PlantedFault("aemo", "503", end=5).concerns(REQUEST, 5)
    assert PlantedFault("aemo", "503", day="2026-11-20").concerns(REQUEST, 5)
    assert not PlantedFault("aemo", "503", day="2026-11-19").concerns(REQUEST, 5)


@pytest.mark.parametrize("kind", ["429", "503"])
def test_a_refusal_carries_its_status_and_a_retry_after(kind: str) -> None:
    reply = apply(PlantedFault("aemo", kind), REQUEST, 100, answer)
    assert (reply.status, reply.body, reply.headers["retry-after"]) == (int(kind), b"", "30")


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        (PlantedFault("aemo", "truncated"), b"time,value"),
        (PlantedFault("aemo", "changed"), b"time_V2,value_V2\n100000,1\n"),
        (PlantedFault("aemo", "frozen", start=7), b"time,value\n7,1\n"),
        (PlantedFault("aemo", "late", 10), b"time,value\n99400,1\n"),
    ],
)
def test_a_body_is_cut_renamed_frozen_or_late(fault: PlantedFault, body: bytes) -> None:
    assert apply(fault, REQUEST, 100_000, answer).body == body


def test_names_change_inside_json_xml_and_zips_too() -> None:
    def body_of(content: bytes) -> bytes:
        return apply(PlantedFault("aemo", "changed"), REQUEST, 1, lambda request, now: Answer(200, content)).body

    assert body_of(b'{"from": "x: y", "a": 1}') == b'{"from_v2": "x: y", "a_v2": 1}'
    assert body_of(b"<a><b>1</b></a>") == b"<v2_a><v2_b>1</v2_b></v2_a>"
    assert body_of(b"C,NEM\nI,DISPATCH,PRICE\nD,DISPATCH,1\n").splitlines()[1] == b"I,DISPATCH_V2,PRICE_V2"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", "time\n1\n")
    with zipfile.ZipFile(io.BytesIO(body_of(packed.getvalue()))) as archive:
        assert archive.read("a.csv") == b"time_V2\n1\n"
