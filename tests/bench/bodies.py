"""Generate bodies to parse in the publishers' wire formats: as long as real ones, with meaningless values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import NamedTuple

from assets.simulated.miso.reports import report
from warehouse.market.clock import instant, iso

NYISO_DAY = "2026-03-03"
ZONES = (
    "CAPITL",
    "CENTRL",
    "DUNWOD",
    "GENESE",
    "HUD VL",
    "LONGIL",
    "MHK VL",
    "MILLWD",
    "N.Y.C.",
    "NORTH",
    "WEST",
    "H Q",
    "NPX",
    "O H",
    "PJM",
)
FUELS = (
    "Solar",
    "Wind",
    "Geothermal",
    "Biomass",
    "Biogas",
    "Small hydro",
    "Coal",
    "Nuclear",
    "Natural Gas",
    "Large Hydro",
    "Batteries",
    "Imports",
    "Other",
)
REGIONS = ("NSW1", "QLD1", "SA1", "TAS1", "VIC1")
_BELGIUM, _NETHERLANDS, _GERMANY = "10YBE----------2", "10YNL----------L", "10Y1001A1001A82H"
_START = instant("2026-03-02T23:00:00Z")
_EST_MIDNIGHT = instant("2026-03-03T05:00:00Z")


class Body(NamedTuple):
    """A body, the feed that reads it, and the number of values that both sides must find in it."""

    feed: str
    zone: str | None
    day: str
    name: str
    content: bytes
    readings: int


def bodies() -> list[Body]:
    """Return a body of each kind, named as the peers know it."""
    return [
        Body("entsoe.demand", "BE", NYISO_DAY, "entsoe_load", _entsoe_load(28), 28 * 96),
        Body("entsoe.price", "NL", NYISO_DAY, "entsoe_price", _entsoe_price(28), 28 * 96),
        Body("entsoe.flows", "NL", NYISO_DAY, "entsoe_flow", _entsoe_flow(28), 28 * 96),
        Body("nyiso.load", None, NYISO_DAY, "nyiso_load", _nyiso_load(), 288),
        Body("nyiso.lbmp_da", None, NYISO_DAY, "nyiso_price", _nyiso_price(), 24),
        Body("caiso.fuelsource", None, NYISO_DAY, "caiso_fuel", _caiso_fuel(), 288),
        Body(
            "miso.load_daily",
            None,
            NYISO_DAY,
            "miso_load",
            report(date(2026, 3, 4), "df_al.xls", _START + 9 * 86400),
            24,
        ),
        Body("aemo.dispatch", None, "2024-03-15", "aemo_price", _aemo_price(20), 20 * 288 * len(REGIONS)),
    ]


def _figure(i: int) -> float:
    """Return an arbitrary value with decimals."""
    return round(40 + i * 7919 % 1000 / 7, 2)


def _document(root: str, kind: str, process: str, head: str, points: str, days: int) -> bytes:
    start, end = iso(_START)[:16] + "Z", iso(_START + days * 86400)[:16] + "Z"
    period = f"<timeInterval><start>{start}</start><end>{end}</end></timeInterval><resolution>PT15M</resolution>"
    interval = "period.timeInterval" if root.startswith("Publication") else "time_Period.timeInterval"
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<{root} xmlns="urn:iec62325.351:{root}:7:3"><mRID>1</mRID>'
        f"<type>{kind}</type>{process}"
        f"<createdDateTime>{end}</createdDateTime><{interval}><start>{start}</start><end>{end}</end></{interval}>\n"
        f"<TimeSeries><mRID>1</mRID>{head}<Period>{period}\n{points}</Period></TimeSeries></{root}>\n"
    ).encode()


def _points(days: int, name: str) -> str:
    """Return a point for every quarter hour."""
    return "".join(
        f"      <Point><position>{i + 1}</position><{name}>{_figure(i)}</{name}></Point>\n" for i in range(days * 96)
    )


def _entsoe_load(days: int) -> bytes:
    head = (
        "<businessType>A04</businessType>"
        f'<outBiddingZone_Domain.mRID codingScheme="A01">{_BELGIUM}</outBiddingZone_Domain.mRID>'
        "<quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name><curveType>A01</curveType>"
    )
    process = "<process.processType>A16</process.processType>"
    return _document("GL_MarketDocument", "A65", process, head, _points(days, "quantity"), days)


def _entsoe_price(days: int) -> bytes:
    head = (
        "<auction.type>A01</auction.type>"
        "<classificationSequence_AttributeInstanceComponent.position>1</classificationSequence_AttributeInstanceComponent.position>"
        f'<businessType>A62</businessType><in_Domain.mRID codingScheme="A01">{_NETHERLANDS}</in_Domain.mRID>'
        f'<out_Domain.mRID codingScheme="A01">{_NETHERLANDS}</out_Domain.mRID>'
        "<contract_MarketAgreement.type>A01</contract_MarketAgreement.type><currency_Unit.name>EUR</currency_Unit.name>"
        "<price_Measure_Unit.name>MWH</price_Measure_Unit.name><curveType>A01</curveType>"
    )
    return _document("Publication_MarketDocument", "A44", "", head, _points(days, "price.amount"), days)


def _entsoe_flow(days: int) -> bytes:
    head = (
        f'<businessType>A66</businessType><in_Domain.mRID codingScheme="A01">{_NETHERLANDS}</in_Domain.mRID>'
        f'<out_Domain.mRID codingScheme="A01">{_GERMANY}</out_Domain.mRID>'
        "<quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name><curveType>A01</curveType>"
    )
    return _document("Publication_MarketDocument", "A11", "", head, _points(days, "quantity"), days)


def _est(ts: int, form: str) -> str:
    return datetime.fromtimestamp(ts - 5 * 3600, UTC).strftime(form)


def _nyiso_load() -> bytes:
    lines = ['"Time Stamp","Time Zone","Name","PTID","Load"']
    for k in range(288):
        stamp = _est(_EST_MIDNIGHT + 300 * k, "%m/%d/%Y %H:%M:%S")
        lines += [f'"{stamp}","EST","{zone}",{61752 + i},{_figure(11 * k + i)}' for i, zone in enumerate(ZONES[:11])]
    return ("\r\n".join(lines) + "\r\n").encode()


def _nyiso_price() -> bytes:
    lines = ["Time Stamp,Name,PTID,LBMP ($/MWHr),Marginal Cost Losses ($/MWHr),Marginal Cost Congestion ($/MWHr)"]
    for k in range(24):
        stamp = _est(_EST_MIDNIGHT + 3600 * k, "%m/%d/%Y %H:%M")
        lines += [f"{stamp},{zone},{61752 + i},{_figure(15 * k + i)},1.36,-0.50" for i, zone in enumerate(ZONES)]
    return ("\r\n".join(lines) + "\r\n").encode()


def _caiso_fuel() -> bytes:
    lines = ["Time," + ",".join(FUELS)]
    for k in range(288):
        cells = ",".join(str(_figure(13 * k + i)) for i in range(len(FUELS)))
        lines.append(f"{k // 12:02d}:{k % 12 * 5:02d},{cells}")
    return ("\r\n".join(lines) + "\r\n").encode()


def _aemo_price(days: int) -> bytes:
    """Return the monthly archive's DISPATCHPRICE, with as many columns as the real file has before its sums."""
    reserves = ("RAISE6SEC", "RAISE60SEC", "RAISE5MIN", "RAISEREG", "LOWER6SEC", "LOWER60SEC", "LOWER5MIN", "LOWERREG")
    more = ",".join(f"{name}{what}" for name in reserves for what in ("RRP", "ROP", "APCFLAG"))
    head = (
        "SETTLEMENTDATE,RUNNO,REGIONID,DISPATCHINTERVAL,INTERVENTION,RRP,EEP,ROP,APCFLAG,"
        "MARKETSUSPENDEDFLAG,LASTCHANGED"
    )
    lines = [
        "C,SETP.WORLD,DVD_DISPATCHPRICE,AEMO,PUBLIC,2024/04/08,11:24:36,1,MONTHLY_ARCHIVE,1",
        f"I,DISPATCH,PRICE,4,{head},{more},PRICE_STATUS",
    ]
    start = int(datetime(2024, 3, 5, tzinfo=UTC).timestamp())
    tail = ",".join(["0.42,0.42,0"] * len(reserves))
    for k in range(1, days * 288 + 1):
        stamp = datetime.fromtimestamp(start + 300 * k, UTC).strftime("%Y/%m/%d %H:%M:%S")
        for i, region in enumerate(REGIONS):
            price = _figure(5 * k + i)
            lines.append(
                f'D,DISPATCH,PRICE,4,"{stamp}",1,{region},20240305001,0,{price},0,{price},0,0,"{stamp}",{tail},FIRM'
            )
    return ("\r\n".join([*lines, f'C,"END OF REPORT",{len(lines) + 1}']) + "\r\n").encode()
