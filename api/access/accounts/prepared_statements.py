"""One PostgreSQL connection whose statements go straight to libpq: a cursor of psycopg doubles the caller's CPU time.

A statement's parameters ($1, ...) and its rows hold whole numbers of 64 bits and bytes, both in binary.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import psycopg
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

Value = int | bytes | Sequence[int] | Sequence[bytes]
Row = tuple[int | bytes | None, ...]

WITHIN_S = 10.0
"""A statement takes milliseconds; a server that is silent for so long stands still, or is gone without a word."""
# Every statement finds its few rows by an index, at any size of the tables. Left alone, the planner reads small tables
# whole, and plans again for each call where it takes the size of the batch for a reason.
_PLANS = """
SELECT set_config(name, value, false) FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'),
('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')) AS settings (name, value)
"""
_BIGINT, _BYTEA = 20, 17
_OF_MANY: Mapping[int, int] = {_BIGINT: 1016, _BYTEA: 1001}
"""Object identifiers of PostgreSQL's types, and of arrays of them. The same in every release."""
_BINARY = 1
_BIG = struct.Struct("!q")
_LENGTH = struct.Struct("!i")
_ARRAY = struct.Struct("!iiIii")


class _Prepared(NamedTuple):
    name: bytes
    formats: tuple[int, ...]


class PreparedStatements:
    """For one thread at a time. Each statement is its own transaction. Raises psycopg's errors."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg.connect(address, autocommit=True, connect_timeout=5, client_encoding="utf8")
        self._connection.execute(_PLANS)
        self._libpq = self._connection.pgconn
        self._readable = select.poll()
        self._readable.register(self._libpq.socket, select.POLLIN)
        self._prepared: dict[str, _Prepared] = {}

    def run(self, statement: str, values: Sequence[Value]) -> list[Row]:
        """The rows of a statement, which is prepared when it first comes; a value keeps its type."""
        name, formats = self._prepared.get(statement) or self._prepare(statement, values)
        self._libpq.send_query_prepared(name, [_written(value) for value in values], formats, _BINARY)
        result = self._answer()
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise self._fault(result.error_field(DiagnosticField.SQLSTATE))
        columns = range(result.nfields)
        are_bytes = [result.ftype(column) == _BYTEA for column in columns]
        return [
            tuple(_read(result.get_value(row, column), are_bytes[column]) for column in columns)
            for row in range(result.ntuples)
        ]

    def close(self) -> None:
        self._connection.close()

    def _prepare(self, statement: str, values: Sequence[Value]) -> _Prepared:
        prepared = _Prepared(f"emds_{len(self._prepared)}".encode(), (_BINARY,) * len(values))
        self._libpq.send_prepare(prepared.name, statement.encode(), [_type_of(value) for value in values])
        result = self._answer()
        if result.status != ExecStatus.COMMAND_OK:
            raise self._fault(result.error_field(DiagnosticField.SQLSTATE))
        self._prepared[statement] = prepared
        return prepared

    def _answer(self) -> PGresult:
        """What the server answers; not libpq's own wait, which a server that stands still would never end."""
        while self._libpq.is_busy():
            if not self._readable.poll(WITHIN_S * 1000):
                raise psycopg.OperationalError(f"no answer within {WITHIN_S:.0f} s")
            self._libpq.consume_input()
        result = self._libpq.get_result()
        while self._libpq.get_result() is not None:
            pass
        if result is None:
            raise psycopg.OperationalError(self._libpq.get_error_message())
        return result

    def _fault(self, state: bytes | None) -> psycopg.Error:
        """Without a SQLSTATE, libpq itself failed: the server is gone."""
        message = self._libpq.get_error_message()
        if state is None or self._libpq.status != ConnStatus.OK:
            return psycopg.OperationalError(message)
        try:
            return psycopg.errors.lookup(state.decode())(message)
        except KeyError:
            return psycopg.DatabaseError(message)


def _type_of(value: Value) -> int:
    if isinstance(value, int | bytes):
        return _BYTEA if isinstance(value, bytes) else _BIGINT
    return _OF_MANY[_type_of(value[0])]


def _written(value: Value) -> bytes:
    if isinstance(value, int):
        return _BIG.pack(value)
    if isinstance(value, bytes):
        return value
    items = [each if isinstance(each, bytes) else _BIG.pack(each) for each in value]
    head = _ARRAY.pack(1, 0, _type_of(value[0]), len(items), 1)
    return head + b"".join([_LENGTH.pack(len(item)) + item for item in items])


def _read(value: bytes | None, as_bytes: bool) -> int | bytes | None:
    return value if value is None or as_bytes else int.from_bytes(value, "big", signed=True)
