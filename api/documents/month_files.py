"""The month files that may be passed on: what is in each, whose rows they are, their addresses, their bytes.

Every row's feed decides what may leave, by the rights of now.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from api.documents.catalogue import Catalogue, Document, DocumentCache, sources_of
from warehouse.caches import LruCache
from warehouse.documents.manifest import Place, Summary, summaries_of
from warehouse.market import clock
from warehouse.market.metrics import YEARLY, Metric, is_forecast
from warehouse.market.zones import ZONES
from warehouse.series import monthfile
from warehouse.store import layout
from warehouse.store.storage import Storage

METRICS: dict[str, Metric] = {metric.value.replace("_", "-"): metric for metric in Metric}
"""As the paths spell them: `price-day-ahead`, `carbon-intensity`."""
_MEMBERS = ("zone", "metric", "month", "rows", "first", "last", "bytes", "sha256", "changed_at", "sources")


def list_files(
    documents: DocumentCache, document: Document, cache: LruCache, catalogue: Catalogue
) -> list[Mapping[str, Any]]:
    """The entry of every month file of readings that may be passed on, in the order of metric, zone and month."""
    return [
        entry
        for place, summary in summaries_of(document.json).items()
        if not is_forecast(place[0])
        for entry in cache.get(
            ("manifest", place, summary.mark or document.identity), partial(_months_of, documents, place, summary)
        )
        if not withheld(catalogue, entry["feeds"])
    ]


def _months_of(documents: DocumentCache, place: Place, summary: Summary) -> tuple[list[Mapping[str, Any]], int]:
    """The entries of one metric and zone, and their size in memory."""
    part = documents.get(layout.manifest(*place))
    if part is None:
        return [], 100
    metric, zone = place
    entries: list[Mapping[str, Any]] = [
        {
            "zone": zone,
            "metric": metric,
            "month": month,
            "final_at": clock.month_window(month).end + summary.final_after_days * clock.DAY,
            **{name: entry[name] for name in ("rows", "first", "last", "bytes", "sha256", "changed_at", "feeds")},
            "sources": sorted(sources_of(entry["feeds"])),
        }
        for month, entry in sorted(part.json["months"].items())
        if entry["rows"]
    ]
    return entries, 1000 * len(entries) + 100


def manifest(
    document: Document,
    months: Iterable[Mapping[str, Any]],
    catalogue: Catalogue,
    base_url: str,
    now: int,
    public: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """{as_of, count, files}: the listed month files, as of the document's publication.

    `public`: by SHA-256 the public address below which a file lies.
    """
    files = [file_entry(e, catalogue, base_url, now, (public or {}).get(e["sha256"], "")) for e in months]
    return {"as_of": document.json["as_of"], "docs": "/docs/bulk", "count": len(files), "files": files}


def file_entry(
    entry: Mapping[str, Any], catalogue: Catalogue, base_url: str, now: int, public_url: str = ""
) -> dict[str, Any]:
    """Return what the list says of a month file."""
    terms = catalogue.terms(entry["zone"], entry["metric"], frozenset(entry["sources"]))
    month = month_of(entry["metric"], entry["first"], entry["month"])
    members = {**{name: entry[name] for name in _MEMBERS}, "month": month}
    path = f"/v1/bulk/{entry['metric'].replace('_', '-')}/{entry['zone']}/{month}.parquet"
    return {
        **members,
        "url": f"{public_url}/{public_key(members)}" if public_url else base_url + path,
        "license": terms.license,
        "attribution": terms.attribution,
        "final": now >= entry["final_at"],
    }


def month_of(metric: str, first: int, month: str) -> str:
    """Return the month under which a file is listed; `first`: its first `ts`, `month`: its UTC month.

    A year begins with January, which begins in December of UTC east of Greenwich.
    """
    return clock.month_of(first + clock.DAY) if metric in YEARLY else month


def stored_month(metric: str, zone: str, month: str) -> str:
    """The UTC month of the file that is listed under a month: the other way round."""
    if metric not in YEARLY:
        return month
    return clock.month_of(clock.local_midnight(date.fromisoformat(f"{month}-01"), ZONES[zone].tz))


def public_key(entry: Mapping[str, Any]) -> str:
    """Return the key of a listed file below the public address: these bytes, and never others, lie there.

    It begins with Hive partitions, as in a warehouse.
    """
    prefix = layout.series_prefix(entry["metric"], entry["zone"])
    return f"{prefix}{entry['month']}.{entry['sha256'][:8]}.parquet"


def withheld(catalogue: Catalogue, feeds: Iterable[str]) -> tuple[str, ...]:
    """Return the sources of those feeds whose rows may not be passed on; an unknown source may not."""
    unknown = {"withheld": True}
    shut = (
        feed
        for feed in sorted(feeds)
        if (catalogue.feeds.get(feed) or catalogue.sources.get(feed.partition(".")[0], unknown))["withheld"]
    )
    return tuple(dict.fromkeys(feed.partition(".")[0] for feed in shut))


class MonthBytes(NamedTuple):
    """A month file's bytes, all of one moment."""

    body: bytes
    sha256: str
    feeds: frozenset[str]
    """Ids of the feeds of its rows."""


def read(storage: Storage, cache: LruCache, metric: str, zone: str, month: str) -> MonthBytes | None:
    """Read a month file through the cache; None where there is none. Raises DamagedFile and StorageError."""
    key = layout.series(metric, zone, month)
    identity = storage.stat(key)

    def load() -> tuple[MonthBytes | None, int]:
        body = monthfile.whole(storage, key)
        if body is None:
            return None, 100
        feeds = pq.ParquetFile(io.BytesIO(body)).read(columns=["feed"], use_threads=False).column("feed").unique()
        return MonthBytes(body, hashlib.sha256(body).hexdigest(), frozenset(feeds.to_pylist())), len(body) + 500

    return None if identity is None else cache.get(("month file", key, identity), load)
