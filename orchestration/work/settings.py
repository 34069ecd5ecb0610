"""The pipeline's settings: one frozen value, read from the environment and checked at once. See `api.settings` too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from urllib.parse import urlsplit

from assets.sources import sources
from warehouse import settings
from warehouse.errors import StorageError
from warehouse.settings import MODES
from warehouse.store import home
from warehouse.store.home import Home


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Everything that ingest and Dagster need to know of the environment, but for publishers' credentials."""

    home: Home
    """EMDS_HOME with EMDS_LOCAL, absolute."""
    feeds: str | None
    """EMDS_FEEDS: the mode that an empty warehouse takes; None for its own."""
    rights: frozenset[str]
    """EMDS_RIGHTS: sources whose figures the owner may pass on, by written permission."""
    since: date | None
    """EMDS_SINCE: the first market day of partitions and of the first fill; None where it is not set."""
    contact: str
    """EMDS_CONTACT."""
    raw_days: int
    """EMDS_RAW_DAYS: days of which every kept answer stays."""
    alert_webhook: str = field(repr=False)
    """EMDS_ALERT_WEBHOOK; empty for none."""
    dagster_postgres_url: str = field(repr=False)
    """EMDS_DAGSTER_POSTGRES_URL, for psycopg2; empty for SQLite."""
    run_image: str
    """EMDS_RUN_IMAGE: the image of runs in containers of their own; empty where runs are processes."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> PipelineSettings:
        """Read the settings of an environment. Raises StorageError that names the first wrong variable, no secret."""
        return cls(
            home=home.from_environ(environ),
            feeds=_feeds(settings.text(environ, "EMDS_FEEDS")),
            rights=_rights(settings.words(environ, "EMDS_RIGHTS")),
            since=_since(settings.text(environ, "EMDS_SINCE")),
            contact=settings.text(environ, "EMDS_CONTACT"),
            raw_days=_raw_days(settings.text(environ, "EMDS_RAW_DAYS")),
            alert_webhook=_webhook(settings.text(environ, "EMDS_ALERT_WEBHOOK")),
            dagster_postgres_url=_postgres(settings.text(environ, "EMDS_DAGSTER_POSTGRES_URL")),
            run_image=settings.text(environ, "EMDS_RUN_IMAGE"),
        )


def _feeds(text: str) -> str | None:
    if text and text not in MODES:
        raise StorageError(f"EMDS_FEEDS={text[:40]}: one of {', '.join(MODES)}")
    return text or None


def _rights(words: list[str]) -> frozenset[str]:
    unknown = set(words) - set(sources())
    if unknown:
        raise StorageError(f"EMDS_RIGHTS names no source: {', '.join(sorted(unknown))}; known: {', '.join(sources())}")
    return frozenset(words)


def _since(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise StorageError(f"EMDS_SINCE={text[:40]}: a market day such as 2026-01-01") from None


def _raw_days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 36600):
        raise StorageError(f"EMDS_RAW_DAYS={text[:20]}: a number of days")
    return int(text)


def _webhook(text: str) -> str:
    if text and urlsplit(text).scheme not in ("http", "https"):
        raise StorageError("EMDS_ALERT_WEBHOOK is not an http(s) address")
    return text


def _postgres(text: str) -> str:
    """Return the address for psycopg2, which dagster-postgres brings; SQLAlchemy 2.1 has another default driver."""
    scheme, _, rest = text.partition("://")
    if not text:
        return ""
    if scheme.partition("+")[0] not in ("postgres", "postgresql") or not rest:
        raise StorageError("EMDS_DAGSTER_POSTGRES_URL is not postgresql://user:password@host/database")
    return f"postgresql+psycopg2://{rest}"
