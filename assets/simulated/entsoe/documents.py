"""Renders ENTSO-E's XML documents: prices, load, flows, capacity and acknowledgements, with their uneven indents.

A Point carries only its position; under curveType A03 a Point that repeats the last value is left out. For publication
times see the package's `__init__`. Schemas: https://www.entsoe.eu/publications/electronic-data-interchange-edi-library/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from assets.simulated.format import shorts
from warehouse.clock import iso, utc

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
    """How a kind of document is built: names, and how far each part is indented."""

    root: str
    schema: str
    interval: str
    value: str
    process: str = ""
    root_at: int = 0
    series_at: int = 4
    period_at: int = 8
    point_at: int = 12
    value_at: int = 14


_LOAD_SCHEMA, _PRICE_SCHEMA = "451-6:generationloaddocument:3:0", "451-3:publicationdocument:7:"
_FORMS = {
    "A44": _Form("Publication", _PRICE_SCHEMA + "3", "period", "price.amount", "", 2, 6, 10, 14, 18),
    "A11": _Form("Publication", _PRICE_SCHEMA + "0", "period", "quantity"),
    "A65": _Form("GL", _LOAD_SCHEMA, "time_Period", "quantity", "A16"),
    "A68": _Form("GL", _LOAD_SCHEMA, "time_Period", "quantity", "A33", 0, 6, 12, 18, 20),
}


def render_price(
    envelope: Envelope, eic: str, auctions: Sequence[tuple[str, Sequence[Period]]], curve: str = "A03"
) -> bytes:
    """Day-ahead prices in EUR. A TimeSeries has its auction's position, empty where the zone has one auction."""
    return _document(
        "A44",
        envelope,
        curve,
        [
            (
                [
                    "<auction.type>A01</auction.type>",
                    "<businessType>A62</businessType>",
                    _domain("in_Domain", eic),
                    _domain("out_Domain", eic),
                    "<contract_MarketAgreement.type>A01</contract_MarketAgreement.type>",
                    "<currency_Unit.name>EUR</currency_Unit.name>",
                    "<price_Measure_Unit.name>MWH</price_Measure_Unit.name>",
                    *([_position(position)] if position else []),
                ],
                [],
                periods,
            )
            for position, periods in auctions
        ],
    )


def _position(position: str) -> str:
    name = "classificationSequence_AttributeInstanceComponent.position"
    return f"  <{name}>{position}</{name}>"


def render_load(envelope: Envelope, eic: str, period: Period, curve: str = "A03") -> bytes:
    """Actual total load of a zone."""
    head = [
        "<businessType>A04</businessType>",
        "<objectAggregation>A01</objectAggregation>",
        _domain("outBiddingZone_Domain", eic),
        _MEGAWATTS,
    ]
    return _document("A65", envelope, curve, [(head, [], [period])])


def render_flow(envelope: Envelope, into: str, out_of: str, period: Period, curve: str = "A03") -> bytes:
    """The physical flow over a border in one direction; never below zero."""
    head = ["<businessType>A66</businessType>", _domain("in_Domain", into), _domain("out_Domain", out_of), _MEGAWATTS]
    return _document("A11", envelope, curve, [(head, [], [period])])


def render_capacity(envelope: Envelope, eic: str, kinds: Mapping[str, Period], curve: str = "A03") -> bytes:
    """Installed capacity of a zone by production type (B01...), a Point a calendar year."""
    head = [
        "<businessType>A37</businessType>",
        "<objectAggregation>A08</objectAggregation>",
        _domain("inBiddingZone_Domain", eic),
        _MEGAWATTS,
    ]
    return _document(
        "A68",
        envelope,
        curve,
        [
            (head, ["<MktPSRType>", f"  <psrType>{kind}</psrType>", "</MktPSRType>"], [period])
            for kind, period in kinds.items()
        ],
    )


_MEGAWATTS = "<quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name>"


def _domain(name: str, eic: str) -> str:
    return f'<{name}.mRID codingScheme="A01">{eic}</{name}.mRID>'


_Parts = tuple[Sequence[str], Sequence[str], Sequence[Period]]
"""A TimeSeries: its elements before and behind curveType, and its Periods."""


def _document(kind: str, envelope: Envelope, curve: str, series: Sequence[_Parts]) -> bytes:
    form = _FORMS[kind]
    lines = ['<?xml version="1.0" encoding="utf-8"?>', *_head(kind, form, envelope)]
    for number, (before, behind, periods) in enumerate(series, start=1):
        elements = [f"<mRID>{number}</mRID>", *before, f"<curveType>{curve}</curveType>", *behind]
        lines.append(" " * form.series_at + "<TimeSeries>")
        lines += [" " * (form.series_at + 2) + element for element in elements]
        for period in periods:
            lines += _period(form, period, curve)
        lines.append(" " * form.series_at + "</TimeSeries>")
    lines.append(f"{' ' * form.root_at}</{form.root}_MarketDocument>")
    return "\n".join(lines).encode()


def _head(kind: str, form: _Form, envelope: Envelope) -> Iterator[str]:
    yield f'{" " * form.root_at}<{form.root}_MarketDocument xmlns="urn:iec62325.351:tc57wg16:{form.schema}">'
    process = [f"<process.processType>{form.process}</process.processType>"] if form.process else []
    for element in (
        f"<mRID>{envelope.mrid}</mRID>",
        "<revisionNumber>1</revisionNumber>",
        f"<type>{kind}</type>",
        *process,
        *_parties("A33"),
        f"<createdDateTime>{iso(envelope.created)}</createdDateTime>",
        f"<{form.interval}.timeInterval>",
        f"  <start>{_minute(envelope.start)}</start>",
        f"  <end>{_minute(envelope.end)}</end>",
        f"</{form.interval}.timeInterval>",
    ):
        yield " " * (form.root_at + 2) + element


def _parties(receiver: str) -> Iterator[str]:
    for party, role in (("sender", "A32"), ("receiver", receiver)):
        yield f'<{party}_MarketParticipant.mRID codingScheme="A01">{OPERATOR}</{party}_MarketParticipant.mRID>'
        yield f"<{party}_MarketParticipant.marketRole.type>{role}</{party}_MarketParticipant.marketRole.type>"


def _minute(ts: int) -> str:
    return f"{utc(ts):%Y-%m-%dT%H:%MZ}"


def _period(form: _Form, period: Period, curve: str) -> Iterator[str]:
    around, inside = " " * form.period_at, " " * (form.period_at + 2)
    yield f"{around}<Period>\n{inside}<timeInterval>"
    yield f"{inside}  <start>{_minute(period.start)}</start>\n{inside}  <end>{_minute(period.end)}</end>"
    yield f"{inside}</timeInterval>\n{inside}<resolution>{period.resolution}</resolution>"
    at, deep = " " * form.point_at, " " * form.value_at
    point = f"{at}<Point>\n{at}  <position>%d</position>\n{deep}<{form.value}>%s</{form.value}>\n{at}</Point>"
    last = ""
    for place, text in enumerate(shorts(np.asarray(period.values), 2), start=1):
        if text != last or curve == "A01":
            yield point % (place, text)
        last = text
    yield f"{around}</Period>"


def acknowledgement(mrid: str, created: int, reason: str) -> bytes:
    """What comes instead of a document: code 999 and a sentence."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<Acknowledgement_MarketDocument",
        '\txmlns="urn:iec62325.351:tc57wg16:451-1:acknowledgementdocument:7:0">',
        f"\t<mRID>{mrid}</mRID>",
        f"\t<createdDateTime>{iso(created)}</createdDateTime>",
        *(f"\t{line}" for line in _parties("A39")),
        f"\t<received_MarketDocument.createdDateTime>{iso(created)}</received_MarketDocument.createdDateTime>",
        "\t<Reason>",
        "\t\t<code>999</code>",
        f"\t\t<text>{escape(reason)}</text>",
        "\t</Reason>",
        "</Acknowledgement_MarketDocument>",
        "",
    ]
    return "\n".join(lines).encode()
