"""Read the API's settings from the environment once, check them at start, and freeze them.

`warehouse.settings` gives the names, defaults and meanings of all variables. `orchestration.work.environment` reads
the pipeline's variables, and `warehouse.market.clock` reads EMDS_NOW.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

from api.access.x402.ethereum_address import is_address
from warehouse import settings
from warehouse.errors import MarketError
from warehouse.store import layout, object_store

Network = IPv4Network | IPv6Network
OWN_MACHINE = "http://127.0.0.1:8000"


class SettingsError(MarketError):
    """The environment is wrong. The message lists every fault in a line, by variable, without secret values."""


@dataclass(frozen=True, slots=True)
class Facilitator:
    """An x402 facilitator, in the operator's order of preference."""

    url: str
    """The URL without a trailing slash; it is https, or http on loopback."""
    auth: Literal["none", "bearer", "cdp"] = "none"
    secret: str = field(default="", repr=False)
    """For `bearer`, the token; for `cdp`, `KEY_ID:SECRET` with the secret as Coinbase issues it (base64, Ed25519)."""


def is_loopback(url: str) -> bool:
    """Return whether `url` names this machine. Names other than `localhost` are not resolved."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _each(convert: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a function that applies `convert` to each part of a comma-separated list."""
    return lambda text: tuple(convert(word.strip()) for word in text.split(",") if word.strip())


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) < 2**31:
        return int(text)
    raise ValueError("must be a whole number; 0 means unlimited")


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("must be 0 or 1")
    return text == "1"


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an absolute http or https URL without a query")
    return text.rstrip("/")


def _guarded_url(text: str) -> str:
    """Return the URL for payments and tokens, which must be https, or http on loopback."""
    parts = urlsplit(text)
    safe = parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(text)))
    if not safe:
        raise ValueError("must use https; http is allowed only for loopback addresses")
    return text.rstrip("/")


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise ValueError("must contain only origins such as https://app.example.org")
    return text.lower()


def _database_url(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return text
    if scheme in ("postgres", "postgresql", "postgresql+psycopg") and rest:
        from sqlalchemy import make_url  # imported here, because other databases do not need it
        from sqlalchemy.exc import ArgumentError

        try:
            make_url(f"postgresql+psycopg://{rest}")
        except (ArgumentError, ValueError):
            reason = "its port is a number, and its password's signs other than letters and digits are percent-encoded"
            raise ValueError(f"cannot be parsed: {reason}") from None
        return f"postgresql+psycopg://{rest}"
    raise ValueError("must be sqlite:///PATH or postgresql://...")


def _pay_to(text: str) -> str:
    if not is_address(text):
        raise ValueError("must be 0x followed by 40 hexadecimal digits, with a valid checksum (EIP-55)")
    return text


def _mail_server(text: str) -> SplitResult:
    """Check a URL smtp://[USER:PASSWORD@]HOST[:PORT]?from=ADDRESS, or smtps://, which uses TLS from the first byte."""
    with suppress(ValueError):
        parts = urlsplit(text)
        _, sender = parts.port, dict(parse_qsl(parts.query)).get("from", "")
        if parts.scheme in ("smtp", "smtps") and parts.hostname and "@" in sender and not parts.path.strip("/"):
            return parts
    raise ValueError("must be smtp://[USER:PASSWORD@]HOST[:PORT]?from=ADDRESS, or smtps://...")


def _auth(text: str) -> tuple[str, ...]:
    kind, _, secret = text.strip().partition(":")
    if kind in ("", "none"):
        return ()
    if (kind == "bearer" and secret) or (kind == "cdp" and ":" in secret):
        return kind, secret
    raise ValueError("must have one entry per facilitator, in the same order: none, bearer:TOKEN or cdp:KEY_ID:SECRET")


def _network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ValueError("must be a list of IP addresses or networks such as 10.0.0.0/8") from None


def _declare(name: str, convert: Callable[[str], Any] = str, default: Any = None) -> Any:
    """Declare a field that the environment variable `name` sets.

    If the variable is empty, `default` applies, or the default in `warehouse.settings`.
    """
    text = settings.DEFAULTS[name]
    default = convert(text) if default is None and text else default
    return field(default=default, repr=name not in settings.SECRETS, metadata={"name": name, "convert": convert})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that `create_app` must know. `Settings()` has the defaults for a private machine.

    `warehouse.settings` explains each variable.
    """

    home: str = _declare("EMDS_HOME", default="data/simulated")
    local: str = _declare("EMDS_LOCAL_DIR", default="")
    bucket_cache_s: int = _declare("EMDS_BUCKET_CACHE_SECONDS", _count)
    base_url: str = _declare("EMDS_BASE_URL", _base_url, OWN_MACHINE)
    """The URL without a trailing slash. Host headers are never trusted."""
    database_url: str = _declare("EMDS_DATABASE_URL", _database_url, "sqlite:///data/accounts.sqlite")
    """A PostgreSQL URL begins with `postgresql+psycopg://`."""
    pay_to: str = _declare("EMDS_PAY_TO", _pay_to, "")
    """If it is empty, the API sells nothing."""
    facilitators: tuple[Facilitator, ...] = ()
    """EMDS_FACILITATOR_URLS with EMDS_FACILITATOR_AUTH."""
    rpc_url: str = _declare("EMDS_RPC_URL", _guarded_url, "")
    free_calls_per_minute: int = _declare("EMDS_FREE_CALLS_PER_MINUTE", _count)
    sample_calls_per_day: int = _declare("EMDS_SAMPLE_CALLS_PER_DAY", _count)
    signups_per_hour: int = _declare("EMDS_SIGNUPS_PER_HOUR", _count)
    key_calls_per_second: int = _declare("EMDS_KEY_CALLS_PER_SECOND", _count)
    allow_private_webhooks: bool = _declare("EMDS_ALLOW_PRIVATE_WEBHOOKS", _flag)
    smtp_url: SplitResult | None = _declare("EMDS_SMTP_URL", _mail_server)  # noqa: RUF009  a field
    """If it is None, new keys work at once."""
    trusted_proxies: tuple[Network, ...] = _declare("EMDS_TRUSTED_PROXIES", _each(_network), ())
    allowed_origins: tuple[str, ...] = _declare("EMDS_ALLOWED_ORIGINS", _each(_origin), ())
    contact: str = _declare("EMDS_CONTACT", default="")
    metrics_token: str = _declare("EMDS_METRICS_TOKEN", default="")
    """If it is empty, /metrics is not served."""
    public_url: str = _declare("EMDS_PUBLIC_URL", _base_url, "")
    """The URL without a trailing slash; empty if the operator gives no URL."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read the settings from the environment. Raises SettingsError, which names every wrong variable."""
        faults = settings.renamed_faults(environ)

        def read(name: str, convert: Callable[[str], Any], default: Any) -> Any:
            try:
                return convert(text) if (text := settings.text(environ, name)) else default
            except ValueError as fault:
                faults.append(f"{name} {fault}")

        home, local = settings.home_text(environ), settings.text(environ, "EMDS_LOCAL_DIR")
        place = local if object_store.is_address(home) else home  # the default folder of SQLite
        if not place and not settings.text(environ, "EMDS_DATABASE_URL"):
            where = "EMDS_HOME is an object store, or EMDS_LOCAL_DIR be a folder that stays"
            faults.append(f"EMDS_DATABASE_URL must be set where {where}")
        accounts = {"EMDS_DATABASE_URL": f"sqlite:///{Path(place).absolute() / layout.ACCOUNTS}"}
        environ = {**accounts, **{name: text for name, text in environ.items() if text.strip()}, "EMDS_HOME": home}
        values = {
            each.name: read(each.metadata["name"], each.metadata["convert"], each.default)
            for each in fields(cls)
            if each.metadata
        }
        urls = read("EMDS_FACILITATOR_URLS", _each(_guarded_url), None) or ()
        auths = read("EMDS_FACILITATOR_AUTH", lambda text: [*map(_auth, text.split(","))], None) or ()
        if len(auths) > len(urls):
            faults.append("EMDS_FACILITATOR_AUTH has more entries than EMDS_FACILITATOR_URLS")
        if faults:
            raise SettingsError("; ".join(faults))
        padded = [*auths, *[()] * len(urls)]
        facilitators = tuple(Facilitator(url, *auth) for url, auth in zip(urls, padded, strict=False))
        return cls(**values, facilitators=facilitators)

    def lacks_node(self, facilitators: Sequence[Facilitator]) -> bool:
        """Return whether a remote facilitator takes real money and no node (EMDS_RPC_URL) decides unknown outcomes."""
        return not self.rpc_url and not all(is_loopback(each.url) for each in facilitators)
