"""Read the newest value and the surrounding hours for an image of a zone, from the free documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from api.documents.catalogue_reader import Catalogue
from api.documents.document_cache import DocumentCache
from api.http.document import Document
from warehouse.errors import Withheld
from warehouse.market.clock import HOUR, utc
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import zone
from warehouse.store import layout

TITLES: Mapping[Metric, str] = {
    Metric.PRICE: "Wholesale price",
    Metric.DEMAND: "Demand",
    Metric.CARBON: "Carbon intensity",
}
"""The metrics that have images, with their titles."""
_AHEAD_NOTES = {"forecast": "expected by the operator", "day_ahead": "day-ahead auction"}
_NO_VALUE = "This value is not available now."
_WITHHELD = "The terms of the publisher do not allow this service to show it."


@dataclass(frozen=True, slots=True)
class Hours:
    """Hourly means from `start`, None for an hour without a mean."""

    start: int
    values: Sequence[int | None]

    def since(self, start: int) -> list[tuple[int, int | None]]:
        """Return the pairs (hour, value) at and after `start` (Unix seconds)."""
        pairs = ((self.start + HOUR * place, value) for place, value in enumerate(self.values))
        return [(ts, value) for ts, value in pairs if ts >= start]


@dataclass(frozen=True, slots=True)
class ZoneFigure:
    """A zone's rounded value of a metric, or the reason why it is missing. Times are Unix seconds."""

    zone: str
    name: str
    metric: Metric
    title: str
    tz: ZoneInfo
    attribution: str
    license: str
    reason: str
    simulated: bool
    now: int = 0
    """When the documents were published."""
    value: int | None = None
    unit: str = ""
    ts: int = 0
    expected_by: int | None = None
    hours: Hours | None = None
    ahead: Hours | None = None
    """Future values of another series: a forecast, or the auction of a zone with a real-time price."""
    ahead_note: str = ""
    """A description of `ahead`."""

    @property
    def quantity(self) -> str:
        """Return the value with its unit, such as `−12 EUR/MWh`."""
        return f"{number(self.value or 0)} {self.unit.replace('gCO2', 'gCO₂')}"

    @property
    def when(self) -> str:
        """Return the start of the value's interval in the zone's civil time."""
        return f"{utc(self.ts).astimezone(self.tz):%-d %b %H:%M %Z}"

    @property
    def sentence(self) -> str:
        """Return a sentence with the value or the reason, for the title of the image."""
        what = self.reason if self.value is None else f"{self.quantity} at {self.when}."
        return f"{self.title} of {self.name}: {what}"


def number(value: int) -> str:
    """Return a number with grouped digits and a true minus sign."""
    return f"{value:,}".replace("-", "−")


def read(documents: DocumentCache, zone_id: str, metric: Metric) -> ZoneFigure:
    """Return a zone's current value of a metric. Raises NoCatalogue before the first publication."""
    catalogue, market = documents.catalogue, zone(zone_id)
    stored = market.carbon_metric if metric is Metric.CARBON else metric
    own, history = _properties(documents.get(layout.LIVE), zone_id), documents.get(layout.live_history(zone_id))
    reason = _refusal(catalogue, zone_id, stored, metric)
    if not reason and (history is None or own.get(metric) is None):
        reason = _NO_VALUE
    is_estimate = metric is Metric.CARBON and own.get("carbon_basis") == "estimate"
    figure = ZoneFigure(
        zone=zone_id,
        name=market.name,
        metric=metric,
        title=f"{TITLES[metric]}{', estimated' if is_estimate else ''}",
        tz=ZoneInfo(market.tz),
        reason=reason,
        simulated=catalogue.simulated,
        **_terms(catalogue, zone_id, [stored]),
    )
    if reason or history is None:
        return figure
    series: Mapping[str, Any] | None = history.json["metrics"].get(metric)
    if series is None:
        return replace(figure, reason=_NO_VALUE)
    newest = {name: own[f"{metric}_{name}"] for name in ("unit", "ts", "expected_by")}
    figure = replace(figure, value=own[metric], now=history.json["generated"], hours=_hours(series["hours"]), **newest)
    ahead = {"forecast": f"{stored}_forecast", "day_ahead": market.day_ahead_metric}
    for name, of_ahead in ahead.items():
        if of_ahead and series.get(name):
            terms = _terms(catalogue, zone_id, [stored, of_ahead])
            return replace(figure, ahead=_hours(series[name]), ahead_note=_AHEAD_NOTES[name], **terms)
    return figure


def _hours(means: Mapping[str, Any]) -> Hours:
    return Hours(means["start"], means["values"])


def _terms(catalogue: Catalogue, zone_id: str, stored: Iterable[str]) -> dict[str, Any]:
    """Return {license, attribution} of some series, without repeated texts."""
    terms = [catalogue.terms(zone_id, series, frozenset()) for series in stored]
    return {name: "; ".join(dict.fromkeys(of[name] for of in terms if of[name])) for name in ("license", "attribution")}


def _refusal(catalogue: Catalogue, zone_id: str, stored: str, metric: Metric) -> str:
    try:
        catalogue.require_rights(zone_id, stored, metric)
    except Withheld:
        return _WITHHELD
    return ""


def _properties(live: Document | None, zone_id: str) -> Mapping[str, Any]:
    """Return a zone's properties in the map's document, empty if it has none."""

    def index(document: Document) -> dict[str, Any]:
        return {feature["id"]: feature["properties"] for feature in document.json["features"]}

    of_zones: Mapping[str, Any] = {} if live is None else live.derive("properties by zone", index)
    own: Mapping[str, Any] = of_zones.get(zone_id, {})
    return own
