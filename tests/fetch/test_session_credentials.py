"""Test the session's credentials: their places in requests, their secrecy, and ERCOT's token for a password."""

from __future__ import annotations

import traceback

import pytest

from assets.fetch.session import Reply, Session
from tests.fetch.scripted_publisher import ENVIRON, GOOD, HOST, KEYED, SECRET, TOKEN, Clock, Live, Script
from warehouse.errors import CredentialsMissing, FeedError, FeedUnavailable
from warehouse.market.feeds import Request, Secret

SPOILT = "grün\x00geheim"


def test_a_source_is_asked_at_the_address_that_the_owner_names() -> None:
    request = Request("entsoe.price", "https://web-api.tp.entsoe.eu/api", (("documentType", "A44"),), secrets=(TOKEN,))
    for named, asked in (("", request.url), ("https://mirror.example/api", "https://mirror.example/api")):
        script = Script([GOOD])
        answer = Session(script, {**ENVIRON, "ENTSOE_ENDPOINT": named}).ask(request)
        assert [call.url for call, _ in script.calls] == [asked]
        assert answer.request == request, "what is kept does not tell where it was asked"
    script = Script([GOOD])
    with pytest.raises(FeedUnavailable, match="ENTSOE_ENDPOINT is not an http"):
        Session(script, {**ENVIRON, "ENTSOE_ENDPOINT": "web-api"}).ask(request)
    assert not script.calls


def test_secrets_are_put_where_they_belong(live: Live) -> None:
    script = Script([GOOD])
    environ = {"T": "token-value\n", "H": "header-value", "U": "user", "P": "pass:word"}
    secrets = (Secret("query", "token", ("T",)), Secret("header", "X-Key", ("H",)), Secret("basic", "", ("U", "P")))
    live(script, environ=environ).ask(Request("example.price", f"https://{HOST}/", secrets=secrets))
    [(_, credentials)] = script.calls
    assert credentials.query == (("token", "token-value"),)
    assert credentials.headers == (("X-Key", "header-value"), ("Authorization", "Basic dXNlcjpwYXNzOndvcmQ="))


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(live: Live) -> None:
    keyed = Request("example.price", f"https://{HOST}/", secrets=(Secret("header", "X-Key", ("H",)),))
    with pytest.raises(CredentialsMissing, match="check H") as caught:
        live(Script([GOOD]), environ={"H": SPOILT}).ask(keyed)
    assert SPOILT[-6:] not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "echo",
    [
        b'{"api_key": "s3cret&long=/x"}',
        b"<a>s3cret&amp;long=/x</a>",
        b"?api_key=s3cret%26long%3D%2Fx&",
        b"s3cret&long=/x" * 3,
    ],
)
def test_an_echoed_secret_is_struck_out_of_the_body(live: Live, echo: bytes) -> None:
    answer = live(Script([Reply(200, {}, echo)]), environ={"EXAMPLE_TOKEN": "s3cret&long=/x"}).ask(KEYED)
    assert b"s3cret" not in answer.body
    assert b"REDACTED" in answer.body


@pytest.mark.parametrize("status", [500, 429, 400, 401, 403, 404, 302])
def test_no_failure_shows_a_secret(live: Live, status: int) -> None:
    with pytest.raises(FeedError) as caught:
        live(Script([Reply(status, {"location": f"/?k={SECRET}"}, SECRET.encode())])).ask(KEYED)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


ERCOT = Request(
    "example.spp",
    f"https://{HOST}/spp",
    secrets=(
        Secret("header", "Ocp-Apim-Subscription-Key", ("ERCOT_API_KEY",)),
        Secret("ercot", "", ("ERCOT_USERNAME", "ERCOT_PASSWORD")),
    ),
)
ERCOT_ENVIRON = {"ERCOT_API_KEY": "subscription", "ERCOT_USERNAME": "user@example.org", "ERCOT_PASSWORD": "very-s3cret"}


def test_ercots_token_is_bought_once_and_used_until_it_ends(live: Live, clock: Clock) -> None:
    token = Reply(200, {}, b'{"id_token": "bearer-token"}')
    script = Script([token, GOOD, GOOD, token, GOOD])
    session = live(script, environ=ERCOT_ENVIRON)
    session.ask(ERCOT)
    session.ask(ERCOT)
    clock.now += 3301
    session.ask(ERCOT)
    hosts = [request.url.split("/")[2] for request, _ in script.calls]
    assert hosts == ["ercotb2c.b2clogin.com", HOST, HOST, "ercotb2c.b2clogin.com", HOST]
    request, form = script.calls[0]
    assert ("password", "very-s3cret") in form.form
    assert "very-s3cret" not in repr(request)
    assert script.calls[1][1].headers == (
        ("Ocp-Apim-Subscription-Key", "subscription"),
        ("Authorization", "Bearer bearer-token"),
    )
