"""Test requests to facilitators, their log lines, and the HTTP client that sends them."""

from __future__ import annotations

import base64
import json
import logging
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api.access.x402.facilitators import cdp_token
from api.access.x402.json_post import JsonReply, post
from api.settings import Facilitator as Listed
from tests.stand_ins.chain import KEYS
from tests.stand_ins.trade import Trade


def test_facilitators_are_shown_their_tokens(trade: Trade) -> None:
    trade.gate.settings = replace(trade.gate.settings, facilitators=(Listed(trade.a.url, "bearer", "hush"),))
    trade.restart()
    assert trade.get(trade.payment()).status_code == 200
    assert trade.a.authorization == "Bearer hush"


def test_coinbases_token_is_a_signed_jwt_for_one_address() -> None:
    key = Ed25519PrivateKey.generate()
    secret = base64.b64encode(key.private_bytes_raw() + key.public_key().public_bytes_raw()).decode()
    jwt = cdp_token(
        f"organizations/a/apiKeys/b:{secret}", "POST", "https://api.cdp.coinbase.com/platform/v2/x402/verify", 1000
    )
    header, claims, signature = (base64.urlsafe_b64decode(part + "==") for part in jwt.split("."))
    key.public_key().verify(signature, jwt.rpartition(".")[0].encode())
    assert json.loads(header)["kid"] == "organizations/a/apiKeys/b"
    assert json.loads(claims) == {
        "sub": "organizations/a/apiKeys/b",
        "iss": "cdp",
        "nbf": 1000,
        "exp": 1120,
        "uris": ["POST api.cdp.coinbase.com/platform/v2/x402/verify"],
    }


def test_the_log_tells_every_change_and_no_signature(trade: Trade, caplog: pytest.LogCaptureFixture) -> None:
    payment = trade.payment()
    with caplog.at_level(logging.INFO, "emds.payments"):
        trade.get(payment)
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "emds.payments"]
    assert [line["payment"] for line in lines] == ["claimed", "settling", "settled"]
    assert lines[-1]["tx"].startswith("0x")
    signature = json.loads(base64.b64decode(payment))["payload"]["signature"]
    assert signature not in caplog.text
    assert payment not in caplog.text
    assert KEYS[2] not in caplog.text


# The wire to facilitators


class _Secure(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307 if self.path == "/moved" else 200)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(b'{"path": "%s"}' % self.path.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the URL of a server on loopback whose certificate is trusted during the test."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Secure)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    yield f"https://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_https_is_spoken_and_redirects_are_not_followed(secure: str) -> None:
    assert post(secure + "/verify?a=1", {}, {}, 1, 1) == JsonReply(200, {"path": "/verify?a=1"})
    moved = post(secure + "/moved", {}, {}, 1, 1)
    assert isinstance(moved, JsonReply)
    assert moved.status == 307


def test_a_certificate_that_nobody_vouches_for_is_not_asked(secure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    assert post(secure + "/verify", {}, {}, 1, 1) is None
