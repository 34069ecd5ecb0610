"""The accounts database, opened when it is first needed and tried again where that failed: free paths need none."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager

from sqlalchemy import URL, Connection, Engine, make_url

from api.access.accounts.engine import READS, AccountsUnavailable, open_engine
from api.access.accounts.migration import migrate

_AGAIN_S = 5.0


class Database:
    """Transactions on a database with this release's tables. Every method raises AccountsUnavailable."""

    def __init__(self, address: str) -> None:
        """`address` as settings have it; nothing is opened yet."""
        self.url: URL = make_url(address)
        self._address = address
        self._engine: Engine | None = None
        self._opening = threading.Lock()
        self._failed: tuple[float, AccountsUnavailable] | None = None

    def open(self) -> Engine:
        """The engine; a database that could not be opened is left alone for five seconds."""
        if self._engine is None:
            with self._opening:
                self._open_once()
        assert self._engine is not None
        return self._engine

    def begin(self) -> AbstractContextManager[Connection]:
        """A transaction that writes."""
        return self.open().begin()

    def connect(self) -> AbstractContextManager[Connection]:
        """A transaction that reads."""
        return self.open().connect().execution_options(**{READS: True})

    def close(self) -> None:
        """Closes every connection."""
        if self._engine is not None:
            self._engine.dispose()

    def _open_once(self) -> None:
        if self._engine is not None:
            return
        if self._failed and time.monotonic() < self._failed[0]:
            raise self._failed[1]
        try:
            engine = open_engine(self._address)
            try:
                migrate(engine)
            finally:
                engine.dispose()  # workers forked from here must not share its connections
        except AccountsUnavailable as fault:
            self._failed = (time.monotonic() + _AGAIN_S, fault)
            raise
        self._engine = engine
