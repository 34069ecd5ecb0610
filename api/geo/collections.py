"""The collections of OGC API Features: the document behind each, and what its items take. No Flask here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from api.geo.parameters import BBOX, FUEL, MIN_MW, SAMPLE, ZONE, ZONE_OF_LINE
from api.http.parameters import Parameter, whole
from warehouse import layout

ROOT = "/v1/geo"
LIMIT = whole("limit", "Most features in the answer.", 1, 10_000, 1000)
OFFSET = whole("offset", "Features to skip.", 0, 1_000_000, 0)

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+ -]\d\d:\d\d)?)?", re.ASCII)


def _moments(text: str) -> str:
    """An instant, or an interval of which one end may be open, of any year. Raises ValueError."""
    ends = [end for end in text.split("/") if end not in ("", "..")]
    backwards = len(ends) == 2 and ends[0][:10] > ends[1][:10]
    if not ends or text.count("/") > 1 or not all(map(_MOMENT.fullmatch, ends)) or backwards:
        raise ValueError("takes an instant of RFC 3339, a date, or an interval of two of them, of which one may be ..")
    return text


DATETIME = Parameter(
    "datetime",
    "An instant or interval of RFC 3339. The features have no time of their own, so all of them match.",
    _moments,
    {"type": "string"},
    example="2026-01-01T00:00:00Z",
)


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection. `filters` are its own parameters beside those of the standard."""

    title: str
    document: str
    filters: tuple[Parameter, ...]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What its items take, by name."""
        return {parameter.name: parameter for parameter in (*self.filters, BBOX, LIMIT, OFFSET, DATETIME, SAMPLE)}


COLLECTIONS = {
    "zones": Collection("Zone boundaries", layout.geo("zones", "geojson", "high"), (ZONE,)),
    "interconnectors": Collection("Interconnectors", layout.geo("interconnectors", "geojson"), (ZONE_OF_LINE,)),
    "plants": Collection("Power plants of 250 MW and above", layout.geo("plants", "geojson"), (ZONE, FUEL, MIN_MW)),
    "live": Collection("Zones with their newest figures, rounded", layout.LIVE, (ZONE,)),
}
