"""The collections of OGC API Features: the document behind each, and what its items take. No Flask here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from api.geo.filters import Box
from api.geo.parameters import BBOX, FUEL, MIN_MW, SAMPLE, ZONE, ZONE_OF_LINE, number
from api.http.parameters import Parameter, whole
from warehouse import layout
from warehouse.clock import DAY

ROOT = "/v1/geo"
LIMIT = whole("limit", "Most features in the answer.", 1, 10_000, 1000)
OFFSET = whole("offset", "Features to skip.", 0, 1_000_000, 0)

_NUMBERS = {"type": "array", "items": {"type": "number"}}


def _flat(text: str) -> Box:
    """A box of four numbers, or of six with heights, which no feature has. Raises ValueError."""
    parts = text.split(",")
    if len(parts) != 6:
        box: Box = BBOX.read(text)
        return box
    bottom, top = parts.pop(2), parts.pop(4)
    if number(bottom) > number(top):
        raise ValueError("takes the lower height before the upper: west,south,bottom,east,north,top")
    return _flat(",".join(parts))


BOX = replace(
    BBOX,
    description=f"{BBOX.description} Of six numbers the third and the sixth are heights, which no feature has.",
    read=_flat,
    schema={"anyOf": [{**_NUMBERS, "minItems": count, "maxItems": count} for count in (4, 6)]},
)

_CLOCK = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(:(?P<second>[0-5]\d|60)(\.\d+)?)?"
_OFFSET = r"[Zz]|(?P<sign>[+ -])(?P<east_hour>[01]\d|2[0-3]):(?P<east_minute>[0-5]\d)"
_MOMENT = re.compile(rf"(?P<day>\d{{4}}-\d\d-\d\d)([Tt ]{_CLOCK}({_OFFSET})?)?", re.ASCII)
_NO_MOMENT = "takes an instant of RFC 3339, a date, or an interval of two of them, of which one may be .."


def _second(text: str, last: bool) -> int:
    """The second since 1970 at which a stated moment begins, of a date its `last` one. Raises ValueError."""
    stated = _MOMENT.fullmatch(text)
    if stated is None:
        raise ValueError(_NO_MOMENT)
    try:
        day = int(np.datetime64(stated["day"]).astype(np.int64)) * DAY
    except ValueError:
        raise ValueError(f"names {stated['day']}, which is no day") from None
    if stated["hour"] is None:
        return day + (DAY - 1) * last
    east = (int(stated["east_hour"] or 0) * 60 + int(stated["east_minute"] or 0)) * (-1 if stated["sign"] == "-" else 1)
    return day + (int(stated["hour"]) * 60 + int(stated["minute"]) - east) * 60 + int(stated["second"] or 0)


def _moments(text: str) -> str:
    """An instant, or an interval of which one end may be open, of any year. Raises ValueError."""
    ends = [(_second(end, bool(place)), place) for place, end in enumerate(text.split("/")) if end not in ("", "..")]
    if not ends or text.count("/") > 1:
        raise ValueError(_NO_MOMENT)
    if ends != sorted(ends):
        raise ValueError("takes an interval that begins before it ends")
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
        return {parameter.name: parameter for parameter in (*self.filters, BOX, LIMIT, OFFSET, DATETIME, SAMPLE)}


COLLECTIONS = {
    "zones": Collection("Zone boundaries", layout.geo("zones", "geojson", "high"), (ZONE,)),
    "interconnectors": Collection("Interconnectors", layout.geo("interconnectors", "geojson"), (ZONE_OF_LINE,)),
    "plants": Collection("Power plants of 250 MW and above", layout.geo("plants", "geojson"), (ZONE, FUEL, MIN_MW)),
    "live": Collection("Zones with their newest figures, rounded", layout.LIVE, (ZONE,)),
}
