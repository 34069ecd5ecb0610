"""Check who may send commands to Dagster's web server: its own pages and programs, but not other pages of a browser."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from orchestration.servers.dagster_ui import find_refusal
from tests.orchestration.dagster_servers import Ui, serving

MUTATION = "mutation { reloadWorkspace { __typename } }"
READ = "{ version }"
FOREIGN, OWN = "https://evil.example", "http://127.0.0.1:3000"


def scope(method: str = "POST", path: str = "/graphql", query: str = "", kind: str = "http", **headers: str) -> Any:
    """Return a request to 127.0.0.1:3000, or to `host`; an empty value leaves a header out."""
    given = {"host": "127.0.0.1:3000"} | {name.replace("_", "-"): value for name, value in headers.items()}
    named = [(name.encode(), value.encode()) for name, value in given.items() if value]
    return {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": named}


@pytest.mark.parametrize(
    "accepted",
    [
        scope(),  # a program
        scope(origin=OWN),
        scope(origin="http://localhost:3000", host="localhost:3000"),
        scope(origin="http://[::1]:3000", host="[::1]:3000"),
        scope(host="192.168.1.7"),
        scope(origin="https://dagster.example", host="localhost", sec_fetch_site="same-origin"),  # behind a proxy
        scope("GET", "/runs", sec_fetch_site="cross-site", sec_fetch_mode="navigate"),  # a link
        scope("GET", "/runs", sec_fetch_site="none", sec_fetch_mode="navigate"),
        scope("GET", "/runs", "query=x"),
        scope("HEAD", "/server_info"),
        scope("GET", kind="websocket", origin=OWN),
    ],
)
def test_own_pages_and_programs_are_let_in(accepted: Any) -> None:
    assert find_refusal(accepted) is None


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (scope(origin=FOREIGN), 403),
        (scope(origin="null"), 403),
        (scope(origin="http://127.0.0.1:8000"), 403),  # another server of this machine
        (scope(origin="http://127.0.0.1:3000.evil.example"), 403),
        (scope(sec_fetch_site="cross-site"), 403),
        (scope(sec_fetch_site="same-site", origin=OWN), 403),
        (scope(sec_fetch_site="cross-site", sec_fetch_mode="navigate"), 403),  # a submitted form
        (scope("GET", sec_fetch_site="cross-site", sec_fetch_mode="no-cors"), 403),
        (scope("GET", "/runs", origin=FOREIGN), 403),
        (scope("GET", "/runs", sec_fetch_site="cross-site", sec_fetch_mode="navigate", origin=FOREIGN), 403),
        (scope(host="evil.example:3000"), 403),
        (scope(host="127.0.0.1.evil.example"), 403),
        (scope(host="localhost.evil.example"), 403),
        (scope(host="evil.example:3000", origin="http://evil.example:3000", sec_fetch_site="same-origin"), 403),
        (scope(host=""), 403),
        (scope("GET", kind="websocket", origin=FOREIGN), 403),
        (scope("GET", kind="websocket", sec_fetch_site="cross-site", sec_fetch_mode="navigate"), 403),
        (scope("OPTIONS"), 405),
        (scope("PUT", "/runs"), 405),
        (scope("GET", query="query=mutation%7Bx%7D"), 405),
        (scope("GET", "/graphql/", query="a=1&query="), 405),
        (scope("GET", "/prefix/graphql", query="query=x"), 405),
        (scope("GET", query="query=x", sec_fetch_site="cross-site", sec_fetch_mode="navigate"), 405),
    ],
)
def test_other_pages_are_refused(refused: Any, status: int) -> None:
    found = find_refusal(refused)
    assert found is not None
    assert found[0] == status


def test_two_hosts_are_refused() -> None:
    twice = scope()
    twice["headers"].append((b"host", b"127.0.0.1:3000"))
    assert find_refusal(twice) is not None


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    with serving(tmp_path_factory.mktemp("home"), {}) as servers:
        yield servers


def asked(ui: Ui, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    address = ui.url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=60)
    content = None if body is None else json.dumps(body)
    given = {"Content-Type": "application/json", "Host": address} | {k.replace("_", "-"): v for k, v in headers.items()}
    connection.request(method, target, content, given)
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


@pytest.mark.slow
def test_the_server_that_runs_checks_every_request(ui: Ui) -> None:
    mutation = {"query": MUTATION}
    assert asked(ui, "POST", "/graphql", mutation)[0] == 200
    assert asked(ui, "POST", "/graphql", mutation, Origin=ui.url)[0] == 200
    assert asked(ui, "POST", "/graphql", mutation, Origin=FOREIGN)[0] == 403
    assert asked(ui, "POST", "/graphql", mutation, Host="evil.example")[0] == 403
    assert asked(ui, "POST", "/graphql", mutation, Sec_Fetch_Site="cross-site")[0] == 403
    assert asked(ui, "GET", "/graphql?query=mutation%7BreloadWorkspace%7B__typename%7D%7D")[0] == 405
    assert b"<html" in asked(ui, "GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[1]
    assert upgraded(ui, ui.url).startswith(b"HTTP/1.1 101")
    assert upgraded(ui, FOREIGN).startswith(b"HTTP/1.1 403")


def upgraded(ui: Ui, origin: str) -> bytes:
    """Return the first line of the response to a WebSocket handshake."""
    address = ui.url.removeprefix("http://")
    lines = [
        "GET /graphql HTTP/1.1",
        f"Host: {address}",
        f"Origin: {origin}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: graphql-ws",
    ]
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return line.recv(1000).split(b"\r\n")[0]
