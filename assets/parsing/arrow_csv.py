"""CSV of thousands of lines, read by Arrow, of which a few columns are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import csv

from warehouse.errors import FeedChanged

TEXT = pa.dictionary(pa.int32(), pa.string())
"""The type of texts, of which a file has few that differ."""

# While it reads Arrow catches signals itself, and loses one in ten: its thread for them looks too late. A run that is
# cancelled would go on to its end. No file takes so long that a signal could not wait for it.
pa.enable_signal_handlers(False)


def read(what: str, lines: bytes, header: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    """The columns in `types` of lines below a header, empty figures null. Raises FeedChanged, which names `what`."""
    try:
        return csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(use_threads=False, column_names=list(header)),
            csv.ParseOptions(),
            csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[""]),
        )
    except pa.ArrowException as error:
        raise FeedChanged(f"{what}: {str(error).splitlines()[0][:120]}") from None
