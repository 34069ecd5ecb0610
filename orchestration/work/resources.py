"""Open the pipeline's context from the environment: a warehouse, its mode, and the transport."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from assets.fetch.session import Session
from assets.fetch.turns import Turns
from assets.ingest.context import PipelineContext
from assets.sources import sources
from orchestration.work.settings import PipelineSettings
from warehouse.documents import catalogue
from warehouse.errors import StorageError
from warehouse.store import layout, modes
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder, Storage


def opened(environ: Mapping[str, str]) -> Storage:
    """Return the storage that EMDS_HOME names. Raises StorageError."""
    return PipelineSettings.from_environ(environ).home.open()


def open_context(environ: Mapping[str, str] = os.environ, recordings: Path | None = None) -> PipelineContext:
    """Open the context of this environment. `recordings` (a folder with a MANIFEST) makes an empty warehouse recorded.

    Chooses and writes the mode of an empty warehouse. Raises StorageError.
    """
    settings = PipelineSettings.from_environ(environ)
    if recordings:
        from assets.fetch.recorded import is_simulated

        if is_simulated(recordings):  # a recorded warehouse states its sources' licences
            raise StorageError(
                f"{recordings} holds answers of simulated publishers: a warehouse holds recordings of real ones"
            )
    storage = settings.home.open_to_write()
    if isinstance(storage, Bucket) and storage.stat(layout.MODE) is None:
        storage.require_conditions()
    modes.check_release(storage)
    mode = modes.ensure(storage, "recorded" if recordings else settings.feeds)
    return _context(environ, settings, storage, mode, recordings)


def open_unclaimed(environ: Mapping[str, str] = os.environ) -> PipelineContext:
    """Open it for a verb that only reports: an empty warehouse takes no mode and no version. Raises StorageError."""
    settings = PipelineSettings.from_environ(environ)
    storage = settings.home.open()
    modes.check_release(storage)
    return _context(environ, settings, storage, modes.check(storage, settings.feeds), None)


def open_scratch(settings: PipelineSettings, folder: Path, mode: str) -> PipelineContext:
    """Open a warehouse of its own in this folder, over the same publishers and turns. Raises StorageError."""
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
        settings.raw_days,
    )


def configured(environ: Mapping[str, str], mode: str) -> frozenset[str]:
    """Return the sources whose credentials are set; all of them where no publisher is asked."""
    return frozenset(
        s.code for s in sources().values() if mode != "live" or all(environ.get(name) for name in s.required_env)
    )


def turns_of(settings: PipelineSettings) -> Turns:
    """Return the publishers' turns that this machine's processes share; this process's own without a folder.

    With Dagster on PostgreSQL the pool lets one partitioned run a publisher go at once on all machines, and `live` is
    another: each keeps half of the limit.
    """
    local = settings.home.local
    return Turns(local / layout.TURNS if local.is_dir() else None, share=0.5 if settings.dagster_postgres_url else 1.0)


def _session(mode: str, environ: Mapping[str, str], settings: PipelineSettings, recordings: Path | None) -> Session:
    """Return the session over a mode's transport: HTTPS, a folder of recordings, or the simulated publishers."""
    if mode == "live":
        from assets.fetch.live import Live

        return Session(Live(contact=settings.contact), environ, turns=turns_of(settings))
    if mode == "recorded":
        from assets.fetch.recorded import Recorded

        return Session(Recorded(recordings))
    from assets.simulated import transport

    return Session(transport(environ))
