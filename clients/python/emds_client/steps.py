"""Define the methods of both clients that need several calls, as generators of `Call` that receive responses."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Generator, Iterable
from typing import Any, NamedTuple, TypeVar

import httpx

from . import calls
from .calls import Call, Moment
from .errors import EmdsError, NotFound, Unavailable
from .rows import Series

T = TypeVar("T")
Steps = Generator[Call, httpx.Response, T]
_FAR = "2100-01-01"
"""A date after all known future rows."""


class Update(NamedTuple):
    """A followed frame. `cursor` continues after it. `changed` is true if the frame differs from the last update."""

    frame: Any
    cursor: str
    changed: bool
    more: bool


class Followed(NamedTuple):
    """The series in a frame: all its rows from `start`, including known future rows."""

    metric: str
    zone: str
    start: Moment | None
    market: str | None

    def read(self, start: Moment | None, end: Moment) -> Steps[Series]:
        """Read rows of the series again."""
        return read_series(self.metric, self.zone, start, end, None, {"market": self.market})

    def begin(self) -> Steps[Update]:
        """Read the whole window. The cursor is older than the rows, so that no change is missed."""
        newest = calls.body_of((yield calls.call("/v1/changes", since="now")))
        series = yield from self.read(self.start, _FAR)
        frame = series.to_pandas()
        frame.attrs["start"] = series.envelope["start"]
        return Update(frame, newest["next"], True, False)

    def advance(self, before: Update) -> Steps[Update]:
        """Apply the changes since the previous update. If the service no longer knows the cursor, start again."""
        import pandas

        request = calls.call("/v1/changes", since=before.cursor, zone=self.zone, metric=self.metric, limit=1000)
        try:
            body = calls.body_of((yield request))
        except EmdsError as refused:
            if refused.status != 410:
                raise
            return (yield from self.begin())
        frame, spans = before.frame, _spans(body["entries"], before.frame.attrs["start"])
        for first, last in spans:
            series = yield from self.read(first, last + 1)
            rest = frame[~frame["ts"].between(first, last)]
            parts = [part for part in (rest, series.to_pandas()) if len(part)]
            frame = pandas.concat(parts).sort_index(kind="stable") if parts else rest
            frame.attrs = before.frame.attrs
        return Update(frame, body["next"], bool(spans), body["more"])


def read_body(call: Call) -> Steps[dict[str, Any]]:
    """Read the JSON body of a response."""
    return calls.body_of((yield call))


def read_zones() -> Steps[list[dict[str, Any]]]:
    """Read the zones."""
    zones: list[dict[str, Any]] = calls.body_of((yield calls.call("/v1/zones")))["zones"]
    return zones


def _spans(entries: Iterable[dict[str, Any]], start: int) -> list[tuple[int, int]]:
    """Return the ranges at or after `start` that entries affect. Overlapping ranges are merged."""
    spans: list[tuple[int, int]] = []
    for first, last in sorted((max(entry["first"], start), entry["last"]) for entry in entries):
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        elif first <= last:
            spans.append((first, last))
    return spans


def read_series(
    metric: str,
    zone: str | Iterable[str],
    start: Moment | None,
    end: Moment | None,
    pages: int | None,
    query: dict[str, Any],
) -> Steps[Series]:
    """Read a series page by page, at most `pages` pages."""
    request: Call | None = calls.series(metric, zone, start=start, end=end, **{"limit": 5000, **query})
    envelope: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    read = 0
    while request is not None and read != pages:
        answer = yield request
        body = calls.body_of(answer)
        rows += body.pop("data")
        envelope, read, request = calls.merged(envelope, body), read + 1, calls.following(answer.headers)
    return Series(envelope, rows, request is not None)


def read_months(metric: str, zone: str | Iterable[str], first: str, last: str) -> Steps[Any]:
    """Read monthly files into a frame, by time, then zone.

    Raises NotFound for a zone without such a month, and Unavailable if a file is not the listed file.
    """
    import pandas
    import pyarrow
    import pyarrow.parquet

    zones = [zone] if isinstance(zone, str) else [*zone]
    query = {"metric": metric.replace("_", "-"), "zone": ",".join(zones)}
    listed = calls.body_of((yield calls.call("/v1/bulk", **query)))["files"]
    files = [file for file in listed if first <= file["month"] and file["month"][: len(last)] <= last]
    found = sorted({file["zone"] for file in files})
    if len(found) < len({*zones}):
        names, since, there = ", ".join(zones), first or "the first", ", ".join(found) or "none"
        detail = f"/v1/bulk lists no month of {metric} from {since} to {last} for all of {names}; it has {there}"
        raise NotFound(404, detail)
    tables = []
    for file in sorted(files, key=lambda file: (str(file["zone"]), str(file["month"]))):
        answer = yield calls.signed(file["url"])
        if answer.status_code != 200:
            calls.body_of(answer)
        if hashlib.sha256(answer.content).hexdigest() != file["sha256"]:
            raise Unavailable(
                0,
                f"{file['month']} of {file['zone']} is not the listed file: it may have changed; list the files again",
            )
        tables.append(pyarrow.parquet.read_table(io.BytesIO(answer.content)).replace_schema_metadata())
    frame = pyarrow.concat_tables(tables).to_pandas().dropna(axis="columns", how="all")
    frame.index = pandas.to_datetime(frame["ts"], unit="s", utc=True).rename("time")
    if len(zones) > 1:
        frame = frame.sort_index(kind="stable")
    for term in ("attribution", "license"):
        frame.attrs[term] = "; ".join(dict.fromkeys(file[term] for file in files))
    return frame
