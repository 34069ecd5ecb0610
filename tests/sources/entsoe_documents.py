"""ENTSO-E's documents made for the tests: prices, load and capacity, refusals, and their rows."""

from __future__ import annotations

from assets import sources
from assets.sources.entsoe.areas import EIC
from warehouse.market.clock import iso
from warehouse.market.market import Request

PRICE, DEMAND, FLOWS, CAPACITY = (sources.feed(f"entsoe.{name}") for name in ("price", "demand", "flows", "capacity"))
DAY = ("2026-11-19T23:00Z", "2026-11-20T23:00Z")


def period(start, end, resolution, points, value="price.amount"):
    """`points`: {position: value}, or a list of all values."""
    points = points if isinstance(points, dict) else dict(enumerate(points, 1))
    inner = "".join(f"<Point><position>{at}</position><{value}>{n}</{value}></Point>" for at, n in points.items())
    times = f"<timeInterval><start>{start}</start><end>{end}</end></timeInterval>"
    return f"<Period>{times}<resolution>{resolution}</resolution>{inner}</Period>"


def series(*periods, curve="A03", **texts):
    """A TimeSeries; `texts` are its elements, `__` for the dot in their names, None for one that is missing."""
    inner = "".join(
        f"<{name.replace('__', '.')}>{text}</{name.replace('__', '.')}>"
        for name, text in texts.items()
        if text is not None
    )
    return f"<TimeSeries><mRID>1</mRID>{inner}<curveType>{curve}</curveType>{''.join(periods)}</TimeSeries>"


def document(
    kind,
    *parts,
    root="Publication_MarketDocument",
    ns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3",
    process=None,
):
    """A document of a type, in its namespace."""
    of = f"<process.processType>{process}</process.processType>" if process else ""
    head = f'<?xml version="1.0" encoding="utf-8"?><{root} xmlns="{ns}"><type>{kind}</type>'
    return f"{head}{of}{''.join(parts)}</{root}>".encode()


def auction(*periods, zone="NL", currency="EUR", contract="A01", position=None, curve="A03", out=None):
    """A series of prices of one auction."""
    return series(
        *periods,
        curve=curve,
        in_Domain__mRID=EIC[zone],
        out_Domain__mRID=EIC[out or zone],
        contract_MarketAgreement__type=contract,
        currency_Unit__name=currency,
        price_Measure_Unit__name="MWH",
        classificationSequence_AttributeInstanceComponent__position=position,
    )


def prices(*parts, zone="NL", **more):
    """The rows of a document of prices."""
    return PRICE.parse(document("A44", *parts, **more), Request(PRICE.id, "", zone=zone))


def load(*periods, zone="NL", process="A16", unit="MAW", curve="A03"):
    """The rows of a document of load, as asked for NL."""
    body = document(
        "A65",
        series(*periods, curve=curve, outBiddingZone_Domain__mRID=EIC[zone], quantity_Measure_Unit__name=unit),
        root="GL_MarketDocument",
        process=process,
    )
    return DEMAND.parse(body, Request(DEMAND.id, "", zone="NL"))


def installed(*typed, zone="NL"):
    """The rows of a document of installed capacity; `typed`: (psrType, Period)."""
    parts = [
        series(
            f"<MktPSRType><psrType>{kind}</psrType></MktPSRType>{years}",
            inBiddingZone_Domain__mRID=EIC[zone],
            quantity_Measure_Unit__name="MAW",
        )
        for kind, years in typed
    ]
    return CAPACITY.parse(
        document("A68", *parts, root="GL_MarketDocument", process="A33"), Request(CAPACITY.id, "", zone="NL")
    )


def year(first, last, points):
    """A Period of calendar years, first and last included."""
    return period(f"{first - 1}-12-31T23:00Z", f"{last}-12-31T23:00Z", "P1Y", points, "quantity")


def refusal(code, text):
    """An acknowledgement that gives a reason in place of data."""
    return document(
        "", f"<Reason><code>{code}</code><text>{text}</text></Reason>", root="Acknowledgement_MarketDocument"
    )


def stamped(rows):
    """(month-dayThour:minute, value) in order of time."""
    return [(iso(r.ts)[5:16], r.value) for r in rows.sorted()]


WHOLE = document("A44", auction(period(*DAY, "PT60M", {1: 50, 2: 51})))
