"""`emds dagster SERVER`: becomes Dagster's code server, web server or daemon, each in a container of its own."""

from __future__ import annotations

import os
from ipaddress import AddressValueError, IPv4Address

from orchestration import code_server, ports
from orchestration.dagster_home import ROOT, dagster_home
from orchestration.settings import PipelineSettings
from warehouse.errors import StorageError


def become(server: str, host: str, port: int, code: str) -> int:
    """Never returns where it succeeds: the process becomes the server.

    `host`, `port`: where a code or web server listens; `code`: for the two others, see `command`.
    Raises StorageError where it cannot.
    """
    home = PipelineSettings.from_environ(os.environ).home
    if server != "daemon":
        ports.require_free(port, host=host)
    home.settle(os.environ)  # the server runs in the project's folder: a relative home is meant from here
    home.make_local()
    dagster_home(home.local)
    argv = command(server, host, port, code)
    os.chdir(ROOT)
    os.execv(argv[0], argv)  # noqa: S606


def command(server: str, host: str, port: int, code: str) -> list[str]:
    """A server's command line; DAGSTER_HOME must be set.

    `code`: the code server's HOST:PORT, or IPV4:PORT of several with commas: a query goes to the first that is there.
    Raises StorageError for another `code`.
    """
    if server == "code":
        return code_server.code(ROOT, "--host", host, "--port", str(port))
    known = code_server.workspace(_address(code))
    return code_server.webserver(known, host, port) if server == "webserver" else code_server.daemon(known)


def _address(code: str) -> dict[str, str | int]:
    """Host and port for Dagster, which puts a colon between them and gives them to gRPC.

    gRPC takes several addresses as `ipv4:1.2.3.4:3030,1.2.3.5:3030` (https://grpc.github.io/grpc/core/md_doc_naming.html),
    and Dagster's client makes a channel for each query: it goes to the first server of the list that takes connections.
    """
    servers = [server.rpartition(":") for server in code.split(",")]
    for at, _, number in servers:
        if not (at and number.isascii() and number.isdigit() and 0 < int(number) < 65536):
            raise StorageError(f"--code {code[:60]}: the code server's HOST:PORT")
        if len(servers) > 1 and not _is_ipv4(at):
            raise StorageError(f"--code {code[:60]}: several are named by IPv4 addresses, IPV4:PORT,IPV4:PORT")
    at, port = code.rpartition(":")[::2]
    return {"host": at if len(servers) == 1 else f"ipv4:{at}", "port": int(port)}


def _is_ipv4(text: str) -> bool:
    try:
        return bool(IPv4Address(text))
    except AddressValueError:
        return False
