"""Read credentials from the environment when a request is sent, and remove them from every response."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote, quote_plus, urlsplit

from assets.parsing.body import json_of, member
from warehouse.errors import CredentialsMissing, FeedChanged
from warehouse.market.feeds import Request, Secret

REDACTED = b"REDACTED"
SHORTEST_ECHO = 8
"""The least length of a value that is removed. Replacing a short password such as `12345` would damage data."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The values that the environment adds to one request. They are never printed."""

    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    form: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The fields of a posted form."""

    @property
    def values(self) -> tuple[str, ...]:
        """Return every secret value as it is sent."""
        return tuple(value for pairs in (self.query, self.headers, self.form) for _, value in pairs)


NONE = Credentials()


def names_of(secrets: Sequence[Secret]) -> tuple[str, ...]:
    """Return the environment variables that contain the `secrets`."""
    return tuple(dict.fromkeys(name for secret in secrets for name in secret.env))


def resolve(request: Request, environ: Mapping[str, str]) -> Credentials:
    """Return the request's secrets from `environ`, without bearer tokens (see `token_request`).

    Raises CredentialsMissing with every variable that is unset, blank, or not a valid header value.
    """
    missing = tuple(name for name in names_of(request.secrets) if not environ.get(name, "").strip())
    if missing:
        raise CredentialsMissing(missing)
    query: list[tuple[str, str]] = []
    headers: list[tuple[str, str]] = []
    for secret in request.secrets:
        values = [environ[name].strip() for name in secret.env]
        if secret.where == "query":
            query.append((secret.name, values[0]))
        elif secret.where == "header":
            if not (values[0].isascii() and values[0].isprintable()):
                raise CredentialsMissing(secret.env, refused=True)
            headers.append((secret.name, values[0]))
        elif secret.where == "basic":
            headers.append(("Authorization", "Basic " + base64.b64encode(":".join(values).encode()).decode()))
    return Credentials(tuple(query), tuple(headers))


@dataclass(frozen=True, slots=True)
class TokenService:
    """A service that issues a bearer token for a user and a password (OAuth 2.0, password grant)."""

    url: str
    form: tuple[tuple[str, str], ...]
    """The fields besides user and password. Client ids are public: the publishers print them in their guides."""
    member: str
    """The field of the response that contains the token."""
    seconds: float
    """How long a token is used, in seconds: slightly less than its lifetime."""


_ERCOT_CLIENT = "fec253ea-0d06-4272-a5e6-b478baeecd70"
TOKEN_SERVICES = {
    "ercot": TokenService(
        "https://ercotb2c.b2clogin.com/ercotb2c.onmicrosoft.com/B2C_1_PUBAPI-ROPC-FLOW/oauth2/v2.0/token",
        (
            ("grant_type", "password"),
            ("scope", f"openid {_ERCOT_CLIENT} offline_access"),
            ("client_id", _ERCOT_CLIENT),
            ("response_type", "id_token"),
        ),
        "id_token",
        3300.0,
    ),
    "entsoe_files": TokenService(
        "https://keycloak.tp.entsoe.eu/realms/tp/protocol/openid-connect/token",
        (("grant_type", "password"), ("client_id", "tp-fms-public")),
        "access_token",
        800.0,
    ),
}
"""The token services, by the kind of secret that needs them."""


def token_request(service: TokenService, request: Request, user: str, password: str) -> tuple[Request, Credentials]:
    """Return the form post that obtains a bearer token for `request`, and its credentials."""
    asked = replace(request, url=service.url, params=(), kind="listing", method="POST", headers=(), body="")
    return asked, Credentials(form=(*service.form, ("username", user), ("password", password)))


def token_in(service: TokenService, body: bytes) -> str:
    """Return the token in a service's response. Raises FeedChanged if the token is missing."""
    token = member(json_of(body), service.member, str)
    if not token or not token.isascii() or not token.isprintable():
        raise FeedChanged(f"{urlsplit(service.url).hostname} returned no {service.member} at login")
    return str(token)


def scrub(body: bytes, secrets: Sequence[str]) -> bytes:
    """Return the body with every echo of a secret replaced, also as JSON, XML or URL text. EIA echoes its api_key."""
    for secret in secrets:
        if len(secret) < SHORTEST_ECHO:
            continue
        spellings = {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], _in_xml(secret)}
        for spelling in sorted(spellings, key=len, reverse=True):
            body = body.replace(spelling.encode(), REDACTED)
    return body


def _in_xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
