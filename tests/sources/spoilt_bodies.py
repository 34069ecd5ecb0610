"""Spoil a body in any format: its records or cells reordered, doubled or halved, or its bytes cut."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any

import xlrd
from lxml import etree

from assets.simulated.miso.workbook import workbook

CUTS, MOST_CUTS = 15, 60
"""The number of cuts of a body too large to be cut at every tenth byte, normally and in a thorough run."""
HEADER = {"name", "label", "dataType", "searchable", "cardinality", "sortable", "hasRange"}
"""The fields that describe a column of positional JSON rows."""
Spoil = Callable[[list[Any]], list[Any]]


def spoilt(body: bytes, records: Spoil, cells: Spoil = list) -> bytes:
    """Return the body with its runs of records, or the cells of its records, changed."""
    head = body.lstrip()[:1]
    if body[:2] == b"PK":
        return _spoilt_zip(body, records, cells)
    if body[:4] == b"\xd0\xcf\x11\xe0":
        return _spoilt_workbook(body, records, cells)
    if head in (b"{", b"["):
        return json.dumps(_spoilt_json(json.loads(body), records, cells)).encode()
    if head == b"<":
        root = etree.fromstring(body)
        _spoil_xml(root, records)
        return etree.tostring(root)
    return _spoilt_lines(body, records, cells)


def rewritten(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return the body with its bytes changed, or those of every file if it is a zip."""
    if body[:2] != b"PK":
        return change(body)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, rewritten(old.read(entry), change))
    return out.getvalue()


def _spoilt_zip(body: bytes, records: Spoil, cells: Spoil) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, spoilt(old.read(entry), records, cells))
    return out.getvalue()


def _spoilt_workbook(body: bytes, records: Spoil, cells: Spoil) -> bytes:
    """Change the runs of rows that have an hour; days and hours become integers, which are not spoilt as values."""
    sheet = xlrd.open_workbook(file_contents=body, logfile=io.StringIO()).sheet_by_index(0)
    rows = [[None if value == "" else value for value in sheet.row_values(i)] for i in range(sheet.nrows)]
    header = next(row for row in rows if "HourEnding" in row)
    day, hour = header.index("Market Day"), header.index("HourEnding")
    changed = []
    for has_hour, run in groupby(rows, lambda row: str(row[hour]).removesuffix(".0").isdigit()):
        if has_hour:
            whole = [
                [int(c) if i in (day, hour) and isinstance(c, float) else c for i, c in enumerate(row)] for row in run
            ]
            changed += records(whole)
        else:
            changed += run
    return workbook([cells(row) for row in changed])


def _spoilt_json(value: Any, records: Spoil, cells: Spoil) -> Any:
    if isinstance(value, dict):
        return dict(cells([(name, _spoilt_json(inner, records, cells)) for name, inner in value.items()]))
    if isinstance(value, list):
        inner = [_spoilt_json(item, records, cells) for item in value]
        return (
            records(inner)
            if inner and all(isinstance(item, dict | list) for item in inner) and not _is_header(inner)
            else inner
        )
    return value


def _is_header(items: list[Any]) -> bool:
    """Return whether `items` describe the columns of positional rows, as in `"fields": [{"name": ...}, ...]`."""
    return all(isinstance(item, dict) and set(item) <= HEADER for item in items)


def _spoil_xml(node: etree._Element, records: Spoil) -> None:
    for child in node:
        _spoil_xml(child, records)
    for tag in {child.tag for child in node if etree.QName(child).localname in ("TimeSeries", "Period", "Point")}:
        old = [child for child in node if child.tag == tag]
        place = node.index(old[0])
        for child in old:
            node.remove(child)
        for i, child in enumerate(records(old)):
            node.insert(place + i, etree.fromstring(etree.tostring(child)))


def _spoilt_lines(body: bytes, records: Spoil, cells: Spoil) -> bytes:
    """Change the longest run of lines of equal width, and keep its first line (the header) in place."""
    end = "\r\n" if b"\r\n" in body else "\n"
    lines = _lines(body)
    width = Counter(len(line) for line in lines).most_common(1)[0][0]
    table = [i for i, line in enumerate(lines) if len(line) == width]
    first, rest = table[0], [lines[i] for i in table[1:]]
    changed = records(rest) if cells is list else [cells(line) for line in records(rest)]
    before = [*lines[:first], cells(lines[first])]
    places = set(table)
    kept = [line for i, line in enumerate(lines[first + 1 :], first + 1) if i not in places]
    out = io.StringIO()
    whole = [*before, *changed, *kept]
    if whole[-1][:2] == ["C", "END OF REPORT"]:  # AEMO's count of lines would reveal every change.
        whole[-1] = [*whole[-1][:2], str(len(whole))]
    csv.writer(out, lineterminator=end).writerows(whole)
    return out.getvalue().encode()


@lru_cache(maxsize=16)
def _lines(body: bytes) -> list[list[str]]:
    """Return the cells of each line; no caller changes them, so that all ways to spoil a body share them."""
    return [next(csv.reader([line]), []) for line in body.decode("utf-8-sig").splitlines()]


def backwards(items: list[Any]) -> list[Any]:
    return items[::-1]


def backwards_by_table(items: list[Any]) -> list[Any]:
    """Reverse each table of an AEMO report, below its line `I` of column names, which stays in place."""
    parts: list[list[Any]] = [[]]
    for item in items:
        if isinstance(item, list) and item[:1] == ["I"]:
            parts += [[item], []]
        else:
            parts[-1].append(item)
    return [item for part in parts for item in backwards(part)]


def twice(items: list[Any]) -> list[Any]:
    return [item for item in items for _ in range(2)]


def halved(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if i % 2 == 0 or not len(items) // 4 <= i < len(items) // 2 + 1]


def doubled(items: list[Any]) -> list[Any]:
    """Repeat the middle record with a different value."""
    middle = len(items) // 2
    return [*items[: middle + 1], _other(items[middle]), *items[middle + 1 :]] if items else items


def _other(record: Any) -> Any:
    """Return the record with only its values changed."""
    if isinstance(record, etree._Element):
        copy = etree.fromstring(etree.tostring(record))
        for leaf in copy.iter():
            if etree.QName(leaf).localname in ("quantity", "price.amount"):
                leaf.text = str(float(leaf.text or 0) + 1.5)
        return copy
    if isinstance(record, dict):
        figures = [name for name, value in record.items() if _is_figure(value)]
        return {name: _another(value) if name in figures else _other(value) for name, value in record.items()}
    if isinstance(record, list):
        return [_another(item) if _is_figure(item) else _other(item) for item in record]
    return record


def _is_figure(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, str) and re.fullmatch(r"-?\d*\.\d+", value) is not None)


def _another(value: Any) -> Any:
    return f"{float(value) + 1.5:.4f}" if isinstance(value, str) else value + 1.5


def cuts(body: bytes, most: int) -> Iterator[bytes]:
    """Yield the body cut at every tenth byte; cut a body above 6 kB `most` times, and as often at line ends."""
    step = 10 if len(body) <= 6000 else len(body) // most
    yield from (body[:end] for end in range(step, len(body), step))
    if step > 10:
        ends = [m.end() for m in re.finditer(rb"\n", body)]
        yield from (body[:end] for end in ends[:: max(1, len(ends) // most)] if end < len(body))
