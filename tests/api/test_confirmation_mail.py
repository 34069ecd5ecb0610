"""Test keys that work only after the link in the confirmation e-mail is opened, and the mail server."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from api.access.key_life import key_uses
from api.access.keys import CALLS_PER_DAY
from api.access.x402.ledger import Ledger
from api.settings import Settings, SettingsError
from tests.api.key_service import Service, opened
from warehouse.market.clock import DAY


class _Smtp(socketserver.StreamRequestHandler):
    """The part of SMTP (RFC 5321) that the sending of an e-mail needs."""

    def handle(self) -> None:
        server: Any = self.server
        self.wfile.write(b"220 mail.example\r\n")
        body: list[bytes] | None = None
        while line := self.rfile.readline():
            if body is not None:
                if line == b".\r\n":
                    server.mails.append(b"".join(body).decode())
                    self.wfile.write(b"250 ok\r\n")
                    body = None
                else:
                    body.append(line)
                continue
            verb = line[:4].upper()
            if verb == b"DATA":
                body = []
                self.wfile.write(b"354 go on\r\n")
            elif verb == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                refused = verb == b"RCPT" and server.refuses
                self.wfile.write(b"550 no at db-7\r\n" if refused else b"250 ok\r\n")


@dataclass
class Mailbox:
    """A mail server on loopback, and a service that sends confirmations through it."""

    service: Service
    server: Any
    mails: list[str] = field(default_factory=list)

    def link(self) -> str:
        """Return the path in the newest e-mail."""
        match = re.search(r"https://emds\.example(/v1/keys/confirm\?token=\S+)", self.mails[-1].replace("=\r\n", ""))
        assert match
        return match[1].replace("=3D", "=")


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    server: Any = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Smtp)
    server.mails, server.refuses, server.daemon_threads = [], False, True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    port = server.server_address[1]
    service = opened(tmp_path, smtp_url=urlsplit(f"smtp://127.0.0.1:{port}?from=keys@emds.example"))
    yield Mailbox(service, server, server.mails)
    service.gate.close()
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_key_opens_once_its_mails_link_was_opened(mailbox: Mailbox) -> None:
    service = mailbox.service
    answer = service.sign_up()
    assert (answer.status_code, answer.json["confirmed"]) == (201, False)
    key = answer.json["api_key"]
    refused = service.get(X_API_Key=key)
    assert (refused.status_code, "link in the confirmation e-mail" in refused.json["detail"]) == (401, True)
    assert "link in the confirmation e-mail" in service.http.get("/v1/usage", headers={"X-API-Key": key}).json["detail"]
    (mail,) = mailbox.mails
    assert "To: a@example.org" in mail
    assert key not in mail
    assert service.http.head(mailbox.link()).status_code == 200
    assert service.get(X_API_Key=key).status_code == 401, "a scanner's HEAD does not confirm"
    for _ in range(2):
        confirmed = service.http.get(mailbox.link())
        assert (confirmed.status_code, confirmed.json["email"]) == (200, "a@example.org")
        assert confirmed.headers["Cache-Control"] == "no-store"
    assert service.get(X_API_Key=key).status_code == 200


def test_sign_ups_that_others_make_in_my_name_send_five_mails_an_hour_and_do_not_lock_me_out(mailbox: Mailbox) -> None:
    service = mailbox.service
    spellings = ("a@example.org", "A+1@example.org", "a+2@EXAMPLE.org", "A@example.org")
    answers = [service.sign_up(spellings[n % 4], client=f"192.0.2.{n}") for n in range(12)]
    assert [answer.status_code for answer in answers] == [201] * 12
    assert len(mailbox.mails) == 5
    theirs = [answer.json["api_key"] for answer in answers]
    mine = service.sign_up(client="198.51.100.1").json
    assert (mine["confirmed"], len(mailbox.mails)) == (False, 5)
    assert "with the key as Authorization: Bearer" in mine["next_step"]
    other = service.sign_up("b@example.org", client="198.51.100.1").json
    link_to_b, _ = mailbox.link(), mailbox.mails.pop()
    assert service.http.get(link_to_b, headers={"X-API-Key": mine["api_key"]}).json["email"] == "b@example.org"
    assert service.get(X_API_Key=mine["api_key"]).status_code == 401, "a link to b confirms no key of a"
    assert service.get(X_API_Key=other["api_key"]).status_code == 200
    for _ in range(2):
        done = service.http.get(mailbox.link(), headers={"Authorization": f"Bearer {mine['api_key']}"})
        assert (done.status_code, done.json["email"]) == (200, "a@example.org")
        assert service.get(X_API_Key=mine["api_key"]).status_code == 200
        assert [service.get(X_API_Key=key).status_code for key in theirs] == [401] * 12


def test_a_fourth_confirmed_key_is_409_and_unconfirmed_ones_do_not_count(mailbox: Mailbox) -> None:
    service = mailbox.service
    for _ in range(3):
        service.sign_up()
        assert service.http.get(mailbox.link()).status_code == 200
    assert service.sign_up().status_code == 409
    service.now[0] += 8 * DAY
    service.sign_up()
    assert Ledger(service.gate.database).counts() == {}
    service.sign_up()
    assert service.http.get(mailbox.link()).status_code == 200, "the key idle longest made room, at the confirmation"


def test_an_outdated_or_unknown_link_confirms_nothing(mailbox: Mailbox) -> None:
    service = mailbox.service
    service.sign_up()
    assert service.http.get("/v1/keys/confirm?token=" + "x" * 43).status_code == 404
    assert service.http.get("/v1/keys/confirm").status_code == 400
    service.now[0] += DAY
    late = service.http.get(mailbox.link())
    assert (late.status_code, late.json["type"].rpartition("/")[2]) == (404, "unknown-confirmation")


def test_a_mail_that_cannot_be_sent_leaves_no_key(mailbox: Mailbox) -> None:
    service = mailbox.service
    mailbox.server.refuses = True
    for _ in range(7):  # none of these counts as one of the five sign-ups
        answer = service.sign_up(**{"Idempotency-Key": "6b1f"})
        assert (answer.status_code, answer.json["type"].rpartition("/")[2]) == (503, "mail-unavailable")
        assert "db-7" not in answer.text
    assert key_uses(service.gate.database, 1, CALLS_PER_DAY, int(service.now[0])) == []
    mailbox.server.refuses = False
    assert service.sign_up(**{"Idempotency-Key": "6b1f"}).status_code == 201
    assert len(mailbox.mails) == 1
    service.http.get(mailbox.link())


def test_the_mail_server_is_read_from_the_environment() -> None:
    read = Settings.from_environ({"EMDS_SMTP_URL": "smtps://me%40x:p%2Fw@mail.example?from=keys@example.org"})
    assert read.smtp_url
    assert (read.smtp_url.scheme, read.smtp_url.hostname, read.smtp_url.username) == ("smtps", "mail.example", "me%40x")
    assert "p%2Fw" not in repr(read)
    for wrong in (
        "mail.example",
        "smtp://mail.example",
        "http://mail.example?from=k@x.org",
        "smtp://h:no?from=k@x.org",
    ):
        with pytest.raises(SettingsError, match="EMDS_SMTP_URL"):
            Settings.from_environ({"EMDS_SMTP_URL": wrong})
