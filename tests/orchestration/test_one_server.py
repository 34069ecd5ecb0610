"""Which code server `emds dagster webserver` and `daemon` ask: one by its name, or several by their addresses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestration import one_server
from warehouse.errors import StorageError


@pytest.mark.parametrize(
    ("code", "host", "port"),
    [
        ("code:3030", "code", 3030),
        ("10.0.0.1:3030", "10.0.0.1", 3030),
        ("10.0.0.1:3030,10.0.0.2:3031", "ipv4:10.0.0.1:3030,10.0.0.2", 3031),
    ],
)
def test_a_server_is_told_where_code_servers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, host: str, port: int
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    argv = one_server.command("daemon", "", 0, code)
    known = json.loads(Path(argv[argv.index("--workspace") + 1]).read_text())
    assert known["load_from"] == [{"grpc_server": {"host": host, "port": port, "location_name": "emds"}}]


@pytest.mark.parametrize("code", ["", "code", ":3030", "code:0", "code:65536", "code:٣", "10.0.0.1:3030,", ","])
def test_what_is_no_address_is_refused(code: str) -> None:
    with pytest.raises(StorageError, match="HOST:PORT"):
        one_server.command("webserver", "127.0.0.1", 3000, code)


@pytest.mark.parametrize("code", ["code:3030,code2:3030", "10.0.0.1:3030,code:3030", "[::1]:3030,10.0.0.1:3030"])
def test_names_of_several_are_refused_since_grpc_takes_addresses_alone(code: str) -> None:
    with pytest.raises(StorageError, match="IPv4"):
        one_server.command("webserver", "127.0.0.1", 3000, code)
