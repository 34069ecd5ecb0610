"""Represent the rows of a series, and convert them to frames that keep attribution and licence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_COLUMNS = ("ts", "value", "unit", "resolution")
_TERMS = ("attribution", "license")


@dataclass(frozen=True, slots=True)
class Series:
    """The rows of a series, ascending unless `order` says otherwise, with the merged envelope of all pages.

    `ts` is the start of an interval in Unix seconds UTC. A missing interval has no row. `truncated` is true if there
    are more pages.
    """

    envelope: dict[str, Any]
    rows: list[dict[str, Any]]
    truncated: bool

    @property
    def attribution(self) -> Any:
        """Return the attribution to show with the data, by zone if the series has several zones."""
        return self.envelope["attribution"]

    @property
    def columns(self) -> list[str]:
        """Return the fields of a row, also if there are no rows."""
        return [*self.rows[0]] if self.rows else [*(["zone"] if "zones" in self.envelope else []), *_COLUMNS]

    def to_pandas(self, *, wide: bool = False) -> Any:
        """Return a pandas frame indexed by `time` (UTC), with the terms in `attrs`.

        `wide` returns only values, in a column per zone or fuel.
        """
        import pandas

        frame = pandas.DataFrame(self.rows, columns=self.columns)
        frame.index = pandas.to_datetime(frame["ts"].astype("int64"), unit="s", utc=True).rename("time")
        if wide:
            names = [name for name in ("zone", "fuel", "counterparty", "link") if name in frame]
            frame = frame.pivot_table("value", "time", names, dropna=False) if names else frame[["value"]]
        frame.attrs.update({name: self.envelope[name] for name in _TERMS})
        return frame

    def to_polars(self) -> Any:
        """Return a polars frame with `ts` and the additional column `time` (UTC)."""
        import polars

        kinds = {"ts": polars.Int64, "value": polars.Float64}
        schema = None if self.rows else {name: kinds.get(name, polars.String) for name in self.columns}
        frame = polars.DataFrame(self.rows, schema=schema, infer_schema_length=None)
        return frame.with_columns(polars.from_epoch("ts", time_unit="s").dt.replace_time_zone("UTC").alias("time"))

    def to_arrow(self) -> Any:
        """Return a pyarrow table, with attribution and licence as JSON in the metadata of its schema."""
        import pyarrow

        kinds = {"ts": pyarrow.int64(), "value": pyarrow.float64()}
        empty = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in self.columns])
        table = pyarrow.Table.from_pylist(self.rows) if self.rows else empty.empty_table()
        return table.replace_schema_metadata({name: json.dumps(self.envelope[name]) for name in _TERMS})
