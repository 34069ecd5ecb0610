"""Read ENTSO-E's documents: acknowledgements by type, TimeSeries by local name, Periods as columns of times and values.

A Point has only its position. Under curveType A03 a missing position repeats the last given value, up to the Period's
own end. Under A01 it is missing. Positions before the first Point are never filled. Namespaces differ by year and are
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

from assets.parsing.body import is_zip, local, unzipped, xml_of
from assets.parsing.columns import floats, positions
from assets.parsing.stamps import utc_stamp
from warehouse.errors import CredentialsMissing, FeedChanged, FeedUnavailable, NotPublished

TOKEN = "ENTSOE_API_TOKEN"  # noqa: S105  the variable's name
BAN_SECONDS = 600.0
"""How long an address is banned after more than 400 requests per minute, in seconds."""
STEPS = {"PT15M": 900, "PT30M": 1800, "PT60M": 3600}
RESOLUTIONS = {"PT15M": "15m", "PT30M": "30m", "PT60M": "1h"}
LONGEST_PERIOD = 40_000
"""The maximum number of points: a year of quarter hours has 35 136."""

_REFUSED = re.compile(r"authentication failed|invalid (security )?token|unauthori[sz]ed", re.IGNORECASE)
_NOTHING = re.compile(r"no matching data found", re.IGNORECASE)
_LATER = re.compile(
    r"max allowed requests|too many requests|service unavailable|temporarily|time-?out|internal error", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Series:
    """One TimeSeries: the texts of its children by local name, and its Periods."""

    texts: Mapping[str, str]
    periods: tuple[Any, ...]

    def need(self, name: str, value: str) -> None:
        """Raise FeedChanged unless the element `name` has this value."""
        if self.texts.get(name) != value:
            raise FeedChanged(f"unexpected {name} {self.texts.get(name, 'missing')[:40]!r}; expected {value}")


def series_of(body: bytes, kind: str, process: str | None = None) -> Iterator[Series]:
    """Yield the TimeSeries of a document of that type and process. Raises the error that any other body means."""
    parts = [content for _, content in unzipped(body)] if is_zip(body) else [body]
    for part in parts:
        for element in _document(part, kind, process):
            if local(element) == "TimeSeries":
                yield _series(element)


def _document(body: bytes, kind: str, process: str | None) -> Any:
    if body[:200].lstrip().lower().startswith((b"<html", b"<!doctype html")):
        _refuse_page(body)
    root = xml_of(body)
    if local(root) == "Acknowledgement_MarketDocument":
        _refuse(root)
    texts = {local(child): (child.text or "").strip() for child in root if not len(child)}
    if not local(root).endswith("_MarketDocument") or texts.get("type") != kind:
        raise FeedChanged(f"got {local(root)[:40]} of type {texts.get('type', 'missing')[:10]!r}; expected {kind}")
    if process is not None and texts.get("process.processType") != process:
        raise FeedChanged(f"got process {texts.get('process.processType', 'missing')[:10]!r}; expected {process}")
    return root


def _series(element: Any) -> Series:
    texts: dict[str, str] = {}
    periods = []
    for child in element:
        name = local(child)
        if name == "Period":
            periods.append(child)
        elif name == "MktPSRType":
            texts |= {local(part): (part.text or "").strip() for part in child}
        else:
            texts[name] = (child.text or "").strip()
    return Series(texts, tuple(periods))


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of a Period in Unix seconds, and its resolution as spelled."""

    start: int
    end: int
    resolution: str


def interval_of(period: Any) -> Interval:
    """Return the interval of a Period. Raises FeedChanged if it has no bounds or ends before it starts."""
    start, end = (_text(period, f"{{*}}timeInterval/{{*}}{name}") for name in ("start", "end"))
    interval = Interval(utc_stamp(start), utc_stamp(end), _text(period, "{*}resolution"))
    if interval.end <= interval.start:
        raise FeedChanged(f"invalid Period from {start} to {end}")
    return interval


def _text(element: Any, path: str) -> str:
    text = element.findtext(path)
    if not text:
        raise FeedChanged(f"a Period without {path.rpartition('}')[2]}")
    return str(text).strip()


def column(period: Any, interval: Interval, value: str, curve: str | None) -> tuple[list[int], list[float]]:
    """Return interval starts and values of a Period of quarter hours, half hours or hours. Raises FeedChanged."""
    step = STEPS.get(interval.resolution)
    if step is None:
        raise FeedChanged(f"unknown resolution {interval.resolution[:20]!r}")
    count, rest = divmod(interval.end - interval.start, step)
    if rest or interval.start % step or count > LONGEST_PERIOD:
        raise FeedChanged(
            f"a Period of {interval.end - interval.start} s does not divide into steps of {step} s, from "
            f"{interval.start}"
        )
    places, values = spread(period, value, curve, count)
    return [interval.start + (place - 1) * step for place in places], values


def spread(period: Any, value: str, curve: str | None, count: int) -> tuple[Sequence[int], list[float]]:
    """Return the positions 1..`count` with a value, and the values.

    Raises FeedChanged for a position outside or with two values.
    """
    if curve not in ("A01", "A03"):
        raise FeedChanged(f"unexpected curveType {str(curve)[:20]!r}")
    places, values = _points(period, value)
    if places == list(range(1, count + 1)):
        return places, values
    points = dict(zip(places, values, strict=True))
    if any(points[place] != value_there for place, value_there in zip(places, values, strict=True)):
        raise FeedChanged("a position has two values")
    if not points:
        return [], []
    known = sorted(points)
    if known[0] < 1 or known[-1] > count:
        raise FeedChanged(f"position {known[-1]} is beyond the {count} positions of the Period")
    if curve == "A01":
        return known, [points[place] for place in known]
    filled: list[float] = []
    for place, following in pairwise([*known, count + 1]):
        filled += [points[place]] * (following - place)
    return range(known[0], count + 1), filled


def _points(period: Any, value: str) -> tuple[list[int], list[float]]:
    """Return positions and values as given. All Points of a Period have the structure of the first."""
    points = period.findall("{*}Point")
    if not points:
        return [], []
    names = [local(part) for part in points[0]]
    try:
        at, of = names.index("position"), names.index(value)
        position_tag, value_tag = points[0][at].tag, points[0][of].tag
        pairs = [(point[at], point[of]) for point in points]
    except (ValueError, IndexError):
        raise FeedChanged(f"a Point has no position or no {value}") from None
    if any(one.tag != position_tag or other.tag != value_tag for one, other in pairs):
        raise FeedChanged("Points differ in structure")
    return positions([one.text or "" for one, _ in pairs]), floats([other.text or "" for _, other in pairs], value)


def _refuse(root: Any) -> NoReturn:
    """Raise the error that an acknowledgement's reasons mean. 999 without a known text means no data."""
    codes = [(reason.findtext("{*}code") or "").strip() for reason in root.iterfind("{*}Reason")]
    text = " ".join(" ".join((reason.findtext("{*}text") or "").split()) for reason in root.iterfind("{*}Reason"))
    reason = f"{'/'.join(codes)}: {text}"[:300]
    if _REFUSED.search(text):
        raise CredentialsMissing((TOKEN,), refused=True)
    if _LATER.search(text):
        raise FeedUnavailable(reason, BAN_SECONDS if "max allowed requests" in text.lower() else None)
    if _NOTHING.search(text) or (not text and codes == ["999"]):
        raise NotPublished(reason)
    raise FeedChanged(f"request rejected: {reason}")


def _refuse_page(body: bytes) -> NoReturn:
    if b"Unauthorized" in body:
        raise CredentialsMissing((TOKEN,), refused=True)
    raise FeedChanged("got a web page instead of a document")
