"""New York's CSV files: one series of stamps and values for each zone or interface, placed in time. What they mean is `nyiso`'s.

Local stamps come with and without seconds, quoted or not. Only the load file says EDT or EST; elsewhere the order of the
lines tells the two passes of the repeated autumn hour apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, NoReturn

from assets.sources._american import instants, wall_seconds
from assets.sources._body import columns, is_zip, number, table, text_of, unzipped, without_cut_cell
from assets.sources._dropped import FIVE_MINUTES as FIVE
from assets.sources._dropped import drop, keep
from warehouse.clock import HOUR
from warehouse.errors import FeedChanged, NotPublished
from warehouse.schema import Rows

TZ = "America/New_York"
QUARTER = 900


class Series(NamedTuple):
    """Parallel columns of stamps (wall seconds or instants) and values, in the order of the file."""

    ts: list[int]
    values: list[float]


def files(body: bytes) -> Iterator[str]:
    """The text of every daily file in a body: itself, or the CSV members of a monthly zip. Raises FeedChanged, NotPublished."""
    if not is_zip(body):
        yield text_of(body)
        return
    members = [content for name, content in unzipped(body) if name.lower().endswith(".csv")]
    if not members:
        raise FeedChanged("a zip without a CSV file")
    yield from map(text_of, members)


def prices(text: str, location: str) -> Series:
    """Wall-clock stamps and LBMP of one location. Raises FeedChanged, and NotPublished for a file without lines."""
    header, lines = table(_only(text, location))
    price = next((name for name in header if name.upper().startswith("LBMP ($/MWH")), "LBMP ($/MWHr)")
    places = columns(header, "Time Stamp", "Name", price)
    found = _by_name(lines, places, wall_seconds, lambda name: name == location)
    return found.get(location) or _nothing(text)


def flows(text: str, prefix: str) -> dict[str, Series]:
    """Wall-clock stamps and MW by interface, of those whose name begins so. Raises as `prices`."""
    header, lines = table(_only(text, prefix))
    places = columns(header, "Timestamp", "Interface Name", "Flow (MWH)")
    return _by_name(lines, places, wall_seconds, lambda name: name.startswith(prefix)) or _nothing(text)


def loads(text: str, zones: Collection[str]) -> dict[str, Series]:
    """Instants and MW by load zone. Raises as `prices`, and FeedChanged for a zone that is not among `zones`."""
    header, lines = table(without_cut_cell(text))
    stamp, clock, name, load = columns(header, "Time Stamp", "Time Zone", "Name", "Load")
    zoned = ([f"{cells[stamp]} {cells[clock]}", cells[name], cells[load]] for cells in lines)
    found = _by_name(zoned, (0, 1, 2), _zoned_instant, lambda _: True)
    unknown = found.keys() - set(zones)
    if unknown:
        raise FeedChanged(f"unknown load zone {min(unknown)[:40]!r}")
    return found or _nothing(text)


def placed(rows: Rows, walls: Series) -> Series:
    """Instants for wall-clock stamps; readings of a repeated hour that the order does not place are dropped."""
    found = [(ts, value) for ts, value in zip(instants(walls.ts, TZ), walls.values, strict=True) if ts is not None]
    drop(rows, "ambiguous stamp", len(walls.ts) - len(found))
    return Series([ts for ts, _ in found], [value for _, value in found])


def settled(rows: Rows, ends: Series) -> Series:
    """Without the advisory quarter hours that a running day's real-time file closes with.

    A quarter hour right before them may be either, and counts as advisory: five minutes later it is a price.
    """
    ascending = sorted(set(ends.ts))
    first = len(ascending)
    while first and ascending[first - 1] % QUARTER == 0 and (first == 1 or ascending[first - 1] - ascending[first - 2] > FIVE):
        first -= 1
    if 0 < first < len(ascending) and ascending[first - 1] % QUARTER == 0:
        first -= 1
    advisory = set(ascending[first:])
    return Series(*keep(rows, *ends, lambda ts: ts not in advisory, "advisory quarter hour"))


def _by_name(
    lines: Iterator[list[str]], places: Sequence[int], when: Callable[[str], int], wanted: Callable[[str], bool],
) -> dict[str, Series]:
    """Series by name, from the columns of stamp, name and value; an empty cell is no reading."""
    stamp, name, value = places
    found: dict[str, Series] = {}
    for cells in lines:
        key = cells[name].strip()
        if wanted(key) and cells[value].strip():
            series = found.setdefault(key, Series([], []))
            series.ts.append(when(cells[stamp]))
            series.values.append(number(cells[value], key))
    return found


def _zoned_instant(text: str) -> int:
    stamp, _, clock = text.strip().rpartition(" ")
    if clock not in ("EDT", "EST"):
        raise FeedChanged(f"unknown time zone {clock[:20]!r}")
    return wall_seconds(stamp) + (4 if clock == "EDT" else 5) * HOUR


def _only(text: str, mark: str) -> str:
    """The header and the lines that hold `mark`: a file carries fifteen times what is wanted."""
    header, *lines = without_cut_cell(text).splitlines()
    return "\n".join([header, *(line for line in lines if mark in line)])


def _nothing(text: str) -> NoReturn:
    if text.partition("\n")[2].strip():
        raise FeedChanged("nothing of what is wanted in the file")
    raise NotPublished("a header without lines")
