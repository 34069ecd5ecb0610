"""Open the pipeline's context from the environment: a warehouse, its mode, and the transport."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply, Session, Transport
from assets.fetch.turns import Turns
from assets.ingest.context import PipelineContext
from assets.sources import sources
from orchestration.work.settings import PipelineSettings
from warehouse.documents import catalogue
from warehouse.errors import NotPublished, StorageError
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.market import Feed, Request
from warehouse.store import layout, modes, release
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder, Storage

Plan = Callable[[Feed, Sequence[MarketDay]], list[Request]]


def opened(environ: Mapping[str, str]) -> Storage:
    """Return the storage that EMDS_HOME names. Raises StorageError."""
    return PipelineSettings.from_environ(environ).home.open()


def open_context(environ: Mapping[str, str] = os.environ, recordings: Path | None = None) -> PipelineContext:
    """Open the context of this environment. `recordings` (a folder with a MANIFEST) makes an empty warehouse recorded.

    Chooses and writes the mode of an empty warehouse. Raises StorageError.
    """
    settings = PipelineSettings.from_environ(environ)
    if recordings:
        _require_real(recordings)
    storage = settings.home.open_to_write()
    if isinstance(storage, Bucket) and release.version_of(storage) is None:
        storage.require_conditions()
    release.mark(storage)
    mode = modes.ensure(storage, "recorded" if recordings else settings.feeds)
    return _context(environ, settings, storage, mode, recordings)


def open_unclaimed(environ: Mapping[str, str] = os.environ) -> PipelineContext:
    """Open it for a verb that only reports: an empty warehouse takes no mode and no version. Raises StorageError."""
    settings = PipelineSettings.from_environ(environ)
    storage = settings.home.open()
    release.check(storage)
    return _context(environ, settings, storage, modes.check(storage, settings.feeds), None)


def open_scratch(settings: PipelineSettings, folder: Path, mode: str) -> PipelineContext:
    """Open a warehouse of its own in this folder, over the same publishers and turns. Raises StorageError."""
    storage = Folder(folder)
    release.mark(storage)
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
        _plan(recordings),
        settings.raw_days,
    )


def _require_real(recordings: Path) -> None:
    """Raise StorageError for recordings of simulated publishers: a recorded warehouse states its sources' licences."""
    from assets.fetch.recorded import is_simulated

    if is_simulated(recordings):
        raise StorageError(
            f"{recordings} holds answers of simulated publishers: a warehouse holds recordings of real ones"
        )


def configured(environ: Mapping[str, str], mode: str) -> frozenset[str]:
    """Return the sources whose credentials are set; all of them where no publisher is asked."""
    return frozenset(
        s.code for s in sources().values() if mode != "live" or all(environ.get(name) for name in s.required_env)
    )


def transport_of(mode: str, environ: Mapping[str, str], contact: str, recordings: Path | None = None) -> Transport:
    """Return the transport of a mode: HTTPS, a folder of recordings, or the simulated publishers."""
    if mode == "live":
        from assets.fetch.live import Live

        return Live(contact=contact)
    if mode == "recorded":
        from assets.fetch.recorded import Recorded

        return Recorded(recordings) if recordings else _nothing_recorded
    from assets.simulated import transport

    return transport(environ)


def turns_of(settings: PipelineSettings) -> Turns:
    """Return the publishers' turns that this machine's processes share; this process's own without a folder.

    With Dagster on PostgreSQL the pool lets one partitioned run a publisher go at once on all machines, and `live` is
    another: each keeps half of the limit.
    """
    local = settings.home.local
    return Turns(local / layout.TURNS if local.is_dir() else None, share=0.5 if settings.dagster_postgres_url else 1.0)


def _session(mode: str, environ: Mapping[str, str], settings: PipelineSettings, recordings: Path | None) -> Session:
    transport = transport_of(mode, environ, settings.contact, recordings)
    return Session(transport, environ, turns=turns_of(settings)) if mode == "live" else Session(transport)


def _nothing_recorded(request: Request, credentials: Credentials) -> Reply:
    raise NotPublished("a recorded warehouse is filled by `emds replay FOLDER` only")


def _plan(recordings: Path | None) -> Plan:
    if recordings is None:
        return _own_requests
    from assets.fetch.recorded import recorded_requests

    return replay_plan(recorded_requests(recordings))


def _own_requests(feed: Feed, days: Sequence[MarketDay]) -> list[Request]:
    return feed.requests(days, clock.now())


def replay_plan(requests: Sequence[Request]) -> Plan:
    """Return a plan over recorded requests: those of a feed that touch the days; one without days touches all."""

    def plan(feed: Feed, days: Sequence[MarketDay]) -> list[Request]:
        wanted = {d.day for d in days}
        return [r for r in requests if r.feed == feed.id and (not r.days or wanted.intersection(r.days))]

    return plan
