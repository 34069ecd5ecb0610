"""Read and check the pipeline's settings from the environment, and open the context that they describe.

A context is a warehouse, its mode, and the transport to the publishers. See also `api.settings`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from assets.fetch.rate_limits import RateLimits
from assets.fetch.session import Session
from assets.ingest.context import PipelineContext
from assets.sources import sources
from warehouse.documents import catalogue
from warehouse.errors import StorageError
from warehouse.market.zones import ZONES
from warehouse.settings import MODES, text, words
from warehouse.store import home, layout, modes, zone_ids
from warehouse.store.bucket import Bucket
from warehouse.store.home import Home
from warehouse.store.storage import Folder, Storage


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """The settings that ingest and Dagster need, except publishers' credentials."""

    home: Home
    """EMDS_HOME with EMDS_LOCAL_DIR, absolute."""
    feeds: str | None
    """EMDS_FEEDS: the mode that an empty warehouse takes; None for its own."""
    rights: frozenset[str]
    """EMDS_REDISTRIBUTABLE_SOURCES: sources whose data the operator may redistribute, by written permission."""
    since: date | None
    """EMDS_START_DATE: the first market day of partitions and of the first fill; None if it is not set."""
    contact: str
    """EMDS_CONTACT."""
    raw_retention_days: int
    """EMDS_RAW_RETENTION_DAYS: number of days for which every raw response is kept."""
    alert_webhook: str = field(repr=False)
    """EMDS_ALERT_WEBHOOK; empty if it is not set."""
    dagster_postgres_url: str = field(repr=False)
    """EMDS_DAGSTER_POSTGRES_URL, for psycopg2; empty for SQLite."""
    run_image: str
    """EMDS_RUN_IMAGE: the image of runs in containers of their own; empty if runs are processes."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> PipelineSettings:
        """Read the settings of an environment. Raises StorageError that names the first wrong variable, no secret."""
        names = ("EMDS_FEEDS", "EMDS_START_DATE", "EMDS_RAW_RETENTION_DAYS", "EMDS_ALERT_WEBHOOK")
        feeds, since, raw_retention_days, webhook = (text(environ, name) for name in names)
        rights, known = words(environ, "EMDS_REDISTRIBUTABLE_SOURCES"), sources()
        if feeds and feeds not in MODES:
            raise StorageError(f"EMDS_FEEDS={feeds[:40]} is not valid; use one of {', '.join(MODES)}")
        if unknown := {*rights} - {*known}:
            raise StorageError(
                f"EMDS_REDISTRIBUTABLE_SOURCES contains unknown sources: {', '.join(sorted(unknown))}; "
                f"use {', '.join(known)}"
            )
        if not (raw_retention_days.isascii() and raw_retention_days.isdigit() and int(raw_retention_days) <= 36600):
            raise StorageError(f"EMDS_RAW_RETENTION_DAYS={raw_retention_days[:20]} is not valid; use a number of days")
        if webhook and urlsplit(webhook).scheme not in ("http", "https"):
            raise StorageError("EMDS_ALERT_WEBHOOK must be an http or https URL")
        try:
            first_day = date.fromisoformat(since) if since else None
        except ValueError:
            raise StorageError(f"EMDS_START_DATE={since[:40]} is not valid; use a date such as 2026-01-01") from None
        return cls(
            home=home.from_environ(environ),
            feeds=feeds or None,
            rights=frozenset(rights),
            since=first_day,
            contact=text(environ, "EMDS_CONTACT"),
            raw_retention_days=int(raw_retention_days),
            alert_webhook=webhook,
            dagster_postgres_url=_postgres(text(environ, "EMDS_DAGSTER_POSTGRES_URL")),
            run_image=text(environ, "EMDS_RUN_IMAGE"),
        )


def _postgres(address: str) -> str:
    """Return the URL for psycopg2, which dagster-postgres installs; SQLAlchemy 2.1 has another default driver."""
    scheme, _, rest = address.partition("://")
    if not address:
        return ""
    if scheme.partition("+")[0] not in ("postgres", "postgresql") or not rest:
        raise StorageError("EMDS_DAGSTER_POSTGRES_URL must be postgresql://user:password@host/database")
    return f"postgresql+psycopg2://{rest}"


def opened(environ: Mapping[str, str]) -> Storage:
    """Return the storage that EMDS_HOME names. Raises StorageError."""
    return PipelineSettings.from_environ(environ).home.open()


def open_context(
    environ: Mapping[str, str] = os.environ, recordings: Path | None = None, adds_zones: bool = True
) -> PipelineContext:
    """Open the context of this environment. `recordings`, a folder with a MANIFEST, makes an empty warehouse recorded.

    Chooses and writes the mode and the zones of an empty warehouse. If `adds_zones`, an existing warehouse takes the
    zones that it does not cover yet. Raises StorageError.
    """
    settings = PipelineSettings.from_environ(environ)
    if recordings:
        from assets.fetch.recorded import is_simulated

        if is_simulated(recordings):  # a recorded warehouse states its sources' licences
            raise StorageError(
                f"{recordings} contains responses of simulated publishers; a recorded warehouse accepts only real ones"
            )
    storage = settings.home.open_to_write()
    if isinstance(storage, Bucket) and storage.stat(layout.MODE) is None:
        storage.require_conditions()
    modes.check_release(storage)
    mode = modes.ensure(storage, "recorded" if recordings else settings.feeds)
    zone_ids.ensure(storage, ZONES, adds_zones)
    return _context(environ, settings, storage, mode, recordings)


def open_unclaimed(environ: Mapping[str, str] = os.environ) -> PipelineContext:
    """Open the context for a verb that only reports: an empty warehouse stays unchanged. Raises StorageError."""
    settings = PipelineSettings.from_environ(environ)
    storage = settings.home.open()
    modes.check_release(storage)
    zone_ids.check(zone_ids.stored_ids(storage), ZONES)
    return _context(environ, settings, storage, modes.check(storage, settings.feeds), None)


def open_scratch(settings: PipelineSettings, folder: Path, mode: str) -> PipelineContext:
    """Open a separate warehouse in `folder`, with the same publishers and rate_limits. Raises StorageError."""
    storage = Folder(folder)
    modes.ensure(storage, mode)
    return _context(os.environ, settings, storage, mode, None)


def _context(
    environ: Mapping[str, str], settings: PipelineSettings, storage: Storage, mode: str, recordings: Path | None
) -> PipelineContext:
    known = sources()
    return PipelineContext(
        storage,
        mode,
        known,
        settings.rights,
        catalogue.ranks(known, settings.rights, mode),
        configured(environ, mode),
        _session(mode, environ, settings, recordings),
        settings.raw_retention_days,
    )


def configured(environ: Mapping[str, str], mode: str) -> frozenset[str]:
    """Return the sources whose credentials are set, or all sources if the mode does not fetch from publishers."""
    return frozenset(
        s.code for s in sources().values() if mode != "live" or all(environ.get(name) for name in s.required_env)
    )


def _session(mode: str, environ: Mapping[str, str], settings: PipelineSettings, recordings: Path | None) -> Session:
    """Return the session over a mode's transport: HTTPS, a folder of recordings, or the simulated publishers."""
    if mode == "live":
        from assets.fetch.https import Live

        # With Dagster on PostgreSQL, one partitioned run of a publisher and one `live` run are in progress at once on
        # all machines. Each uses half of the rate limit.
        share, local = 0.5 if settings.dagster_postgres_url else 1.0, settings.home.local
        rate_limits = RateLimits(local / layout.RATE_LIMITS if local.is_dir() else None, share=share)
        return Session(Live(contact=settings.contact), environ, rate_limits=rate_limits)
    if mode == "recorded":
        from assets.fetch.recorded import Recorded

        return Session(Recorded(recordings))
    from assets.simulated import transport

    return Session(transport(environ))
