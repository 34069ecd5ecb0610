"""Opens the pipeline's context from the environment: which warehouse, in which mode, over which transport."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply, Session
from assets.ingest.context import PipelineContext
from assets.sources import sources
from warehouse import catalogue, clock, layout
from warehouse.clock import MarketDay
from warehouse.errors import NotPublished, StorageError
from warehouse.market import Feed, Request
from warehouse.storage import Folder

Plan = Callable[[Feed, Sequence[MarketDay]], list[Request]]
MODES = ("simulated", "live", "recorded")


def home(environ: Mapping[str, str]) -> Path:
    """EMDS_HOME, by default ./data. Raises StorageError for an address: a warehouse is a folder."""
    named = environ.get("EMDS_HOME") or "data"
    if "://" in named:
        raise StorageError("EMDS_HOME holds an address, but a warehouse is a folder: mount the object store as one")
    return Path(named).resolve()


def rights(environ: Mapping[str, str]) -> frozenset[str]:
    """Sources whose figures the owner may pass on, by written permission (EMDS_RIGHTS). Raises StorageError."""
    named = frozenset(filter(None, (word.strip() for word in environ.get("EMDS_RIGHTS", "").split(","))))
    unknown = named - set(sources())
    if unknown:
        raise StorageError(f"EMDS_RIGHTS names no source: {', '.join(sorted(unknown))}; known: {', '.join(sources())}")
    return named


def mode_of(storage: Folder, wanted: str | None) -> str:
    """The warehouse's own mode; an empty one takes `wanted`, else simulated. Raises StorageError on a mismatch."""
    if wanted and wanted not in MODES:
        raise StorageError(f"EMDS_FEEDS={wanted}: one of {', '.join(MODES)}")
    with storage.locked([layout.MODE]):
        kept = storage.get(layout.MODE)
        if kept is None:
            mode = wanted or "simulated"
            storage.put(layout.MODE, mode.encode())
            return mode
    mode = kept.decode().strip()
    if wanted and wanted != mode:
        raise StorageError(f"this warehouse is {mode}, not {wanted}: name another EMDS_HOME, modes never mix")
    return mode


def open_context(environ: Mapping[str, str] = os.environ, recordings: Path | None = None) -> PipelineContext:
    """The context of this environment. `recordings` (a folder with a MANIFEST) makes an empty warehouse recorded."""
    storage = Folder(home(environ))
    wanted = "recorded" if recordings else environ.get("EMDS_FEEDS") or None
    mode = mode_of(storage, wanted)
    granted = rights(environ)
    known = sources()
    return PipelineContext(
        storage,
        mode,
        known,
        granted,
        catalogue.ranks(known, granted, mode),
        configured(environ, mode),
        _session(mode, environ, recordings),
        _plan(recordings),
        _raw_days(environ),
    )


def _raw_days(environ: Mapping[str, str]) -> int:
    """EMDS_RAW_DAYS, 7 by default. Raises StorageError."""
    text = environ.get("EMDS_RAW_DAYS") or "7"
    if not (text.isascii() and text.isdigit() and int(text) <= 36600):
        raise StorageError(f"EMDS_RAW_DAYS={text[:20]}: a number of days")
    return int(text)


def configured(environ: Mapping[str, str], mode: str) -> frozenset[str]:
    """Sources whose credentials are set; all of them where no publisher is asked."""
    return frozenset(
        s.code for s in sources().values() if mode != "live" or all(environ.get(name) for name in s.required_env)
    )


def _session(mode: str, environ: Mapping[str, str], recordings: Path | None) -> Session:
    if mode == "live":
        from assets.fetch.live import Live

        return Session(Live(contact=environ.get("EMDS_CONTACT", "")), environ)
    if mode == "recorded":
        from assets.fetch.recorded import Recorded

        return Session(Recorded(recordings) if recordings else _nothing_recorded)
    from assets.simulated import transport

    return Session(transport(environ))


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
    """A plan over recorded requests: those of a feed that touch the days; one without days touches all."""

    def plan(feed: Feed, days: Sequence[MarketDay]) -> list[Request]:
        wanted = {d.day for d in days}
        return [r for r in requests if r.feed == feed.id and (not r.days or wanted.intersection(r.days))]

    return plan
