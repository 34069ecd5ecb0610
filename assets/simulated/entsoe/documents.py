"""Renders ENTSO-E's XML documents: prices, load, flows, capacity and acknowledgements.

A Point carries only its position; under curveType A03 a Point that repeats the last value is left out. For publication
times see the package's `__init__`. Schemas: https://www.entsoe.eu/publications/electronic-data-interchange-edi-library/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

import numpy as np

from assets.simulated.format import shorts
from warehouse.market.clock import iso, utc

STEPS = {"PT15M": 900, "PT60M": 3600}
OPERATOR = "10X1001A1001A450"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a document says of itself: its number, when it was written and which window it answers (Unix seconds)."""

    mrid: str
    created: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Period:
    """Values of intervals that follow each other, in MW or currency per MWh."""

    start: int
    end: int
    resolution: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Form:
    """How a kind of document is built: its schema, and what its interval, values and process are called."""

    root: str
    schema: str
    interval: str
    value: str
    process: str = ""


_FORMS = {
    "A44": _Form("Publication", "451-3:publicationdocument:7:3", "period", "price.amount"),
    "A11": _Form("Publication", "451-3:publicationdocument:7:0", "period", "quantity"),
    "A65": _Form("GL", "451-6:generationloaddocument:3:0", "time_Period", "quantity", "A16"),
    "A68": _Form("GL", "451-6:generationloaddocument:3:0", "time_Period", "quantity", "A33"),
}
_MEGAWATTS = "<quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name>"


def render_price(
    envelope: Envelope, eic: str, auctions: Sequence[tuple[str, Sequence[Period]]], curve: str = "A03"
) -> bytes:
    """Day-ahead prices in EUR. A TimeSeries has its auction's position, empty where the zone has one auction."""
    head = (
        "<auction.type>A01</auction.type><businessType>A62</businessType>"
        f"{_domain('in_Domain', eic)}{_domain('out_Domain', eic)}"
        "<contract_MarketAgreement.type>A01</contract_MarketAgreement.type>"
        "<currency_Unit.name>EUR</currency_Unit.name><price_Measure_Unit.name>MWH</price_Measure_Unit.name>"
    )
    name = "classificationSequence_AttributeInstanceComponent.position"
    series = [(f"{head}<{name}>{at}</{name}>" if at else head, "", periods) for at, periods in auctions]
    return _document("A44", envelope, curve, series)


def render_load(envelope: Envelope, eic: str, period: Period, curve: str = "A03", process: str = "A16") -> bytes:
    """Total load of a zone, actual (A16) or as forecast the day before (A01)."""
    head = "<businessType>A04</businessType><objectAggregation>A01</objectAggregation>"
    series = [(head + _domain("outBiddingZone_Domain", eic) + _MEGAWATTS, "", [period])]
    return _document("A65", envelope, curve, series, process)


def render_flow(envelope: Envelope, into: str, out_of: str, period: Period, curve: str = "A03") -> bytes:
    """The physical flow over a border in one direction; never below zero."""
    ends = _domain("in_Domain", into) + _domain("out_Domain", out_of)
    return _document("A11", envelope, curve, [(f"<businessType>A66</businessType>{ends}{_MEGAWATTS}", "", [period])])


def render_capacity(envelope: Envelope, eic: str, kinds: Mapping[str, Period], curve: str = "A03") -> bytes:
    """Installed capacity of a zone by production type (B01...), a Point a calendar year."""
    head = "<businessType>A37</businessType><objectAggregation>A08</objectAggregation>"
    head += _domain("inBiddingZone_Domain", eic) + _MEGAWATTS
    series = [(head, f"<MktPSRType><psrType>{kind}</psrType></MktPSRType>", [period]) for kind, period in kinds.items()]
    return _document("A68", envelope, curve, series)


def _domain(name: str, eic: str) -> str:
    return f'<{name}.mRID codingScheme="A01">{eic}</{name}.mRID>'


_Parts = tuple[str, str, Sequence[Period]]
"""A TimeSeries: its elements before and behind curveType, and its Periods."""


def _document(kind: str, envelope: Envelope, curve: str, series: Sequence[_Parts], process: str = "") -> bytes:
    form = replace(_FORMS[kind], process=process or _FORMS[kind].process)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<{form.root}_MarketDocument xmlns="urn:iec62325.351:tc57wg16:{form.schema}">',
        f"<mRID>{envelope.mrid}</mRID><revisionNumber>1</revisionNumber><type>{kind}</type>",
        f"<process.processType>{form.process}</process.processType>" if form.process else "",
        *_parties("A33"),
        f"<createdDateTime>{iso(envelope.created)}</createdDateTime>",
        f"<{form.interval}.timeInterval>{_span(envelope.start, envelope.end)}</{form.interval}.timeInterval>",
    ]
    for number, (before, behind, periods) in enumerate(series, start=1):
        lines.append(f"<TimeSeries><mRID>{number}</mRID>{before}<curveType>{curve}</curveType>{behind}")
        for period in periods:
            lines += _period(form.value, period, curve)
        lines.append("</TimeSeries>")
    return "\n".join(filter(None, [*lines, f"</{form.root}_MarketDocument>"])).encode()


def _parties(receiver: str) -> Iterator[str]:
    for party, role in (("sender", "A32"), ("receiver", receiver)):
        yield f'<{party}_MarketParticipant.mRID codingScheme="A01">{OPERATOR}</{party}_MarketParticipant.mRID>'
        yield f"<{party}_MarketParticipant.marketRole.type>{role}</{party}_MarketParticipant.marketRole.type>"


def _span(start: int, end: int) -> str:
    return f"<start>{utc(start):%Y-%m-%dT%H:%MZ}</start><end>{utc(end):%Y-%m-%dT%H:%MZ}</end>"


def _period(value: str, period: Period, curve: str) -> Iterator[str]:
    yield f"<Period><timeInterval>{_span(period.start, period.end)}</timeInterval>"
    yield f"<resolution>{period.resolution}</resolution>"
    last = ""
    for place, text in enumerate(shorts(np.asarray(period.values), 2), start=1):
        if text != last or curve == "A01":
            yield f"<Point><position>{place}</position><{value}>{text}</{value}></Point>"
        last = text
    yield "</Period>"


def acknowledgement(mrid: str, created: int, reason: str) -> bytes:
    """What comes instead of a document: code 999 and a sentence."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<Acknowledgement_MarketDocument",
        '\txmlns="urn:iec62325.351:tc57wg16:451-1:acknowledgementdocument:7:0">',
        f"<mRID>{mrid}</mRID><createdDateTime>{iso(created)}</createdDateTime>",
        *_parties("A39"),
        f"<received_MarketDocument.createdDateTime>{iso(created)}</received_MarketDocument.createdDateTime>",
        f"<Reason><code>999</code><text>{escape(reason)}</text></Reason></Acknowledgement_MarketDocument>",
    ]
    return "\n".join(lines).encode()
