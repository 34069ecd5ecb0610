"""`emds dagster SERVER`: becomes Dagster's code server, web server or daemon, each in a container of its own."""

from __future__ import annotations

import os

from orchestration import code_server
from orchestration.dagster_home import ROOT, dagster_home
from orchestration.settings import PipelineSettings
from warehouse.errors import StorageError


def become(server: str, host: str, port: int, code: str) -> int:
    """Never returns where it succeeds: the process becomes the server.

    `host`, `port`: where a code or web server listens; `code`: the code server's HOST:PORT, for the two others.
    """
    home = PipelineSettings.from_environ(os.environ).home
    home.settle(os.environ)  # the server runs in the project's folder: a relative home is meant from here
    dagster_home(home.local)
    argv = command(server, host, port, code)
    os.chdir(ROOT)
    os.execv(argv[0], argv)  # noqa: S606


def command(server: str, host: str, port: int, code: str) -> list[str]:
    """A server's command line; DAGSTER_HOME must be set. Raises StorageError for a `code` that is not HOST:PORT."""
    if server == "code":
        return code_server.code(ROOT, "--host", host, "--port", str(port))
    at, _, number = code.rpartition(":")
    if not (at and number.isascii() and number.isdigit() and 0 < int(number) < 65536):
        raise StorageError(f"--code {code[:60]}: the code server's HOST:PORT")
    known = code_server.workspace({"host": at, "port": int(number)})
    return code_server.webserver(known, host, port) if server == "webserver" else code_server.daemon(known)
