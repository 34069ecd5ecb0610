"""The settings of the API: one frozen value, read from the environment once and checked at start.

Names, defaults and meanings of all variables are in `warehouse.settings`; the pipeline's own are read by
`orchestration.work.settings`. EMDS_NOW is only checked here: `warehouse.market.clock` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from api.ethereum_address import is_address
from warehouse import settings
from warehouse.errors import BadWindow, MarketError, StorageError
from warehouse.market import clock
from warehouse.store import layout, object_store
from warehouse.store.home import parse

Network = IPv4Network | IPv6Network


class SettingsError(MarketError):
    """The environment is wrong: every fault in one line, by variable, never with a value that may be secret."""


@dataclass(frozen=True, slots=True)
class Facilitator:
    """One x402 facilitator, in the owner's order of preference."""

    url: str
    """Without a slash at its end; https, or http on loopback."""
    auth: Literal["none", "bearer", "cdp"] = "none"
    secret: str = field(default="", repr=False)
    """`bearer`: the token; `cdp`: `KEY_ID:SECRET`, the secret as Coinbase hands it out (base64, Ed25519)."""

    @property
    def loopback(self) -> bool:
        return is_loopback(self.url)


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server, and the sender of what goes out by it."""

    host: str
    port: int
    sender: str
    tls: bool = False
    """TLS from the first byte (`smtps`); otherwise STARTTLS, which only loopback may lack."""
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def loopback(self) -> bool:
        return is_loopback(f"smtp://{self.host}")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that `create_app` needs to know; `Settings()` are the defaults of a machine of one's own."""

    home: str = "data/simulated"
    """EMDS_HOME: where the warehouse lies, a folder or an object store's address."""
    local: str = ""
    """EMDS_LOCAL: beside an object store, this machine's folder for SQLite and logs."""
    bucket_fresh_s: int = 2
    """EMDS_BUCKET_FRESH_SECONDS."""
    base_url: str = "http://127.0.0.1:8000"
    """EMDS_BASE_URL: the service's public address, without a slash at its end; Host headers are never believed."""
    database_url: str = field(default="sqlite:///data/accounts.sqlite", repr=False)
    """EMDS_DATABASE_URL: keys, usage and payments. PostgreSQL comes as `postgresql+psycopg://`."""
    pay_to: str = ""
    """EMDS_PAY_TO: the address that payments go to; empty: nothing is sold."""
    facilitators: tuple[Facilitator, ...] = ()
    """EMDS_FACILITATOR_URLS with EMDS_FACILITATOR_AUTH."""
    rpc_url: str = field(default="", repr=False)
    """EMDS_RPC_URL: a Base node that settles doubts; its address often holds a key."""
    free_calls_per_minute: int = 120
    sample_calls_per_day: int = 500
    signups_per_hour: int = 5
    """For one client address each; 0 is unlimited."""
    key_calls_per_second: int = 20
    """EMDS_KEY_CALLS_PER_SECOND: for one key; 0 is unlimited."""
    webhook_private: bool = False
    """EMDS_WEBHOOK_PRIVATE: webhooks may be http, and lead to private addresses; for tests."""
    mail: MailServer | None = None
    """EMDS_MAIL: where confirmations of new keys are sent; None: keys open at once."""
    trusted_proxies: tuple[Network, ...] = ()
    """EMDS_TRUSTED_PROXIES: whose X-Forwarded-For is believed."""
    allowed_origins: tuple[str, ...] = ()
    """EMDS_ALLOWED_ORIGINS: browsers' origins let in at /mcp besides the service's own and loopback."""
    contact: str = ""
    """EMDS_CONTACT: an e-mail or web address, for security.txt."""
    metrics_token: str = field(default="", repr=False)
    """EMDS_METRICS_TOKEN: the bearer token of /metrics; empty: closed."""
    public_url: str = ""
    """EMDS_PUBLIC_URL: where month files lie for all, without a slash at its end; empty: nowhere."""

    @property
    def own_address(self) -> str:
        """Return what links in answers begin with; empty, for relative ones, where EMDS_BASE_URL is not set."""
        return "" if self.base_url == type(self)().base_url else self.base_url

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read the settings of an environment. Raises SettingsError that names every wrong variable."""
        reader = _Reader(environ, [])
        home = reader.read("EMDS_HOME", _home, settings.home_text(environ))
        local = reader.text("EMDS_LOCAL")
        read = cls(
            home=home,
            local=local,
            bucket_fresh_s=reader.read("EMDS_BUCKET_FRESH_SECONDS", _count),
            base_url=reader.read("EMDS_BASE_URL", _base_url, cls().base_url),
            database_url=reader.read("EMDS_DATABASE_URL", _database_url, _beside(home or "", local)),
            pay_to=reader.read("EMDS_PAY_TO", _pay_to),
            facilitators=_facilitators(reader),
            rpc_url=reader.read("EMDS_RPC_URL", _guarded_url),
            free_calls_per_minute=reader.read("EMDS_FREE_CALLS_PER_MINUTE", _count),
            sample_calls_per_day=reader.read("EMDS_SAMPLE_CALLS_PER_DAY", _count),
            signups_per_hour=reader.read("EMDS_SIGNUPS_PER_HOUR", _count),
            key_calls_per_second=reader.read("EMDS_KEY_CALLS_PER_SECOND", _count),
            webhook_private=reader.read("EMDS_WEBHOOK_PRIVATE", _flag),
            mail=reader.read("EMDS_MAIL", _mail_server),
            trusted_proxies=reader.read("EMDS_TRUSTED_PROXIES", _networks),
            allowed_origins=reader.read("EMDS_ALLOWED_ORIGINS", lambda text: tuple(map(_origin, _words(text)))),
            contact=reader.text("EMDS_CONTACT"),
            metrics_token=reader.text("EMDS_METRICS_TOKEN"),
            public_url=reader.read("EMDS_PUBLIC_URL", lambda text: _base_url(text) if text else ""),
        )
        reader.read("EMDS_NOW", _instant)
        if reader.faults:
            raise SettingsError("; ".join(reader.faults))
        return read

    def lacks_node(self, facilitators: Sequence[Facilitator]) -> bool:
        """Return whether a far facilitator takes real money and no node (EMDS_RPC_URL) can tell its fate."""
        return not self.rpc_url and not all(each.loopback for each in facilitators)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one variable after the other and gathers what is wrong, so that an owner sees all faults at once."""

    environ: Mapping[str, str]
    faults: list[str]

    def text(self, name: str, default: str = "") -> str:
        return settings.text(self.environ, name) or default

    def read(self, name: str, convert: Callable[[str], Any], default: str = "") -> Any:
        """Return what `convert` makes of a variable; None, and a fault, where it raises ValueError."""
        try:
            return convert(self.text(name, default))
        except ValueError as fault:
            self.faults.append(f"{name} {fault}")
            return None


def is_loopback(url: str) -> bool:
    """Return whether an address names this machine itself; names other than `localhost` are not looked up."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) < 2**31:
        return int(text)
    raise ValueError("is not a whole number from 0 (0 is unlimited)")


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("is neither 0 nor 1")
    return text == "1"


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("is not an absolute http(s) address without query")
    return text.rstrip("/")


def _guarded_url(text: str) -> str:
    """Return an address that payments and tokens go to: https, or http where nobody else listens."""
    parts = urlsplit(text)
    safe = parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(text)))
    if text and not safe:
        raise ValueError("is not https (http is for loopback only)")
    return text.rstrip("/")


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise ValueError("holds something that is not an origin such as https://app.example.org")
    return text.lower()


def _home(text: str) -> str:
    try:
        parse(text)
    except StorageError as fault:
        raise ValueError(f"is no place for a warehouse: {fault}") from None
    return text


def _beside(home: str, local: str) -> str:
    """SQLite in the warehouse's folder; beside an object store only where the owner named a folder that stays."""
    if object_store.is_address(home):
        return f"sqlite:///{Path(local).absolute() / layout.ACCOUNTS}" if local else ""
    return f"sqlite:///{Path(home).absolute() / layout.ACCOUNTS}"


def _database_url(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if not text:
        raise ValueError("must be set where EMDS_HOME is an object store, or EMDS_LOCAL be a folder that stays")
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return text
    if scheme in ("postgres", "postgresql", "postgresql+psycopg") and rest:
        from sqlalchemy import make_url  # here: who has no such address needs none of it
        from sqlalchemy.exc import ArgumentError

        try:
            make_url(f"postgresql+psycopg://{rest}")
        except (ArgumentError, ValueError):
            reason = "its port is a number, and its password's signs other than letters and digits are percent-encoded"
            raise ValueError(f"cannot be read: {reason}") from None
        return f"postgresql+psycopg://{rest}"
    raise ValueError("is neither sqlite:///PATH nor postgresql://...")


def _pay_to(text: str) -> str:
    if text and not is_address(text):
        raise ValueError("is not an address of 0x and 40 hex digits with its right checksum (EIP-55)")
    return text


def _instant(text: str) -> str:
    try:
        return text and str(clock.instant(text))
    except BadWindow as fault:
        raise ValueError(f"is no instant: {fault}") from None


def _facilitators(reader: _Reader) -> tuple[Facilitator, ...]:
    urls = reader.read("EMDS_FACILITATOR_URLS", lambda text: [_guarded_url(word) for word in _words(text)]) or []
    text = reader.text("EMDS_FACILITATOR_AUTH")
    auths = [word.strip() for word in text.split(",")] if text else []
    if len(auths) > len(urls):
        reader.faults.append("EMDS_FACILITATOR_AUTH has more entries than EMDS_FACILITATOR_URLS")
        return ()
    facilitators = []
    for url, auth in zip(urls, auths + [""] * (len(urls) - len(auths)), strict=True):
        kind, _, secret = auth.partition(":")
        if kind in ("", "none"):
            facilitators.append(Facilitator(url))
        elif (kind == "bearer" and secret) or (kind == "cdp" and ":" in secret):
            facilitators.append(Facilitator(url, "bearer" if kind == "bearer" else "cdp", secret))
        else:
            reader.faults.append(
                "EMDS_FACILITATOR_AUTH takes none, bearer:TOKEN or cdp:KEY_ID:SECRET for each facilitator, in order"
            )
    return tuple(facilitators)


def _mail_server(text: str) -> MailServer | None:
    """Read smtp://[USER:PASSWORD@]HOST[:PORT]?from=ADDRESS, or smtps://."""
    if not text:
        return None
    wrong = ValueError("is not smtp://[USER:PASSWORD@]HOST[:PORT]?from=ADDRESS, or smtps://")
    try:
        parts = urlsplit(text)
        sender = dict(parse_qsl(parts.query)).get("from", "")
        port = parts.port or (465 if parts.scheme == "smtps" else 587)
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or "@" not in sender or parts.path.strip("/"):
        raise wrong
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(parts.hostname, port, sender, parts.scheme == "smtps", user, password)


def _networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(word, strict=False) for word in _words(text))
    except ValueError:
        raise ValueError("is not a list of addresses or networks such as 10.0.0.0/8") from None
