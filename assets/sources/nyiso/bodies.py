"""Read New York's CSV files: stamps and values of each zone or interface, with their times. For rows see `nyiso`.

Local stamps appear with and without seconds, quoted or not. The order of the lines distinguishes the two passes of the
repeated autumn hour. The load file also has a column with EDT or EST, which is wrong on 2005-04-03, 2006-04-02 and
2005-10-30. It states EST until 06:55 of a spring day without 02:xx, so 06:00 EST and 07:00 EDT would be the same time.
The wall clock therefore determines every time, and the column only those of the repeated hour.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from assets.parsing import arrow_csv
from assets.parsing.body import columns, is_zip, reading, table, text_of, unzipped, without_cut_cell
from assets.parsing.clocks import instants, repeated
from assets.parsing.columns import FIVE_MINUTES as FIVE
from assets.parsing.columns import drop, filled, keep
from assets.parsing.stamps import american_stamp
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import HOUR
from warehouse.rows.schema import Rows

TZ = "America/New_York"
QUARTER = 900
Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
_BEHIND = {"EDT": 4 * HOUR, "EST": 5 * HOUR}


class Series(NamedTuple):
    """Parallel columns of stamps (wall seconds or Unix seconds) and values, in file order."""

    ts: list[int]
    values: list[float]


def files(body: bytes) -> Iterator[str]:
    """Yield the text of every daily file: the body itself, or the CSV members of a monthly zip that have lines.

    Raises FeedChanged, and NotPublished for an empty body. A zip with only headers yields one of them.
    """
    if not is_zip(body):
        yield without_cut_cell(text_of(body))
        return
    members = [content for name, content in unzipped(body) if name.lower().endswith(".csv")]
    if not members:
        raise FeedChanged("zip file has no CSV member")
    yield from map(text_of, [content for content in members if _has_lines(content)] or members[:1])


def _has_lines(content: bytes) -> bool:
    return bool(content.strip().partition(b"\n")[2])


def prices(text: str, location: str) -> Series:
    """Return wall-clock stamps and LBMP of one location. Raises FeedChanged, or NotPublished without any line."""
    header = _header(text)
    price = next((name for name in header if name.upper().startswith("LBMP ($/MWH")), "LBMP ($/MWHr)")
    columns(header, "Time Stamp", "Name", price)
    lines = [line for line in text.splitlines()[1:] if location in line]
    return _series(text, lines, "Time Stamp", "Name", price).get(location) or _nothing(text)


def flows(text: str) -> list[tuple[str, str, Series]]:
    """Return Point ID, name, stamps and MW of every interface, internal ones too. Raises like `prices`."""
    lines = text.splitlines()[1:]
    by_point = _series(text, lines, "Timestamp", "Point ID", "Flow (MWH)")
    return [(point, _name_of(text, lines, point), series) for point, series in by_point.items()] or _nothing(text)


def _name_of(text: str, lines: Sequence[str], point: str) -> str:
    """Return the name in the first line of a Point ID."""
    name, place = columns(_header(text), "Interface Name", "Point ID")
    own = csv.reader(line for line in lines if point in line)
    return next((cells[name].strip() for cells in own if cells[place].strip() == point), "")


def loads(rows: Rows, text: str) -> dict[str, Series]:
    """Return times and MW by load zone. Ambiguous stamps are dropped. Raises like `prices`."""
    by_zone = _clocked(text, text.splitlines()[1:], "Time Stamp", "Name", "Load", "Time Zone")
    placed = {
        name: _series_of(rows, _by_clock(own.ts, by_column), own.values) for name, (own, by_column) in by_zone.items()
    }
    return placed or _nothing(text)


def wide(text: str, name: str) -> Series:
    """Return stamps and MW of one column of a file with a column per zone. Raises FeedChanged, NotPublished."""
    header, lines = table(text)
    stamp, place = columns(header, "Time Stamp", name)
    read = [(american_stamp(cells[stamp]), reading(cells[place], name)) for cells in lines]
    return Series(*filled([ts for ts, _ in read], [value for _, value in read])) if read else _nothing(text)


def _by_clock(walls: Sequence[int], by_column: Sequence[int]) -> list[int | None]:
    """Return the times of one series' stamps. `by_column` has the times according to the column of the clock's name.

    In the repeated hour the column decides if it names both passes, or is right in the rest of the file. Otherwise the
    order decides.
    """
    doubtful = repeated(walls, TZ)
    try:
        placed = instants(walls, TZ)
    except FeedChanged:  # for a stamp in the hour that spring skips, only the column gives a time
        return list(by_column)
    if not doubtful:
        return placed
    passes = {by_column[i] - walls[i] for i in doubtful}
    if len(passes) > 1 or all(placed[i] == by_column[i] for i in range(len(walls)) if i not in doubtful):
        return [by_column[i] if i in doubtful else placed[i] for i in range(len(walls))]
    return placed


def placed(rows: Rows, walls: Series) -> Series:
    """Return times for wall-clock stamps. Readings of a repeated hour with an ambiguous order are dropped."""
    return _series_of(rows, instants(walls.ts, TZ), walls.values)


def _series_of(rows: Rows, placed: Sequence[int | None], values: Sequence[float]) -> Series:
    whole = [ts for ts in placed if ts is not None]
    if len(whole) == len(values):
        return Series(whole, list(values))
    pairs = [(ts, value) for ts, value in zip(placed, values, strict=True) if ts is not None]
    drop(rows, "ambiguous stamp", len(values) - len(pairs))
    return Series([ts for ts, _ in pairs], [value for _, value in pairs])


def settled(rows: Rows, ends: Series) -> Series:
    """Return the series without the advisory quarter hours at the end of a current day's real-time file.

    A quarter hour right before them may be either, and counts as advisory: five minutes later it is a price.
    """
    ascending = sorted(set(ends.ts))
    first = len(ascending)
    while (
        first
        and ascending[first - 1] % QUARTER == 0
        and (first == 1 or ascending[first - 1] - ascending[first - 2] > FIVE)
    ):
        first -= 1
    if 0 < first < len(ascending) and ascending[first - 1] % QUARTER == 0:
        first -= 1
    advisory = set(ascending[first:])
    return Series(*keep(rows, *ends, lambda ts: ts not in advisory, "advisory quarter hour"))


def _header(text: str) -> list[str]:
    return table(text.partition("\n")[0])[0]


def _series(text: str, lines: Sequence[str], stamp: str, name: str, value: str) -> dict[str, Series]:
    """Return series by name, stamped with wall seconds. An empty cell is a missing reading."""
    return {own: series for own, (series, _) in _clocked(text, lines, stamp, name, value, "").items()}


def _clocked(
    text: str, lines: Sequence[str], stamp: str, name: str, value: str, clock: str
) -> dict[str, tuple[Series, list[int]]]:
    """Return series by name, each with its times by the column `clock` (EDT, EST), if there is such a column."""
    header = _header(text)
    texts = [stamp, name, *filter(None, [clock])]
    columns(header, *texts, value)
    if not lines:
        return {}
    # Texts are dictionaries: a file has 300 stamps and 5000 lines.
    types = {**dict.fromkeys(texts, arrow_csv.TEXT), value: pa.float64()}
    read = arrow_csv.read("not CSV", "\n".join(lines).encode(), header, types)
    read = read.filter(read.column(value).is_valid())
    walls = _mapped(read, stamp, american_stamp)
    by_column = walls + _mapped(read, clock, _behind) if clock else np.zeros(0, np.int64)
    names, values = read.column(name).combine_chunks(), read.column(value).to_numpy()
    texts_of = [text.strip() for text in names.dictionary.to_pylist()]
    own_names = {text: number for number, text in enumerate(dict.fromkeys(texts_of))}
    numbers = np.array([own_names[text] for text in texts_of], np.int64)[names.indices.to_numpy()]
    by_name = {}
    for own_name, number in own_names.items():
        own = numbers == number
        if own.any():
            series = Series(walls[own].tolist(), values[own].tolist())
            by_name[own_name] = series, by_column[own].tolist() if clock else []
    return by_name


def _mapped(read: pa.Table, column: str, meaning: Callable[[str], int]) -> Ints:
    """Return the meaning of each text of a column, computed once per distinct text."""
    texts = read.column(column).combine_chunks()
    meanings: Ints = np.array([meaning(text) for text in texts.dictionary.to_pylist()], np.int64)
    mapped: Ints = meanings[texts.indices.to_numpy()]
    return mapped


def _behind(name: str) -> int:
    """Return the seconds that a named clock is behind UTC. Raises FeedChanged."""
    if name.strip() not in _BEHIND:
        raise FeedChanged(f"unknown time zone {name[:20]!r}")
    return _BEHIND[name.strip()]


def _nothing(text: str) -> NoReturn:
    if text.partition("\n")[2].strip():
        raise FeedChanged("the file has no rows for the zones served here")
    raise NotPublished("the file has a header but no rows")
