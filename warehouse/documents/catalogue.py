"""What we hold, whose it is, and how fresh: the document from which the API learns zones, feeds, licences and spans.

`describe` builds it from the SOURCES values that the caller hands in; a new source reaches the API without a redeploy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from warehouse.documents import manifest
from warehouse.documents.manifest import Place, Summary
from warehouse.market.clock import DAY
from warehouse.market.market import Feed, Source, Terms, join_terms
from warehouse.market.metrics import Forecast, Metric, actual_of, define
from warehouse.market.zones import ZONES
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage

SIMULATED_LICENCE = "none: simulated data"
SIMULATED_ATTRIBUTION = "SIMULATED, not market data"


_ASKED_AGAIN_DAYS = 10
"""Holes of so many days are asked for again by schedule."""
_YEARLY_DAYS = 2 * 366
"""Yearly figures are asked for until the end of the year after."""
SILENT_S = 14 * DAY
"""How long a border has been silent, while others of its zone report, when the catalogue names it."""


def withheld(sources: Mapping[str, Source], rights: Collection[str], mode: str) -> frozenset[str]:
    """Ids of the feeds whose rows stay out of every answer: their publisher wants written permission."""
    if mode == "simulated":
        return frozenset()
    return frozenset(
        f.id for s in sources.values() if s.code not in rights for f in s.feeds if s.withheld or f.withheld
    )


def ranks(sources: Mapping[str, Source], rights: Collection[str], mode: str) -> dict[str, int]:
    """Feed id -> rank of every feed that may be served."""
    kept_out = withheld(sources, rights, mode)
    return {f.id: f.rank for s in sources.values() for f in s.feeds if f.id not in kept_out}


def terms(sources: Mapping[str, Source], mode: str) -> dict[str, Terms]:
    """Source code -> whose figures its rows are in this mode, and on what terms."""
    if mode == "simulated":
        return {s.code: Terms(s.name, SIMULATED_LICENCE, SIMULATED_ATTRIBUTION) for s in sources.values()}
    return {s.code: Terms(s.name, f"{s.name}: {s.licence}", s.attribution) for s in sources.values()}


def describe(
    summaries: Mapping[Place, Summary],
    sources: Mapping[str, Source],
    mode: str,
    rights: Collection[str],
    configured: Collection[str],
    generated: int,
) -> dict[str, Any]:
    """The catalogue document. `configured` names the sources whose credentials are set.

    {generated, mode, zones: {id: zone}, sources: {code: source}, feeds: {id: feed}}; a zone's `metrics` maps a metric
    that it publishes (and `price_day_ahead` where it is a series of its own) to {unit, resolution, market, feeds in
    rank order, source, license, attribution, redistributable, first, last, rows}; its `forecasts` map a metric that a
    publisher forecasts to the same.
    """
    kept_out = withheld(sources, rights, mode)
    silent = _silent(summaries)
    return {
        "generated": generated,
        "mode": mode,
        "zones": {z: _zone(z, sources, mode, kept_out, summaries, silent.get(z, [])) for z in ZONES},
        "sources": {s.code: _source(s, mode, s.code in configured, rights) for s in sources.values()},
        "feeds": {f.id: _feed(f, f.id in kept_out) for s in sources.values() for f in s.feeds},
    }


def publish(
    storage: Storage,
    sources: Mapping[str, Source],
    mode: str,
    rights: Collection[str],
    configured: Collection[str],
    generated: int,
) -> dict[str, Any]:
    """Brings the manifest up to date, describes what is held and puts the catalogue in place; returns it."""
    version = artefact.new_version()
    feeds = [feed for source in sources.values() for feed in source.feeds]
    summaries = manifest.publish(storage, generated, lambda place: _final_after_days(feeds, *place))
    document = describe(summaries, sources, mode, rights, configured, generated)
    artefact.put(storage, layout.CATALOGUE, artefact.encode(document), version)
    return document


def _final_after_days(feeds: Collection[Feed], metric: str, zone: str) -> int:
    """So many days after its end no schedule asks a publisher about a month any more."""
    asked = [
        _YEARLY_DAYS if feed.yearly else max(feed.revised_days, _ASKED_AGAIN_DAYS)
        for feed in feeds
        if zone in feed.zones and feed.carries(metric)
    ]
    return max(asked, default=_ASKED_AGAIN_DAYS) + 1


def _silent(summaries: Mapping[Place, Summary]) -> dict[str, list[str]]:
    """Zone -> the neighbours that have been silent for SILENT_S while other borders of the zone report."""
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


def _zone(
    zone_id: str,
    sources: Mapping[str, Source],
    mode: str,
    kept_out: Collection[str],
    summaries: Mapping[Place, Summary],
    silent: list[str],
) -> dict[str, Any]:
    zone = ZONES[zone_id]
    metrics = [m for m in Metric if m in zone.metrics or (m is Metric.PRICE_DAY_AHEAD and zone.day_ahead_metric is m)]
    entries = {m.value: _entry(zone_id, m, sources, mode, kept_out, summaries.get((m, zone_id))) for m in metrics}
    forecasts = {
        actual_of(m).value: _entry(zone_id, m, sources, mode, kept_out, summaries.get((m, zone_id)))
        for m in Forecast
        if any(zone_id in feed.zones and feed.carries(m) for s in sources.values() for feed in s.feeds)
    }
    if Metric.INTERCHANGE in entries:
        entries[Metric.INTERCHANGE]["silent_borders"] = silent
    codes = {f["source"] for e in entries.values() for f in e["feeds"] if not f["withheld"]}
    joined = join_terms(of for code, of in terms(sources, mode).items() if code in codes)
    return {
        "id": zone.id,
        "name": zone.name,
        "source": joined.source,
        "tz": zone.tz,
        "market_tz": zone.market_tz,
        "currency": zone.currency,
        "license": joined.license,
        "attribution": joined.attribution,
        "headline": zone.headline,
        "day_ahead": zone.day_ahead,
        "day_ahead_metric": zone.day_ahead_metric.value if zone.day_ahead_metric else None,
        "metrics": entries,
        "forecasts": forecasts,
    }


def _entry(
    zone_id: str,
    metric: Metric | Forecast,
    sources: Mapping[str, Source],
    mode: str,
    kept_out: Collection[str],
    summary: Summary | None,
) -> dict[str, Any]:
    every = (f for s in sources.values() for f in s.feeds)
    carrying = sorted((f for f in every if zone_id in f.zones and f.carries(metric)), key=lambda f: (f.rank, f.id))
    open_sources = [sources[code] for code in dict.fromkeys(f.source for f in carrying if f.id not in kept_out)]
    joined = join_terms(map(terms(sources, mode).__getitem__, (s.code for s in open_sources)))
    # Simulated rows are not withheld, but show what would be passed on of real ones.
    by_terms = withheld(sources, (), "live") if mode == "simulated" else kept_out
    zone = ZONES[zone_id]
    price = {"price": zone.headline, "price_day_ahead": zone.day_ahead}.get(metric, "")
    return {
        "unit": define(metric).unit(zone),
        "resolution": carrying[0].resolution if carrying else None,
        "market": price,
        "hub": next((f.hub for f in carrying if f.hub), ""),
        "feeds": [
            {
                "id": f.id,
                "source": f.source,
                "origin": f.first_source,
                "rank": f.rank,
                "resolution": f.resolution,
                "withheld": f.id in kept_out,
            }
            for f in carrying
        ],
        "independent_origins": len({f.first_source for f in carrying if f.id not in by_terms}),
        "source": joined.source,
        "license": joined.license,
        "attribution": joined.attribution,
        "redistributable": "yes" if mode == "simulated" else _least({s.redistributable for s in open_sources}),
        "first": summary and summary.first,
        "last": summary and summary.last,
        "rows": summary.rows if summary else 0,
    }


def _least(words: Collection[str]) -> str:
    return next((w for w in ("no", "unclear", "yes") if w in words), "no")


def _source(source: Source, mode: str, configured: bool, rights: Collection[str]) -> dict[str, Any]:
    return {
        "code": source.code,
        "name": source.name,
        "homepage": source.homepage,
        "license": SIMULATED_LICENCE if mode == "simulated" else source.licence,
        "license_url": source.licence_url,
        "attribution": SIMULATED_ATTRIBUTION if mode == "simulated" else source.attribution,
        "redistributable": source.redistributable,
        "withheld": source.withheld and source.code not in rights and mode != "simulated",
        "configured": configured,
        "required_env": list(source.required_env),
        "notes": list(source.notes),
    }


def _feed(feed: Feed, is_withheld: bool) -> dict[str, Any]:
    out = feed.publication
    return {
        "id": feed.id,
        "source": feed.source,
        "title": feed.title,
        "zones": list(feed.zones),
        "metrics": [m.value for m in feed.metrics],
        "rank": feed.rank,
        "resolution": feed.resolution,
        "tz": feed.tz,
        "every_minutes": feed.every_minutes,
        "since": feed.since.isoformat(),
        "ahead_days": feed.ahead_days,
        "reach_days": feed.reach_days,
        "hub": feed.hub,
        "withheld": is_withheld,
        "yearly": feed.yearly,
        "publication": {
            "lag_minutes": out.lag_minutes,
            "daily_at": out.daily_at.isoformat() if out.daily_at else None,
            "day_offset": out.day_offset,
            "grace_minutes": out.grace_minutes,
        },
    }


def load(storage: Storage) -> dict[str, Any] | None:
    """The published catalogue, or None before the first start."""
    catalogue: dict[str, Any] | None = artefact.load(storage, layout.CATALOGUE)
    return catalogue
