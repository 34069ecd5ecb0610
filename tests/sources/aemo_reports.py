"""AEMO's reports made for the tests, and how their rows are read."""

from __future__ import annotations

import io
import zipfile

from assets import sources
from warehouse.market.clock import instant
from warehouse.market.market import Request

DISPATCH, TRADING = sources.feed("aemo.dispatch"), sources.feed("aemo.trading")
DASHBOARD, MONTHLY = sources.feed("aemo.five_minute"), sources.feed("aemo.price_and_demand")
NOON = "2026/11/20 12:00:00"
"""An interval's end in market time: it starts at 01:55Z."""
START = instant("2026-11-20T01:55:00Z")

PRICE = "I,DISPATCH,PRICE,5,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,RRP,LASTCHANGED"
REGION = "I,DISPATCH,REGIONSUM,9,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,TOTALDEMAND,NETINTERCHANGE"
TIE = "I,DISPATCH,INTERCONNECTORRES,3,SETTLEMENTDATE,RUNNO,INTERCONNECTORID,INTERVENTION,METEREDMWFLOW,MWFLOW"


def price(region, value, stamp=NOON, intervention=0, version=5):
    return f'D,DISPATCH,PRICE,{version},"{stamp}",1,{region},{intervention},{value},"{stamp}"'


def tie(name, flow, stamp=NOON):
    return f"D,DISPATCH,INTERCONNECTORRES,3,{stamp},1,{name},0,1.5,{flow}"


def report(*lines, name="DISPATCHIS", count=None):
    """A report with its first and last line; `count` overrides the number of lines that the last one states."""
    count = len(lines) + 2 if count is None else count
    first, last = f"C,NEMP.WORLD,{name},AEMO,PUBLIC,2026/11/20,11:55:11,1,{name},1", f'C,"END OF REPORT",{count}'
    return "\r\n".join([first, *lines, last, ""]).encode()


def zipped(**members):
    """A zip of the members, by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def read(feed, body, zone=None):
    return feed.parse(body, Request(feed.id, "", zone=zone))


def values(rows):
    """Values by zone, metric and time, without borders."""
    return {(r.zone, r.metric, r.ts): r.value for r in rows if r.counterparty is None}


WHOLE = report(PRICE, price("NSW1", 81.5), price("SA1", 91.5), TIE, tie("V-SA", 3))
