"""Run a temporary PostgreSQL server from the system's programs and remove it after the test."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tests.stand_ins.ports import free_port
from tests.stand_ins.processes import children, runs


def programs() -> Path | None:
    """Return the program folder of the newest PostgreSQL, or None if PostgreSQL is not installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[4]))
    beside = shutil.which("pg_ctl")
    return installed[-1].parent if installed else Path(beside).parent if beside else None


NEEDS_POSTGRES = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed: make setup")


class Postgres:
    """A running server on a free port.

    If root runs the test, the server runs as the user `nobody`, because PostgreSQL refuses to run as root.
    """

    def __init__(self) -> None:
        folder = programs()
        if folder is None:
            raise FileNotFoundError("PostgreSQL: run `make setup`")
        self._bin = folder
        self._root = Path(tempfile.mkdtemp(prefix="emds-postgres-"))
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._root, nobody.pw_uid, nobody.pw_gid)
        self.port = free_port()
        self._run(
            "initdb",
            "-D",
            str(self._root / "pg"),
            "-U",
            "emds",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        )
        self.start()
        self.url = self.address("postgres")

    def address(self, database: str) -> str:
        """Return the SQLAlchemy URL of the database `database`."""
        return f"postgresql+psycopg://emds@127.0.0.1:{self.port}/{database}"

    def create(self, database: str, options: LiteralString = "") -> None:
        """Create the empty database `database`. `options` follow in the SQL statement."""
        with psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(SQL("CREATE DATABASE {} " + options).format(Identifier(database)))

    def create_without_encoding(self, database: str) -> None:
        """Create `database` as in a cluster without a locale.

        PostgreSQL treats its text as bytes, and clients receive bytes.
        """
        self.create(database, "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")

    def start(self) -> None:
        options = f"-p {self.port} -k {self._root} -c listen_addresses=127.0.0.1 -c max_connections=200"
        self._run("pg_ctl", "-D", str(self._root / "pg"), "-l", str(self._root / "log"), "-o", options, "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self._root / "pg"), "-m", mode, "-w", "stop")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Suspend the server and its children inside the block.

        The server then accepts connections but sends nothing.
        """
        family = self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in family:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to the server and its children, as if the machine had failed. `start` recovers the server."""
        family = self._signal(signal.SIGKILL)
        while any(runs(process) for process in family):
            time.sleep(0.02)
        (self._root / "pg" / "postmaster.pid").unlink()

    def _signal(self, number: int) -> tuple[int, ...]:
        """Send the signal `number` to the server and its children, and return their process IDs."""
        main = int((self._root / "pg" / "postmaster.pid").read_text().split()[0])
        family = (main, *children(main))
        for process in family:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        return family

    def empty(self) -> None:
        """Remove all tables of the database `postgres`."""
        with psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._root)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--", *command]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, timeout=60)
