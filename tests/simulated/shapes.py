"""The shape of a body: members and types of JSON, elements of XML, columns of CSV; a zip is opened."""

from __future__ import annotations

import io
import json
import re
import zipfile

from lxml import etree


def shape_of(body: bytes) -> set[str]:
    """Dotted members with their types, element paths, or column names in lower case. Without letters: empty."""
    if body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return shape_of(archive.read(archive.namelist()[0]))
    if body.startswith(b"\xd0\xcf\x11\xe0"):
        return {"workbook"}
    text = body.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("{", "[")):
        return _members(json.loads(text), "")
    if text.startswith("<"):
        return {"page"} if "<html" in text[:300].lower() else _elements(body)
    return _columns(text)


def _members(value: object, path: str) -> set[str]:
    if isinstance(value, dict):
        return {name for key, inner in value.items() for name in _members(inner, f"{path}.{key}")}
    if isinstance(value, list):
        return {name for inner in value[:400] for name in _members(inner, path)}
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return set() if value is None else {f"{path}:{'number' if number else type(value).__name__}"}


def _elements(body: bytes) -> set[str]:
    elements = (element for element in etree.fromstring(body).iter() if isinstance(element.tag, str))
    return {
        "/".join(str(etree.QName(e).localname) for e in [*reversed([*element.iterancestors()]), element])
        for element in elements
    }


def _columns(text: str) -> set[str]:
    separator = max("\t;,", key=text[:4000].count)
    names: set[str] = set()
    for line in text.splitlines()[:40]:
        cells = [cell.strip('" ').lower() for cell in line.split(separator)]
        if len(cells) > 2 and all(re.match(r"[a-z(]|$", cell) for cell in cells):
            names |= {*cells} - {""}
    return names
