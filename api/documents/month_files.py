"""The month files that may be passed on: what is in each, whose rows they are, their addresses, their bytes.

Every row's feed decides what may leave, by the rights of now.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from api.documents.catalogue import Catalogue, DocumentCache, sources_of
from warehouse.caches import LruCache
from warehouse.documents.manifest import summaries_of
from warehouse.market import clock
from warehouse.market.metrics import YEARLY, Metric, is_forecast
from warehouse.market.zones import ZONES
from warehouse.series import monthfile
from warehouse.store import layout
from warehouse.store.storage import Storage

METRICS: dict[str, Metric] = {metric.value.replace("_", "-"): metric for metric in Metric}
"""As the paths spell them: `price-day-ahead`, `carbon-intensity`."""
_MEMBERS = ("rows", "first", "last", "bytes", "sha256", "changed_at")


def list_files(
    documents: DocumentCache, catalogue: Catalogue, base_url: str, now: int, public: Mapping[str, str]
) -> dict[str, Any]:
    """{as_of, docs, count, files}: the month files of readings that may be passed on, by metric, zone and month.

    `public`: by SHA-256 the public address below which a file lies. Raises Problem 503 before the first publication.
    """
    manifest = documents.require(layout.MANIFEST).json
    files = []
    for (metric, zone), summary in summaries_of(manifest).items():
        part = None if is_forecast(metric) else documents.get(layout.manifest(metric, zone))
        for month, stored in sorted(part.json["months"].items()) if part else ():
            if not stored["rows"] or withheld(catalogue, stored["feeds"]):
                continue
            # A year begins with January, which begins in December of UTC east of Greenwich.
            label = clock.month_of(stored["first"] + clock.DAY) if metric in YEARLY else month
            file = {"zone": zone, "metric": metric, "month": label, **{name: stored[name] for name in _MEMBERS}}
            path = f"/v1/bulk/{metric.replace('_', '-')}/{zone}/{label}.parquet"
            address = public.get(file["sha256"])
            sources = sources_of(stored["feeds"])
            final_at = clock.month_window(month).end + summary.final_after_days * clock.DAY
            file |= {
                "sources": sorted(sources),
                "url": f"{address}/{public_key(file)}" if address else base_url + path,
                **catalogue.terms(zone, metric, sources),
                "final": now >= final_at,
            }
            files.append(file)
    return {"as_of": manifest["as_of"], "docs": "/docs/bulk", "count": len(files), "files": files}


def stored_month(metric: str, zone: str, month: str) -> str:
    """The UTC month of the file that is listed under a month."""
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
