"""Read a few columns of CSV files with thousands of lines, by Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import csv

from warehouse.errors import FeedChanged

TEXT = pa.dictionary(pa.int32(), pa.string())
"""The type of texts with few distinct values."""

# While it reads, Arrow catches signals itself and loses one in ten, because its thread checks for them too late. A
# cancelled run would then continue to its end. A signal can wait until any file is read.
pa.enable_signal_handlers(False)


def read(what: str, lines: bytes, header: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the columns in `types` of lines below a header, empty values as null. Raises FeedChanged, which names
    `what`.
    """
    try:
        return csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(use_threads=False, column_names=list(header)),
            csv.ParseOptions(),
            csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[""]),
        )
    except pa.ArrowException as error:
        raise FeedChanged(f"{what}: {str(error).splitlines()[0][:120]}") from None
