"""Add an unknown member to simulated responses, for every list that can grow in every feed.

The member costs what its list declares: its name, its own rows, or the totals too. An error finding names it. A feed
with an unknown column or unit has changed.
"""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import pytest

from assets.parsing.members import Members
from assets.sources import feed, feeds
from warehouse.errors import FeedChanged, NotPublished
from warehouse.judge import quality
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Request
from warehouse.rows.schema import Row, Rows

NOW = "2026-11-20T12:00:00Z"
Spoil = Callable[[bytes], bytes]


def line(old: str, new: str) -> Spoil:
    """Return a function that repeats the last line with `old` as a line with `new`, and adjusts a line count."""

    def spoil(body: bytes) -> bytes:
        head, found, tail = body.rpartition(old.encode())
        if not found:
            return body
        start, end = head.rfind(b"\n") + 1, len(head) + len(found) + tail.index(b"\n") + 1
        again = body[start:end].replace(old.encode(), new.encode())
        whole = body[:end] + again + body[end:]
        return re.sub(rb'(END OF REPORT"?,)(\d+)', lambda m: m[1] + b"%d" % (int(m[2]) + 1), whole)

    return spoil


def zipped(spoil: Spoil) -> Spoil:
    """Return a function that applies `spoil` to the file in a zip."""

    def spoil_file(body: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(body)) as source, zipfile.ZipFile(out, "w") as target:
            for name in source.namelist():
                target.writestr(name, spoil(source.read(name)))
        return out.getvalue()

    return spoil_file


def in_json(change: Callable[[Any], object]) -> Spoil:
    def spoil(body: bytes) -> bytes:
        document = json.loads(body)
        change(document)
        return json.dumps(document).encode()

    return spoil


def entry(path: str, **members: object) -> Spoil:
    """Return a function that repeats the last entry of the list at `path`, with other members."""

    def change(document: Any) -> None:
        for name in filter(None, path.split(".")):
            document = document[name]
        document.append({**document[-1], **members})

    return in_json(change)


def element(name: str, old: str, new: str) -> Spoil:
    """Return a function that repeats the last XML element `name`, with `new` for each match of the pattern `old`."""

    def spoil(body: bytes) -> bytes:
        start, end = body.rindex(f"<{name}".encode()), body.rindex(f"</{name}>".encode()) + len(name) + 3
        again = re.sub(old.encode(), new.encode(), body[start:end])
        return body[:end] + again + body[end:]

    return spoil


def column(body: bytes) -> bytes:
    head, *lines = body.split(b"\r\n")
    return b"\r\n".join(
        [head + b",Avalon", *(line + b",1" if line[-1:].isdigit() else line + b"," * bool(line) for line in lines)]
    )


def on_the_five_minutes(document: Any) -> None:
    next(entry for entry in reversed(document["data"]) if not entry["epoch"] % 300_000)["dcAvalon"] = 5


def in_the_west(document: Any) -> None:
    next(record for record in document["records"] if record["PriceArea"] == "DK1")["ExchangeAvalon"] = 1


def add_authority(document: Any) -> None:
    entries = document["response"]["data"]
    last = {name: entries[-1][name] for name in ("fromba", "toba")}
    entries += [{**entry, "toba": "AVAL"} for entry in entries if entry.items() >= last.items()]


def add_tie(document: Any) -> None:
    ties = document[0]["data"]
    ties["Avalon"] = next(iter(ties.values()))[:1]


@dataclass(frozen=True)
class Case:
    """One list of a feed: a change that adds an unknown member, and a renaming that changes the layout."""

    kind: str
    spoil: Spoil
    costs: Literal["name", "rows", "total"]
    layout: tuple[str, str]


REGION = zipped(line("1,NSW1,", "1,AVALON1,"))
TIE = zipped(line("NSW1-QLD1", "AVALON1"))
UNIT = ("MAW", "KWT")
AUTHORITY = Case("balancing authority", line(",SPP,SPPSOUTH_HUB", ",AVAL,SPPSOUTH_HUB"), "rows", ("LMP", "LMQ"))
LISTS = {
    "aemo.dispatch": (
        Case("region", REGION, "rows", ("RRP", "RRQ")),
        Case("interconnector", TIE, "rows", ("MWFLOW", "MWFLOP")),
    ),
    "aemo.mix": (Case("region", zipped(line(",NSW1,", ",AVALON1,")), "rows", ("POWER", "PUWER")),),
    "aemo.predispatch": (Case("region", REGION, "rows", ("RRP", "RRQ")),),
    "aemo.trading": (
        Case("region", REGION, "rows", ("RRP", "RRQ")),
        Case("interconnector", TIE, "rows", ("MWFLOW", "MWFLOP")),
    ),
    "aemo.five_minute": (
        Case("region", entry("5MIN", REGIONID="AVALON1", PERIODTYPE="ACTUAL"), "rows", ("RRP", "RRQ")),
    ),
    "aemo.price_and_demand": (Case("region", line("NSW1,", "AVALON1,"), "rows", ("RRP", "RRQ")),),
    "caiso.fuelsource": (Case("fuel", column, "rows", ("Imports", "Exports")),),
    "caiso.mix_forecast": (
        Case("renewable type", zipped(line(",Wind,", ",Avalon,")), "rows", ("RENEWABLE_TYPE", "RENEWABLE_KIND")),
    ),
    "eia.interchange": (
        Case("balancing authority", in_json(add_authority), "name", ("megawatthours", "gigawatthours")),
    ),
    "eia.generation": (
        Case("energy source", entry("response.data", fueltype="AVAL"), "rows", ("megawatthours", "gigawatthours")),
    ),
    "eia.mix": (
        Case("energy source", entry("response.data", fueltype="AVAL"), "rows", ("megawatthours", "gigawatthours")),
    ),
    "elexon.price": (Case("provider", entry("data", dataProvider="AVALONMIDP"), "rows", ('"price"', '"preis"')),),
    "elexon.interconnectors": (
        Case(
            "interconnector", entry("data", interconnectorName="Avalon (INTAVL)"), "total", ('"generation"', '"flow"')
        ),
    ),
    "elexon.mix": (
        Case(
            "psrType",
            in_json(lambda body: body["data"][-1]["data"].append({"psrType": "Avalon", "quantity": 5})),
            "rows",
            ('"quantity"', '"generation"'),
        ),
    ),
    "elexon.mix_forecast": (Case("psrType", entry("data", psrType="Avalon"), "rows", ('"quantity"', '"generation"')),),
    "energinet.flows": (Case("border", in_json(in_the_west), "total", ("Minutes5UTC", "At")),),
    "entsoe.flows": (
        Case("border", element("TimeSeries", "(out_Domain.mRID[^>]*>)[^<]+", r"\g<1>10YAVALON------X"), "total", UNIT),
    ),
    "entsoe.mix": (Case("production type", element("TimeSeries", "B[0-9][0-9]", "B99"), "rows", UNIT),),
    "entsoe.mix_forecast": (Case("production type", element("TimeSeries", "B[0-9][0-9]", "B99"), "rows", UNIT),),
    "entsoe.capacity": (Case("psrType", element("TimeSeries", "B[0-9][0-9]", "B99"), "rows", UNIT),),
    "entsoe_files.mix": (
        Case("production type", zipped(line("Waste", "Avalon")), "rows", ("Consumption[MW]", "Consumption[GW]")),
    ),
    "entsoe_files.flows": (
        Case("border", zipped(line("10YGB----------A", "10YAVALON------X")), "total", ("Flow[MW]", "Flow[GW]")),
    ),
    "ercot.dc_ties": (Case("tie", in_json(on_the_five_minutes), "total", ('"epoch"', '"time"')),),
    "isone.flows": (Case("tie", in_json(add_tie), "total", ('"BeginDate"', '"Begin"')),),
    "miso.nsi": (
        Case("neighbour", in_json(lambda body: body["instance"][-1].update(AVALON="5")), "rows", ('"MISO"', '"MIDO"')),
    ),
    "neso.generation": (
        Case(
            "fuel",
            in_json(lambda body: body["data"][-1]["generationmix"].append({"fuel": "avalon", "perc": 1})),
            "rows",
            ('"perc"', '"mw"'),
        ),
    ),
    "nyiso.load": (Case("load zone", line("WEST", "AVALON"), "total", ('"Load"', '"Loads"')),),
    "nyiso.flows": (
        Case("interface", line("SCH - 325658,325658", "SCH - AVALON,9"), "total", ("Flow (MWH)", "Flow (MVA)")),
    ),
    "spp.lmp_rt": (AUTHORITY,),
    "spp.lmp_rt_daily": (AUTHORITY,),
    "spp.lmp_da": (AUTHORITY,),
    "spp.load_hourly": (Case("balancing authority", line(",SWPW", ",AVAL"), "rows", ("Averaged", "Median")),),
    "rte.market_price": (
        Case("area", element("type", "perimetre='[A-Z]+'", "perimetre='AV'"), "rows", ("periode", "p")),
    ),
}
CASES = [(feed_id, case) for feed_id, cases in LISTS.items() for case in cases]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Feed], list[tuple[bytes, Request]]]:
    """Return a function that returns the bodies of one day of a feed, at most forty."""

    def bodies(product: Feed) -> list[tuple[bytes, Request]]:
        monkeypatch.setenv("EMDS_NOW", NOW)
        answer = import_module(f"assets.simulated.{product.source}").simulate_response
        now, found = clock.now(), []
        queue = product.requests([MarketDay.at(now, product.tz).next(-9 if "daily" in product.id else 0)], now)
        while queue and len(found) < 40:
            request = queue.pop(0)
            reply = answer(request, now)
            if reply.status == 200 and product.follow is not None:
                queue += product.follow(reply.body, request)
            if reply.status == 200 and request.kind == "rows":
                found.append((reply.body, request))
        return found

    return bodies


def read(product: Feed, bodies: list[tuple[bytes, Request]]) -> Rows:
    rows = Rows()
    for body, request in bodies:
        try:
            rows.merge(product.parse(body, request))
        except NotPublished:
            continue
    return product.combine(rows) if product.combine else rows


def is_total(row: Row) -> bool:
    return row.counterparty is None and row.fuel is None


def _place(row: Row) -> tuple[str, int, str | None]:
    return row.zone, row.ts, row.counterparty


@pytest.mark.parametrize(("feed_id", "case"), CASES, ids=lambda value: getattr(value, "kind", value))
def test_an_unknown_member_costs_what_its_list_says(feed_id, case, answers):
    product = feed(feed_id)
    bodies = answers(product)
    before = read(product, bodies)
    assert not before.unknown
    spoilt = [(case.spoil(bodies[0][0]), bodies[0][1]), *bodies[1:]]
    assert spoilt[0][0] != bodies[0][0]
    after = read(product, spoilt)
    members = after.unknown
    assert {member.name.partition(" '")[0] for member in members} == {case.kind}
    lost, won = set(before) - set(after), set(after) - set(before)
    assert bool(lost) == (case.costs != "rows")
    kept = {row for row in won if row.counterparty == "AVAL"}
    assert bool(kept) == (case.costs == "name")
    assert {_place(row) for row in won - kept} == ({_place(row) for row in lost} if kept else set())
    hours = {(member.zone, ts // 3600) for member, instants in members.items() for ts in instants}
    assert all(is_total(row) and (row.zone, row.ts // 3600) in hours for row in lost)
    for row in kept:
        total = {r.value for r in won if is_total(r) and _place(r)[:2] == _place(row)[:2]}
        assert total == {r.value + row.value for r in lost if _place(r)[:2] == _place(row)[:2]}
    findings = quality.judge(after, product, (), clock.now()).findings
    named = [finding for finding in findings if finding.check == "unknown"]
    assert {finding.severity for finding in named} == {"error"}
    assert len(named) == len(members)
    assert all(any(member.name in finding.detail for finding in named) for member in members)


@pytest.mark.parametrize(("feed_id", "case"), CASES, ids=lambda value: getattr(value, "kind", value))
def test_another_column_or_unit_is_a_changed_feed(feed_id, case, answers):
    product = feed(feed_id)
    body, request = answers(product)[0]
    old, new = case.layout

    def rename(text: bytes) -> bytes:
        return text.replace(old.encode(), new.encode())

    changed = zipped(rename)(body) if body[:2] == b"PK" else rename(body)
    assert changed != body
    with pytest.raises(FeedChanged):
        product.parse(changed, request)


def test_every_list_of_every_feed_is_tried():
    feeds()  # loads every source
    declared = {
        (name.split(".")[2], value.kind, value.costs)
        for name, module in list(sys.modules.items())
        if name.startswith("assets.sources.")
        for value in vars(module).values()
        if isinstance(value, Members)
    }
    assert declared <= {(feed_id.partition(".")[0], case.kind, case.costs) for feed_id, case in CASES}
