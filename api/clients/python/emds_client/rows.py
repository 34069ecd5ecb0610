"""Rows of a series, and the same as frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Series:
    """Rows as the service gave them, ascending unless asked otherwise, with the envelope of the first page.

    `ts` is the start of an interval in Unix seconds UTC; a missing interval has no row. `truncated`: whether there are
    more pages than were read.
    """

    envelope: dict[str, Any]
    rows: list[dict[str, Any]]
    truncated: bool

    @property
    def attribution(self) -> Any:
        """Whose figures these are: to be shown wherever they are; of several zones by zone."""
        return self.envelope["attribution"]

    def to_pandas(self) -> Any:
        """A pandas frame indexed by `time` (UTC)."""
        import pandas

        frame = pandas.DataFrame(self.rows)
        if self.rows:
            frame.index = pandas.to_datetime(frame["ts"], unit="s", utc=True).rename("time")
        return frame

    def to_polars(self) -> Any:
        """A polars frame with a column `time` (UTC) beside `ts`."""
        import polars

        frame = polars.DataFrame(self.rows, infer_schema_length=None)
        if not self.rows:
            return frame
        return frame.with_columns(polars.from_epoch("ts", time_unit="s").dt.replace_time_zone("UTC").alias("time"))

    def to_arrow(self) -> Any:
        """A pyarrow table."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.rows)
