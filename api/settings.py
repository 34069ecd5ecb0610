"""What the environment asks of the API: one frozen value, read once and checked at start (API.md section 10).

Not here: publishers' credentials and ingestion (the pipeline's own), EMDS_NOW (`warehouse.clock` alone reads it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from api.ethereum_address import is_address
from warehouse.errors import MarketError

Network = IPv4Network | IPv6Network


class SettingsError(MarketError):
    """The environment is wrong; every fault in one line, by the variable's name, and never a value that may be secret."""


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
class Settings:
    """Everything that `create_app` needs to know; `Settings()` are the defaults of a machine of one's own."""

    home: str = "./data"
    """EMDS_HOME: where the warehouse lies, a folder or an object store's address."""
    base_url: str = "http://127.0.0.1:8000"
    """EMDS_BASE_URL: how the world reaches this service; no slash at its end. Host headers are never believed instead."""
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
    trusted_proxies: tuple[Network, ...] = ()
    """EMDS_TRUSTED_PROXIES: whose X-Forwarded-For is believed."""
    allowed_origins: tuple[str, ...] = ()
    """EMDS_ALLOWED_ORIGINS: browsers' origins let in at /mcp besides the service's own and loopback."""
    contact: str = ""
    """EMDS_CONTACT: an e-mail or web address, for security.txt."""
    metrics_token: str = field(default="", repr=False)
    """EMDS_METRICS_TOKEN: the bearer token of /metrics; empty: closed."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """The settings of an environment. Raises SettingsError that names every wrong variable."""
        faults: list[str] = []
        ask = _Asker(environ, faults)
        home = ask.text("EMDS_HOME", "./data")
        read = cls(
            home=home,
            base_url=ask.checked("EMDS_BASE_URL", cls().base_url, _base_url),
            database_url=ask.checked("EMDS_DATABASE_URL", _beside(home), _database_url),
            pay_to=ask.checked("EMDS_PAY_TO", "", _pay_to),
            facilitators=_facilitators(ask, faults),
            rpc_url=ask.checked("EMDS_RPC_URL", "", _guarded_url),
            free_calls_per_minute=ask.count("EMDS_FREE_CALLS_PER_MINUTE", 120),
            sample_calls_per_day=ask.count("EMDS_SAMPLE_CALLS_PER_DAY", 500),
            signups_per_hour=ask.count("EMDS_SIGNUPS_PER_HOUR", 5),
            trusted_proxies=_networks(ask, faults),
            allowed_origins=tuple(ask.checked_words("EMDS_ALLOWED_ORIGINS", _origin)),
            contact=ask.text("EMDS_CONTACT", ""),
            metrics_token=ask.text("EMDS_METRICS_TOKEN", ""),
        )
        if faults:
            raise SettingsError("; ".join(faults))
        return read


@dataclass(frozen=True, slots=True)
class _Asker:
    """Reads one variable after the other and gathers what is wrong, so that an owner sees all faults at once."""

    environ: Mapping[str, str]
    faults: list[str]

    def text(self, name: str, default: str) -> str:
        return self.environ.get(name, "").strip() or default

    def words(self, name: str) -> list[str]:
        return [word.strip() for word in self.environ.get(name, "").split(",") if word.strip()]

    def checked(self, name: str, default: str, check: Callable[[str], str]) -> str:
        try:
            return check(self.text(name, default))
        except ValueError as fault:
            self.faults.append(f"{name} {fault}")
            return ""

    def checked_words(self, name: str, check: Callable[[str], str]) -> list[str]:
        try:
            return [check(word) for word in self.words(name)]
        except ValueError as fault:
            self.faults.append(f"{name} {fault}")
            return []

    def count(self, name: str, default: int) -> int:
        text = self.text(name, str(default))
        if text.isascii() and text.isdigit() and int(text) < 2**31:
            return int(text)
        self.faults.append(f"{name} is not a whole number from 0 (0 is unlimited)")
        return default


def is_loopback(url: str) -> bool:
    """Whether an address names this machine itself; names other than `localhost` are not looked up."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("is not an absolute http(s) address without query")
    return text.rstrip("/")


def _guarded_url(text: str) -> str:
    """Payments and tokens travel there: readable by others only where nobody else listens."""
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


def _beside(home: str) -> str:
    return "" if "://" in home else f"sqlite:///{Path(home).absolute() / 'accounts.sqlite'}"


def _database_url(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if not text:
        raise ValueError("must be set where EMDS_HOME is an object store")
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return text
    if scheme in ("postgres", "postgresql", "postgresql+psycopg") and rest:
        return f"postgresql+psycopg://{rest}"
    raise ValueError("is neither sqlite:///PATH nor postgresql://...")


def _pay_to(text: str) -> str:
    if text and not is_address(text):
        raise ValueError("is not an address of 0x and 40 hex digits with its right checksum (EIP-55)")
    return text


def _facilitators(ask: _Asker, faults: list[str]) -> tuple[Facilitator, ...]:
    urls = ask.checked_words("EMDS_FACILITATOR_URLS", _guarded_url)
    given = ask.environ.get("EMDS_FACILITATOR_AUTH", "").strip()
    auths = [word.strip() for word in given.split(",")] if given else []
    if len(auths) > len(urls):
        faults.append("EMDS_FACILITATOR_AUTH has more entries than EMDS_FACILITATOR_URLS")
        return ()
    found = []
    for url, auth in zip(urls, auths + [""] * (len(urls) - len(auths)), strict=True):
        kind, _, secret = auth.partition(":")
        if kind in ("", "none"):
            found.append(Facilitator(url))
        elif (kind == "bearer" and secret) or (kind == "cdp" and ":" in secret):
            found.append(Facilitator(url, "bearer" if kind == "bearer" else "cdp", secret))
        else:
            faults.append(
                "EMDS_FACILITATOR_AUTH takes none, bearer:TOKEN or cdp:KEY_ID:SECRET for each facilitator, in order"
            )
    return tuple(found)


def _networks(ask: _Asker, faults: list[str]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(word, strict=False) for word in ask.words("EMDS_TRUSTED_PROXIES"))
    except ValueError:
        faults.append("EMDS_TRUSTED_PROXIES is not a list of addresses or networks such as 10.0.0.0/8")
        return ()
