"""Publish the catalogue, from which the API learns zones, feeds, licences and periods of the stored data.

It is built from the SOURCES values that the caller passes, so a new source reaches the API without a redeploy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from warehouse.documents import manifest
from warehouse.documents.catalogue_entries import (
    CarryingFeed,
    CatalogueFeed,
    CatalogueSeries,
    CatalogueSource,
    CatalogueZone,
    Filling,
    PublishedCatalogue,
)
from warehouse.documents.manifest_entries import Place, Summary
from warehouse.errors import DamagedFile
from warehouse.market import carbon
from warehouse.market.clock import DAY
from warehouse.market.feeds import Feed, Source, Terms, join_terms
from warehouse.market.field_types import Permission
from warehouse.market.metrics import define
from warehouse.market.vocabulary import Forecast, Metric, actual_of
from warehouse.market.zones import ZONES, Zone
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

SIMULATED_LICENCE = "none: simulated data"
SIMULATED_ATTRIBUTION = "SIMULATED, not market data"


_ASKED_AGAIN_DAYS = 10
"""The age in days up to which the schedule requests gaps again."""
_YEARLY_DAYS = 2 * 366
"""The age in days up to which yearly values are requested: until the end of the following year."""
SILENT_S = 14 * DAY
"""The seconds without data after which the catalogue names a border, if other borders of its zone report."""


def withheld(sources: Mapping[str, Source], rights: Collection[str], mode: str) -> frozenset[str]:
    """Return the IDs of the feeds whose rows are never served: their publishers require written permission."""
    if mode == "simulated":
        return frozenset()
    return frozenset(
        f.id for s in sources.values() if s.code not in rights for f in s.feeds if s.withheld or f.withheld
    )


def ranks(sources: Mapping[str, Source], rights: Collection[str], mode: str) -> dict[str, int]:
    """Return the rank of every feed that may be served, by feed ID."""
    kept_out = withheld(sources, rights, mode)
    return {f.id: f.rank for s in sources.values() for f in s.feeds if f.id not in kept_out}


def terms(sources: Mapping[str, Source], mode: str) -> dict[str, Terms]:
    """Return the publisher and the terms of a source's rows in this mode, by source code."""
    if mode == "simulated":
        return {s.code: Terms(s.name, SIMULATED_LICENCE, SIMULATED_ATTRIBUTION) for s in sources.values()}
    return {s.code: Terms(s.name, f"{s.name}: {s.licence}", s.attribution) for s in sources.values()}


def publish(
    storage: Storage,
    sources: Mapping[str, Source],
    mode: str,
    rights: Collection[str],
    configured: Collection[str],
    generated: int,
    filling: Filling | UnsetType = UNSET,
) -> PublishedCatalogue:
    """Bring the manifest up to date, publish the catalogue and return it.

    `configured` names the sources whose credentials are set. A zone's `metrics` have the metrics that it publishes (and
    `price_day_ahead` if it is a series of its own); its `forecasts` have those that a publisher forecasts. `filling` is
    the progress of a first fill.
    """
    version = artefact.new_version()
    feeds = [feed for source in sources.values() for feed in source.feeds]
    kept_out = withheld(sources, rights, mode)
    simulated = mode == "simulated"
    of_real = withheld(sources, () if simulated else rights, "live")
    offer = _Offer(sources, feeds, terms(sources, mode), simulated, kept_out, of_real)
    summaries = manifest.publish(storage, generated, lambda place: _final_after_days(feeds, *place))
    silent = _silent(summaries)
    document = PublishedCatalogue(
        generated=generated,
        mode=mode,
        zones={z: _zone(zone, offer, summaries, silent.get(z, [])) for z, zone in ZONES.items()},
        sources={s.code: _source(s, mode, s.code in configured, rights) for s in sources.values()},
        feeds={f.id: _feed(f, f.id in kept_out) for f in feeds},
        filling=filling,
    )
    artefact.put(storage, layout.CATALOGUE, artefact.encode(document), version)
    return document


class _Offer(NamedTuple):
    """The inputs of the entries of all zones."""

    sources: Mapping[str, Source]
    feeds: Collection[Feed]
    terms: Mapping[str, Terms]
    simulated: bool
    withheld: Collection[str]
    withheld_of_real: Collection[str]
    """Simulated rows are not withheld, but show which real rows would be redistributed."""


def _final_after_days(feeds: Collection[Feed], metric: str, zone: str) -> int:
    """Return how many days after its end a month is no longer requested by any schedule."""
    asked = [
        _YEARLY_DAYS if feed.yearly else max(feed.revised_days, _ASKED_AGAIN_DAYS)
        for feed in feeds
        if zone in feed.zones and feed.carries(metric)
    ]
    return max(asked, default=_ASKED_AGAIN_DAYS) + 1


def _silent(summaries: Mapping[Place, Summary]) -> dict[str, list[str]]:
    """Return, by zone, the neighbours without data for SILENT_S while other borders of the zone report."""
    last: dict[str, dict[str, int]] = {}
    for (_, zone), summary in summaries.items():
        known = last.setdefault(zone, {})
        for name, ts in summary.borders.items():
            known[name] = max(ts, known.get(name, 0))
    return {
        zone: sorted(name for name, ts in known.items() if ts <= max(known.values()) - SILENT_S)
        for zone, known in last.items()
        if known
    }


def _zone(zone: Zone, offer: _Offer, summaries: Mapping[Place, Summary], without_data: list[str]) -> CatalogueZone:
    metrics = [m for m in Metric if m in zone.stored_metrics]
    entries = {m.value: _series(zone, m, offer, summaries.get((m, zone.id))) for m in metrics}
    forecasts = {
        actual_of(m).value: _series(zone, m, offer, summaries.get((m, zone.id)))
        for m in Forecast
        if any(zone.id in feed.zones and feed.carries(m) for feed in offer.feeds)
    }
    if zone.carbon_metric not in (Metric.CARBON, Metric.CARBON_ESTIMATE):
        for part in (entries, forecasts):
            if (same := part.get(zone.carbon_metric)) is not None:
                part[Metric.CARBON.value] = replace(same, same_as=zone.carbon_metric.value)
    for stored in (Metric.CARBON, Metric.CARBON_ESTIMATE):
        if stored in entries:
            entries[stored] = replace(entries[stored], **zone.describe_carbon(stored))
    if Metric.INTERCHANGE in entries:
        entries[Metric.INTERCHANGE] = replace(entries[Metric.INTERCHANGE], borders_without_data=tuple(without_data))
    codes = {feed.source for series in entries.values() for feed in series.served_feeds}
    joined = join_terms(of for code, of in offer.terms.items() if code in codes)
    return CatalogueZone(
        id=zone.id,
        name=zone.name,
        source=joined.source,
        tz=zone.tz,
        market_tz=zone.market_tz,
        currency=zone.currency,
        license=joined.license,
        attribution=joined.attribution,
        headline=zone.headline,
        day_ahead=zone.day_ahead,
        day_ahead_metric=zone.day_ahead_metric,
        metrics=entries,
        forecasts=forecasts,
    )


def _series(zone: Zone, metric: Metric | Forecast, offer: _Offer, summary: Summary | None) -> CatalogueSeries:
    carrying = [f for f in offer.feeds if zone.id in f.zones and f.carries(metric)]
    carrying.sort(key=lambda f: (f.rank, f.id))
    open_sources = dict.fromkeys(f.source for f in carrying if f.id not in offer.withheld)
    joined = join_terms(map(offer.terms.__getitem__, open_sources))
    if metric == Metric.CARBON_ESTIMATE:
        joined = joined._replace(attribution=carbon.credit(joined.attribution))
    redistributable = {offer.sources[code].redistributable for code in open_sources}
    return CatalogueSeries(
        unit=define(metric).unit(zone),
        resolution=carrying[0].resolution if carrying else None,
        market={"price": zone.headline, "price_day_ahead": zone.day_ahead}.get(metric, ""),
        hub=next((f.hub for f in carrying if f.hub), ""),
        feeds=tuple(
            CarryingFeed(f.id, f.source, f.origin, f.rank, f.resolution, f.id in offer.withheld) for f in carrying
        ),
        independent_origins=len({f.origin for f in carrying if f.id not in offer.withheld_of_real}),
        **joined._asdict(),
        redistributable="yes" if offer.simulated else _least(redistributable),
        first=summary.first if summary else None,
        last=summary.last if summary else None,
        rows=summary.rows if summary else 0,
    )


def _least(words: Collection[Permission]) -> Permission:
    every: tuple[Permission, ...] = ("no", "unclear", "yes")
    return next((word for word in every if word in words), "no")


def _source(source: Source, mode: str, configured: bool, rights: Collection[str]) -> CatalogueSource:
    return CatalogueSource(
        code=source.code,
        name=source.name,
        homepage=source.homepage,
        license=SIMULATED_LICENCE if mode == "simulated" else source.licence,
        license_url=source.licence_url,
        attribution=SIMULATED_ATTRIBUTION if mode == "simulated" else source.attribution,
        redistributable=source.redistributable,
        withheld=source.withheld and source.code not in rights and mode != "simulated",
        configured=configured,
        required_env=source.required_env,
        notes=source.notes,
    )


def _feed(feed: Feed, is_withheld: bool) -> CatalogueFeed:
    of_feed = {name: getattr(feed, name) for name in CatalogueFeed.__struct_fields__ if name != "withheld"}
    return CatalogueFeed(**of_feed, withheld=is_withheld)


def load(storage: Storage) -> PublishedCatalogue | None:
    """Return the published catalogue, or None before the first start. Raises DamagedFile."""
    return artefact.load_as(storage, layout.CATALOGUE, PublishedCatalogue)


def note_filling(storage: Storage, filling: Filling) -> None:
    """State the progress of a first fill in the published catalogue, if there is one. Raises StorageError."""

    def note(published: PublishedCatalogue | None) -> PublishedCatalogue:
        if published is None:
            raise DamagedFile(layout.published(layout.CATALOGUE), "is not read, so the progress is not noted in it")
        return replace(published, filling=filling)

    if storage.stat(layout.published(layout.CATALOGUE)) is not None:
        artefact.update(storage, layout.CATALOGUE, PublishedCatalogue, note)
