"""The manifest of `/v1/bulk`, and what may leave of a month file: every row's source decides, by the rights of now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from api.documents.cache import Document, DocumentCache
from api.documents.catalogue import Catalogue
from warehouse import clock, layout
from warehouse.market import Metric
from warehouse.zones import ZONES

METRICS: dict[str, Metric] = {metric.value.replace("_", "-"): metric for metric in Metric}
"""As the paths spell them: `price-day-ahead`, `carbon-intensity`."""
_SAID = ("zone", "metric", "month", "rows", "first", "last", "bytes", "sha256", "sources")


def path_of(metric: str, zone: str, month: str) -> str:
    """The path of a month file; `metric` as it is stored."""
    return f"/v1/bulk/{metric.replace('_', '-')}/{zone}/{month}.parquet"


def month_of(metric: str, first: int, month: str) -> str:
    """The month under which a file is listed; `first`: its first `ts`, `month`: the UTC month in which it lies.

    A year of capacity begins with January, which begins in December of UTC east of Greenwich.
    """
    return clock.month_of(first + clock.DAY) if metric == Metric.CAPACITY else month


def stored_month(metric: str, zone: str, month: str) -> str:
    """The UTC month of the file that is listed under a month: the other way round."""
    if metric != Metric.CAPACITY:
        return month
    return clock.month_of(clock.local_midnight(date.fromisoformat(f"{month}-01"), ZONES[zone].tz))


def withheld(catalogue: Catalogue, sources: Iterable[str]) -> tuple[str, ...]:
    """Those of the sources whose rows may not leave; one that nobody knows may not either."""
    return tuple(s for s in sorted(sources) if catalogue.sources.get(s, {"withheld": True})["withheld"])


@dataclass(frozen=True, slots=True)
class PublicPlace:
    """Where month files lie for all without a key, by hash."""

    url: str
    sha256: frozenset[str]

    @classmethod
    def of(cls, documents: DocumentCache, url: str) -> PublicPlace | None:
        """What was put there last; None where the owner named no address, or nothing was put."""
        noted = documents.get(layout.PUBLIC_MONTHS) if url else None
        return None if noted is None else cls(url, frozenset(noted.json["sha256"]))


def manifest(
    document: Document, catalogue: Catalogue, base_url: str, now: int, public: PublicPlace | None = None
) -> dict[str, Any]:
    """{as_of, count, files}: every month file that may be passed on, as of the document's publication."""
    stated = document.json
    open_to_all = [e for e in stated["files"] if not withheld(catalogue, e["sources"])]
    files = [_entry(e, catalogue, base_url, now, public) for e in open_to_all]
    return {"as_of": stated["as_of"], "docs": "/docs/bulk", "count": len(files), "files": files}


def _entry(
    entry: Mapping[str, Any], catalogue: Catalogue, base_url: str, now: int, public: PublicPlace | None
) -> dict[str, Any]:
    terms = catalogue.terms(entry["zone"], entry["metric"], frozenset(entry["sources"]))
    month = month_of(entry["metric"], entry["first"], entry["month"])
    url = base_url + path_of(entry["metric"], entry["zone"], month)
    if public is not None and entry["sha256"] in public.sha256:
        url = f"{public.url}/objects/{entry['sha256']}.parquet"
    return {
        **{name: entry[name] for name in _SAID},
        "month": month,
        "url": url,
        "license": terms.license,
        "attribution": terms.attribution,
        "final": now >= entry["final_at"],
    }


def selected(
    whole: Mapping[str, Any], zones: Collection[str] | None, metrics: Collection[str] | None
) -> dict[str, Any]:
    """The manifest's files of some zones and metrics (as paths spell them), None for all."""
    stored = None if metrics is None else {METRICS[metric].value for metric in metrics}
    files = [
        file
        for file in whole["files"]
        if (zones is None or file["zone"] in zones) and (stored is None or file["metric"] in stored)
    ]
    return {**whole, "count": len(files), "files": files}
