"""Build the bodies of `latest`, `brief` and `snapshot` as plain dicts. They contain only absolute times, never ages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assets.documents.figures import Figure, ZoneFigures
from assets.documents.summary import headline, summary
from warehouse.documents.catalogue_entries import CatalogueZone
from warehouse.documents.present import CurrentValue, GenerationMix, MetricValue
from warehouse.figures.context import METHOD, WINDOW_DAYS, coverage_note
from warehouse.market import carbon
from warehouse.market.metric_definition import CurrentMix
from warehouse.market.metrics import MIXES
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES


def latest(of_zone: ZoneFigures, now: int) -> dict[str, Any]:
    """Return the newest value of every scalar metric whose interval has started, and the zone's published mixes."""
    body: dict[str, Any] = {
        "zone": of_zone.zone.id,
        "metrics": {m: _latest_value(f) for m, f in of_zone.figures.items()},
        **_carbon_members(of_zone),
    }
    for metric, mix in of_zone.mixes.items():
        words = MIXES[metric]
        body |= {words.member: mix} if words.is_awaited else _mix_members(words, mix)
    return body | {
        "attribution": _attribution(of_zone),
        "license": of_zone.zone.license,
        "updated": now,
        "valid_until": of_zone.valid_until,
    }


def brief(of_zone: ZoneFigures, now: int, simulated: bool) -> dict[str, Any]:
    """Return the zone's current values ranked within its last 30 days, the 24-hour trend, and a text of both."""
    readings = {m: f.reading for m, f in of_zone.figures.items()}
    missing = {metric: reason for metric, reason in of_zone.missing.items() if metric not in MIXES}
    parts, rounded = summary(of_zone, now, simulated)
    context = {m: r.context for m, r in readings.items() if r.context is not None}
    omitted = {m: r.context_omitted for m, r in readings.items() if r.context is None} | missing
    return {
        "zone": of_zone.zone.id,
        "zone_name": of_zone.zone.name,
        "as_of": now,
        "current": {m: _value(f) for m, f in of_zone.figures.items()},
        "context": context,
        "context_omitted": omitted,
        "context_window_requested_days": WINDOW_DAYS,
        "trend_24h": {m: r.trend for m, r in readings.items() if r.trend is not None},
        "trend_omitted": {m: r.trend_omitted for m, r in readings.items() if r.trend is None} | missing,
        **_carbon_members(of_zone),
        **_brief_mixes(of_zone),
        "headline": headline(of_zone, now, simulated)[0],
        "summary": " ".join(parts.values()),
        "summary_parts": parts,
        "summary_figures": rounded,
        "coverage_note": coverage_note(context, omitted),
        "method": METHOD,
        "docs": "/docs/brief",
        "attribution": _attribution(of_zone),
        "license": of_zone.zone.license,
        "valid_until": of_zone.valid_until,
    }


def member(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a latest document as a snapshot contains it."""
    return {part: value for part, value in body.items() if part != "zone"}


def snapshot(members: Mapping[str, Mapping[str, Any]], zones: Mapping[str, CatalogueZone], now: int) -> dict[str, Any]:
    """Return every zone's latest values in one document. `zones` are the catalogue's. A zone without rows has no
    metrics.

    `generated` is never older than the newest `updated` in the document. `members` has at least one member.
    """
    generated = max(now, *(m["updated"] for m in members.values()))
    every = {z: members.get(z) or _silent(entry, generated) for z, entry in zones.items()}
    return {"generated": generated, "valid_until": min(m["valid_until"] for m in members.values()), "zones": every}


def _silent(zone: CatalogueZone, generated: int) -> dict[str, Any]:
    return {"metrics": {}, "attribution": zone.attribution, "license": zone.license, "updated": generated}


def _value(figure: Figure) -> CurrentValue:
    value = figure.reading.value + 0.0  # publishers also write -0.00, which is 0
    return CurrentValue(value, figure.unit, figure.reading.ts, figure.resolution, figure.source, figure.expected_by)


def _latest_value(figure: Figure) -> MetricValue:
    of, context = _value(figure), figure.reading.context
    rank = context.percentile if context else None
    return MetricValue(of.value, of.unit, of.ts, of.resolution, of.source, of.expected_by, rank)


def _attribution(of_zone: ZoneFigures) -> str:
    """Return the zone's attribution, with that of the set of factors if its carbon intensity is an estimate."""
    figure, attribution = of_zone.figures.get(Metric.CARBON), of_zone.zone.attribution
    return carbon.credit(attribution) if figure and figure.stored is Metric.CARBON_ESTIMATE else attribution


def _carbon_members(of_zone: ZoneFigures) -> dict[str, Any]:
    """Return whether `carbon` is published or estimated, or why it is left out."""
    if (figure := of_zone.figures.get(Metric.CARBON)) is not None:
        return {"carbon_basis": ZONES[of_zone.zone.id].describe_carbon(figure.stored)["basis"]}
    return {"carbon_omitted": of_zone.carbon_omitted} if of_zone.carbon_omitted else {}


def _brief_mixes(of_zone: ZoneFigures) -> dict[str, Any]:
    """Return the fields of the mixes. An awaited mix always has the first two; if the zone publishes it but
    it has no value, the reason is added.
    """
    body: dict[str, Any] = {}
    for metric, words in MIXES.items():
        if (mix := of_zone.mixes.get(metric)) is not None:
            body |= _mix_members(words, mix)
            body |= {f"{words.member}_expected_by": mix.expected_by} if words.is_awaited else {}
        elif words.is_awaited:
            body |= {words.member: {}, f"{words.member}_unit": ""}
            body |= {f"{words.member}_omitted": of_zone.missing[metric]} if metric in of_zone.missing else {}
    return body


def _mix_members(words: CurrentMix, mix: GenerationMix) -> dict[str, Any]:
    return {words.member: dict(mix.fuels), f"{words.member}_unit": mix.unit, f"{words.member}_ts": mix.ts}
