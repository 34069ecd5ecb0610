"""Print settings, credentials, freshness and disk space for `emds doctor`; of a secret, only whether it is set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from api.access.gate import LIVE_MODES
from api.settings import Settings, is_loopback
from assets.ingest import first_days, stored_days
from assets.ingest.context import PipelineContext
from orchestration.work.environment import open_unclaimed
from warehouse.documents import health
from warehouse.errors import WrongMode
from warehouse.market import clock, further_zones
from warehouse.market.clock import MarketDay, iso, months
from warehouse.market.feeds import Source
from warehouse.market.zones import ZONES
from warehouse.settings import DEFAULTS, SECRETS
from warehouse.store import home
from warehouse.store.bucket import Bucket

if TYPE_CHECKING:
    from dagster import DagsterInstance

BACK_DAYS = 10
"""Dagster's partitions are compared with this many days of stored data."""
LEAST_FREE_BYTES = 2_000_000_000
"""Dagster's storage grows by about 84 MB per day without other data."""
Fault = tuple[str, bool]
"""A fault in one or two sentences, and whether it is certain."""


def doctor() -> int:
    """Print the report; return 1 if a source that should work is late or down, or if another fault is certain."""
    pipeline, faults = _open()
    if isinstance(pipeline.storage, Bucket):
        pipeline.storage.require_conditions()
    own_home = home.from_environ(os.environ)
    own_home.make_local()
    free, disk = shutil.disk_usage(own_home.local).free / 1e9, own_home.local
    print(f"warehouse {pipeline.storage}: {pipeline.mode}, {free:.1f} GB free in {disk}, now {iso(clock.now())}")
    added = len(further_zones.ENABLED)
    print(f"zones: {len(ZONES)}" + (f", {added} of them by EMDS_ZONES" if added else ""))
    for name in DEFAULTS:
        if value := os.environ.get(name):
            print(f"  {name} = {'(set)' if name in SECRETS else value}")
    faults += access_faults(Settings.from_environ(os.environ), pipeline.mode)
    faults += disk_faults(own_home.local)
    for fault, _ in faults:
        print(f"WARNING: {fault}")
    is_bad = any(grave for _, grave in faults)
    is_empty = not any(health.load(pipeline.storage, code) for code in pipeline.sources)
    if is_empty:
        print(
            "No data has been ingested yet. Run `emds up` to fetch 35 days; `emds backfill --days 35 --dry-run` "
            "estimates how long it takes."
        )
    for source in pipeline.sources.values():
        print(f"{source.code:15} {_credentials(pipeline, source)}")
        if source.code not in pipeline.configured:
            for gain in _gains(pipeline, source):
                print(f"  {gain}")
        elif not is_empty:
            for report, grave in _feeds(pipeline, source.code):
                is_bad |= grave
                print(f"  {report}")
    for line, grave in _partitions(pipeline):
        is_bad |= grave
        print(line)
    return 1 if is_bad else 0


def _open() -> tuple[PipelineContext, list[Fault]]:
    """Open the warehouse. A mode other than EMDS_FEEDS is a fault, but the warehouse is examined anyway."""
    try:
        return open_unclaimed(), []
    except WrongMode as error:
        return open_unclaimed({**os.environ, "EMDS_FEEDS": ""}), [(str(error), True)]


def disk_faults(local: Path) -> list[Fault]:
    """Return a fault if a disk is nearly full."""
    free = shutil.disk_usage(local).free
    text = f"Only {free / 1e6:.0f} MB are free in {local}. Free up space, or lower EMDS_RAW_RETENTION_DAYS."
    return [(text, False)] if free < LEAST_FREE_BYTES else []


def _credentials(pipeline: PipelineContext, source: Source) -> str:
    """Return whether a source can be fetched, and what its real publisher requires, whatever the warehouse's mode."""
    missing = ", ".join(name for name in source.required_env if not os.environ.get(name))
    if source.code not in pipeline.configured:
        return f"not configured: set {missing}"
    if pipeline.mode != "live":
        need = f"needs {missing}" if missing else "has its credentials" if source.required_env else "needs no key"
        return f"{pipeline.mode}; live it {need}"
    kept_out = source.withheld and source.code not in pipeline.rights
    return "configured (withheld: not listed in EMDS_REDISTRIBUTABLE_SOURCES)" if kept_out else "configured"


def _gains(pipeline: PipelineContext, source: Source) -> Iterator[str]:
    """Yield what a source's credentials would add to the configured sources, by metric and zone."""
    covered = {
        (zone, metric)
        for other in pipeline.sources.values()
        for feed in other.feeds
        for zone in feed.zones
        for metric in feed.metrics
        if other.code in pipeline.configured and feed.id in pipeline.ranks
    }
    offered = {(z, m) for feed in source.feeds if feed.id in pipeline.ranks for z in feed.zones for m in feed.metrics}
    for word, gained in (("the only way", offered - covered), ("a second way", offered & covered)):
        for metric in sorted({metric for _, metric in gained}):
            zones = (zone for zone, other in gained if other == metric)
            yield f"would be {word} to {metric.replace('_', ' ')} of {', '.join(sorted(zones))}"


def _partitions(pipeline: PipelineContext) -> Iterator[Fault]:
    """Yield where Dagster's partitions and the warehouse differ; nothing if Dagster never ran here.

    A day that is stored but not recorded is not a fault: it is served, and only Dagster does not show it.
    """
    if not (pipeline.storage.local / "dagster").is_dir():
        return
    from orchestration.jobs import recording

    instance = recording.instance(pipeline.storage.local)
    if instance is None:
        yield "Dagster's storage cannot be opened. Check EMDS_DAGSTER_POSTGRES_URL and EMDS_HOME/dagster.", True
        return
    with instance:
        lines = list(unmarked(instance, pipeline))
    yield from ((line, False) for line in lines)
    if lines:
        yield (
            "To record them, run `emds rebuild --start D`. For days that were never fetched, run `emds backfill`.",
            False,
        )


def unmarked(instance: DagsterInstance, pipeline: PipelineContext) -> Iterator[str]:
    """Yield a line for each of the last ten days that has rows but is not materialised in Dagster, feed by feed."""
    from assets import partitions

    firsts, now = first_days.load(pipeline.storage), clock.now()
    for feed in (feed for source in pipeline.sources.values() for feed in source.feeds if not feed.yearly):
        today = clock.local_date(now, feed.tz)
        days = [MarketDay(today - timedelta(days=back), feed.tz) for back in range(BACK_DAYS, -1, -1)]
        last = partitions.last_day(feed, today)
        days = [day for day in days if feed.id in firsts and firsts[feed.id] <= day.day <= last]
        marked = set(instance.get_materialized_partitions(partitions.asset_key(feed))) if days else set()
        days = [day for day in days if str(day) not in marked]
        rows = stored_days.read(pipeline.storage, feed, {month for day in days for month in months(day.window)})
        for day in days:
            if count := stored_days.of_day(rows, feed, day).rows:
                yield f"{feed.id} {day}: {count} rows stored, but not materialised in Dagster"


def access_faults(settings: Settings, mode: str) -> Iterator[Fault]:
    """Yield the faults in the settings for payments and client addresses."""
    if settings.pay_to and mode in LIVE_MODES and settings.lacks_node(settings.facilitators):
        yield (
            "EMDS_RPC_URL is not set, so payments are off. Set it to a Base node: without one, emds cannot find out "
            "whether a payment was charged when a facilitator fails to respond.",
            True,
        )
    if settings.pay_to and mode in LIVE_MODES and not settings.facilitators:
        yield "EMDS_PAY_TO is set but EMDS_FACILITATOR_URLS is not, so payments are off. Set both.", True
    is_public = settings.base_url.startswith("https:") and not is_loopback(settings.base_url)
    if not settings.trusted_proxies and is_public:
        yield (
            "EMDS_BASE_URL uses https but EMDS_TRUSTED_PROXIES is empty. If a proxy terminates TLS, add its address; "
            "otherwise all clients share one rate limit.",
            False,
        )


def _feeds(pipeline: PipelineContext, code: str) -> Iterator[tuple[str, bool]]:
    """Yield a line per feed with the state of its worst zone, and whether that is a fault."""
    known = health.load(pipeline.storage, code)
    for feed in pipeline.sources[code].feeds:
        found = health.feed_state(feed, known, clock.now())
        zones = ", ".join(found.zones) if found.state != "ok" else ""
        until = max((one.whole_until for one in found.known), default=0)
        line = f"{feed.id:28} {found.state:8} until {iso(until) if until else 'never'}  {zones} {found.error}"
        yield line, found.state in ("late", "down") or found.unknown_member
