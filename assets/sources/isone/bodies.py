"""Read ISO New England's bodies: web-service JSON, the tie pages' JSON, and ISO Express CSV. For rows see `isone`.

Traps: a single entry is an object, not a list. "Nothing yet" is an empty text, or a sentence with status 200. The hour
ending of a CSV line is quoted in one report only. A truncated CSV lacks its `T` line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from assets.parsing.body import columns, json_of, member, no_html, text_of
from assets.parsing.stamps import iso_instant
from warehouse.errors import FeedChanged, NotPublished

NO_DATA = b"No data exists for this period"


def entries(body: bytes, box: str, name: str) -> list[dict[str, Any]]:
    """Return the entries of `{box: {name: [...]}}`; `current` ones omit the box. Raises FeedChanged, NotPublished."""
    answer = _published(body)
    inner = answer[box] if isinstance(answer, dict) and box in answer else answer
    if inner in ("", None):
        raise NotPublished("no entries yet")
    content = member(inner, name, (list, dict, str, type(None)))
    if not content:
        raise NotPublished("no entries yet")
    listed = content if isinstance(content, list) else [content]
    if not all(isinstance(entry, dict) for entry in listed):
        raise FeedChanged(f"{name!r} contains something other than entries")
    return listed


def begin(entry: dict[str, Any], step: int) -> int:
    """Return the time of BeginDate, which has an offset. Raises FeedChanged if it is off the grid of `step` seconds."""
    ts = iso_instant(member(entry, "BeginDate", str))
    if ts % step:
        raise FeedChanged(f"{entry['BeginDate']} is not the start of a {step} s interval")
    return ts


def location(entry: dict[str, Any]) -> str:
    """Return the location's number as text. Raises FeedChanged."""
    return str(member(member(entry, "Location", dict), "@LocId", (str, int)))


def ties(body: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return entries by tie number from `[{"data": {"4010": [...]}}]`. Raises FeedChanged, NotPublished."""
    by_tie = _content(body)
    if not by_tie:
        raise NotPublished("the response has no ties yet")
    if not isinstance(by_tie, dict) or not all(isinstance(rows, list) for rows in by_tie.values()):
        raise FeedChanged("a tie has no list of entries")
    return by_tie


def load_forecasts(body: bytes) -> list[dict[str, Any]]:
    """Return the newest forecast and the day before's from `[{"data": {"forecast": [...], "priorDay": [...]}}]`.

    Raises FeedChanged, NotPublished.
    """
    days = _content(body)
    found = [entry for name in ("priorDay", "forecast") for entry in member(days, name, list)]
    if not found:
        raise NotPublished("the response has no forecast yet")
    return found


def _content(body: bytes) -> Any:
    """Return the content of a page of the site from `[{"data": ...}]`. Raises FeedChanged, NotPublished."""
    answer = _published(body)
    if not isinstance(answer, list) or len(answer) != 1:
        raise FeedChanged("not the list of a single response")
    return member(answer[0], "data", (dict, list))


def report(body: bytes, title: str, *names: str, mark: str = "") -> list[list[str]]:
    """Return the named cells of an ISO Express report's D lines that contain `mark`, in file order.

    Raises NotPublished if the body states so, FeedChanged for another report or one truncated before its T line.
    """
    if NO_DATA in body[:200]:
        raise NotPublished("no data for this period")
    lines = no_html(text_of(body)).rstrip().splitlines()
    head = [cells for cells in _cells(lines[:6]) if cells]
    if not any(cells[0] == "C" and title in cells[-1] for cells in head):
        raise FeedChanged(f'not the report "{title}"')
    if not lines[-1].startswith(('"T"', "T,")):
        raise FeedChanged("the report is truncated: it has no T line")
    header = next((cells for cells in head if cells[0] == "H"), [])
    places = columns(header, *names)
    return [
        _picked(cells, places, len(header))
        for cells in _cells([line for line in lines if mark in line])
        if cells[:1] == ["D"]
    ]


def _published(body: bytes) -> Any:
    if NO_DATA in body[:200]:
        raise NotPublished("no data for this period")
    return json_of(body)


def _cells(lines: Sequence[str]) -> list[list[str]]:
    try:
        return [[cell.strip() for cell in cells] for cells in csv.reader(io.StringIO("\n".join(lines)), strict=True)]
    except csv.Error as error:
        raise FeedChanged(f"not valid CSV: {error}") from None


def _picked(cells: Sequence[str], places: Sequence[int], width: int) -> list[str]:
    if len(cells) != width:
        raise FeedChanged(f"a line has {len(cells)} cells; the header has {width}")
    return [cells[place] for place in places]
