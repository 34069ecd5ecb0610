"""Check one message of a webhook: it is signed, and sent over https only to public addresses."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import nullcontext, suppress
from ipaddress import ip_address
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from api.access.public_addresses import is_public
from orchestration.webhooks import transport
from orchestration.webhooks.transport import NotDelivered


def test_the_official_verifier_accepts_what_is_signed() -> None:
    secret, body = "whsec_" + "A" * 43 + "=", b'{"type":"test"}'
    headers = transport.signed(secret, "msg_1", body, int(time.time()))
    assert Verifier(secret).verify(body, headers) == {"type": "test"}
    with pytest.raises(Exception, match="No matching signature"):
        Verifier(secret).verify(body + b" ", headers)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fd12::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::", "2001:db8::1",
        "fec0::1", "192.0.0.8", "192.88.99.1", "3fff::1", "3fff:fff::1", "2002:5db8:d822::1",
        "fe80::1%eth0", "2001:0:53aa:64c:0:0:80ff:fffe", "64:ff9b:1::a00:1",
    ],
)  # fmt: skip
def test_private_addresses_are_none_to_send_to(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
def test_public_addresses_are(address: str) -> None:
    assert is_public(ip_address(address))


def _named(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Install a resolver that returns the lists of addresses in turn; return the names that were looked up."""
    asked: list[str] = []
    left = list(answers)

    def look(host: str, port: int, **_: object) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in left.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", look)
    return asked


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["169.254.169.254"], []])
def test_a_name_that_leads_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    _named(monkeypatch, addresses)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    with pytest.raises(NotDelivered, match=r"not public|no address"):
        transport.post("https://hook.example/", {}, b"{}", private=False)


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look up only once a name that resolves first to a public address and then to a private one (DNS rebinding)."""
    asked = _named(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    gone: list[Any] = []

    def connect(target: Any, **_: object) -> socket.socket:
        gone.append(target)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(NotDelivered, match="ConnectionRefusedError"):
        transport.post("https://hook.example:8443/", {}, b"{}", private=False)
    assert gone == [("93.184.216.34", 8443)]
    assert asked == ["hook.example"]


@pytest.mark.parametrize("url", ["http://93.184.216.34/", "ftp://hook.example/", "file:///etc/passwd"])
def test_only_https_goes_out(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    with pytest.raises(NotDelivered, match="not an https address"):
        transport.post(url, {}, b"{}", private=False)


@pytest.mark.parametrize(
    ("final", "fault"),
    [
        (b"204 No Content\r\n\r\n", None),
        (b"500 Broken\r\n\r\n", "returned 500"),
        (b"200", "BadStatusLine"),
        (b"200 OK\r\nserver: x\r\n", "BadStatusLine"),
        (b"200 OK\r\nserver: " + b"x" * 70_000 + b"\r\n\r\n", "connection failed"),
    ],
    ids=["taken", "refused", "cut", "cut head", "long head"],
)
def test_an_interim_answer_is_passed_over_and_a_head_counts_once_it_is_whole(final: bytes, fault: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connected, _ = server.accept()
            with connected, suppress(OSError):
                received = b""
                while not received.endswith(b"{}"):  # unread bytes would reset the connection
                    received += connected.recv(4096)
                connected.sendall(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 " + final)

        threading.Thread(target=answer, daemon=True).start()
        with nullcontext() if fault is None else pytest.raises(NotDelivered, match=fault):
            transport.post(f"http://127.0.0.1:{server.getsockname()[1]}/", {}, b"{}", private=True)
