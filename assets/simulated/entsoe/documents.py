"""Render ENTSO-E's XML documents, with the elements that a reader needs, and acknowledgements.

A Point has only its position. A Point that repeats the last value is left out (curveType A03). Schemas:
https://www.entsoe.eu/publications/electronic-data-interchange-edi-library/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assets.simulated.answer import shorts
from warehouse.market.clock import utc

STEPS = {"PT15M": 900, "PT60M": 3600}
MEGAWATTS = {"quantity_Measure_Unit.name": "MAW"}
_SCHEMA = "urn:iec62325.351:tc57wg16:451"


@dataclass(frozen=True, slots=True)
class Period:
    """Values of consecutive intervals, in MW or currency per MWh."""

    start: int
    end: int
    resolution: str
    values: Sequence[float]


Series = tuple[Mapping[str, str], Sequence[Period]]
"""A TimeSeries: its elements by name (a name without a dot has child elements), and its Periods."""


def document(kind: str, series: Sequence[Series], process: str = "") -> bytes:
    """Return a document of a type, with its process if it has one."""
    root, value = ("Publication" if kind in ("A44", "A11") else "GL"), "price.amount" if kind == "A44" else "quantity"
    lines = [f'<{root}_MarketDocument xmlns="{_SCHEMA}">', f"<type>{kind}</type>"]
    lines += [f"<process.processType>{process}</process.processType>"] if process else []
    for elements, periods in series:
        texts = "".join(f"<{name}>{text}</{name}>" for name, text in elements.items())
        lines.append(f"<TimeSeries>{texts}<curveType>A03</curveType>")
        for period in periods:
            lines += _period(value, period)
        lines.append("</TimeSeries>")
    return "\n".join([*lines, f"</{root}_MarketDocument>"]).encode()


def _period(value: str, period: Period) -> Iterator[str]:
    start, end = (f"{utc(ts):%Y-%m-%dT%H:%MZ}" for ts in (period.start, period.end))
    yield f"<Period><timeInterval><start>{start}</start><end>{end}</end></timeInterval>"
    yield f"<resolution>{period.resolution}</resolution>"
    last = ""
    for place, text in enumerate(shorts(np.asarray(period.values), 2), start=1):
        if text != last:
            yield f"<Point><position>{place}</position><{value}>{text}</{value}></Point>"
        last = text
    yield "</Period>"


def acknowledgement(reason: str) -> bytes:
    """Return the document for no data: code 999 and a reason."""
    words = f"<Reason><code>999</code><text>{reason}</text></Reason>"
    return f'<Acknowledgement_MarketDocument xmlns="{_SCHEMA}">{words}</Acknowledgement_MarketDocument>'.encode()
