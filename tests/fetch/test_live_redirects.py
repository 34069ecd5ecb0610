"""The live transport's redirects stay with the publisher, and its secrets stay out of logs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from assets.fetch.credentials import Credentials
from assets.fetch.live import Live
from tests.fetch.stand_in_host import HOST, LIMITS, MIRROR, REQUEST, SECRET, Publisher, reason, replies, transport

pytestmark = pytest.mark.usefixtures("example_alone")


def test_a_redirect_to_the_publishers_other_host_is_followed(publisher: Callable[..., Publisher]) -> None:
    mirror = publisher(replies(200, b"rows"))
    host = publisher(replies(302, Location=f"https://{MIRROR}/new"))
    live = Live("", LIMITS, {HOST: host.base, MIRROR: mirror.base})
    assert live(REQUEST, Credentials((("key", SECRET),))).body == b"rows"
    assert mirror.received[0].path == "/new"


@pytest.mark.parametrize(
    ("location", "reason_part"),
    [
        ("https://evil.example.net/x", "redirects to evil.example.net, which is not its own"),
        (f"http://{HOST}/x", "redirects to an unencrypted address"),
        ("file:///etc/passwd", "which is not its own"),
        ("https://[", "redirects to an invalid address"),
        ("/round", "redirects in a circle"),
    ],
)
def test_a_redirect_elsewhere_is_refused(publisher: Callable[..., Publisher], location: str, reason_part: str) -> None:
    host = publisher(replies(302, Location=location))
    assert reason_part in reason(transport(host))


def test_a_redirected_post_is_not_repeated_elsewhere(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(302, Location=f"https://{MIRROR}/new"))
    assert transport(host)(replace(REQUEST, method="POST"), Credentials()).status == 302
    assert len(host.received) == 1


def test_no_log_line_holds_a_secret(publisher: Callable[..., Publisher], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    transport(publisher(replies(200)))(REQUEST, Credentials((("key", SECRET),)))
    reason(transport(publisher(replies(200, b"half", Content_Length="8"))))
    assert SECRET not in caplog.text


def test_netrc_is_not_read(
    publisher: Callable[..., Publisher], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w") as file:
        file.write("machine 127.0.0.1 login someone password something\n")
    monkeypatch.setenv("NETRC", netrc)
    host = publisher(replies(200))
    transport(host)(REQUEST, Credentials())
    assert "Authorization" not in host.received[0].headers
