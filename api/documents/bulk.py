"""Serve `/v1/bulk`: the list of the monthly files that may be redistributed, its descriptions, and the files.

A file is served whole or by ranges. The current redistribution permissions of the feed of every row decide whether it
is served.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from api.access.keys import invalid
from api.access.signed_addresses import SIGNED_S, sign
from api.access.values import NO_STORE
from api.documents import datasets
from api.documents.catalogue_reader import Catalogue, sources_of
from api.documents.document_cache import DocumentCache
from api.endpoints.query_parameters import METRICS, MONTH_PATTERN
from api.http import responses
from api.http.codings import tag_of
from api.http.document import Document
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.problems import Problem
from api.http.times import first_instant
from api.series.formats import MEDIA
from api.series.query import SAMPLE_ROWS
from api.service import Service
from warehouse.caches import LruCache
from warehouse.documents.manifest_entries import CountedMonths, Manifest
from warehouse.errors import Withheld
from warehouse.market import clock
from warehouse.market.metrics import YEARLY
from warehouse.market.vocabulary import is_forecast
from warehouse.market.zones import ZONES
from warehouse.series import monthfile
from warehouse.store import layout
from warehouse.store.storage import Storage

_KEY_HEADERS = ("HTTP_AUTHORIZATION", "HTTP_X_API_KEY")
_BY_KEY = [("Vary", "Authorization, X-API-Key")]
_MEMBERS = ("rows", "first", "last", "bytes", "sha256", "changed_at")


def _list(service: Service, request: HttpRequest, query: QueryValues) -> Response:
    has_key = any(map(request.header, _KEY_HEADERS))
    with service.gate.enter(request) as entry:
        whole, simulated = _whole_list(service), service.documents.catalogue.simulated
        if not has_key and entry.method != "sample" and not any(query[name] for name in ("zone", "metric", "since")):
            return entry.document(whole, simulated).with_headers(_BY_KEY)
        body = selected(whole.json, query)
        if not has_key:
            return entry.json(body, simulated).with_headers(_BY_KEY)
        now, base = service.gate.now, service.settings.base_url
        usage, until = service.gate.require_key(request)[1], now + SIGNED_S
        # A rotated key still works for a day, but URLs are signed with its replacement.
        if (digest := service.gate.keys.current_digest(usage.key)) is None:
            raise invalid()
        files = [
            {**file, "url": f"{file['url']}?signature={sign(path, usage.key, digest, until)}"}
            if (path := file["url"].removeprefix(base)).startswith("/")
            else file
            for file in body["files"]
        ]
        signed = entry.json({**body, "signed_until": until, "files": files}, simulated, caching=[NO_STORE])
        return replace(signed, headers=[pair for pair in signed.headers if pair[0] != "ETag"])  # it is not cached


def _dataset(
    build: Callable[[Sequence[Mapping[str, Any]], int, Catalogue, str], dict[str, Any]],
    service: Service,
    request: HttpRequest,
    _query: QueryValues,
) -> Response:
    """Return a description of all files, computed once per list."""
    with service.gate.enter(request) as entry:
        whole, catalogue, base = _whole_list(service), service.documents.catalogue, service.settings.base_url
        described = whole.render(
            build.__name__, lambda: build(whole.json["files"], whole.json["as_of"], catalogue, base)
        )
        return entry.document(described, catalogue.simulated)


def _whole_list(service: Service) -> Document:
    """Return the list of all files, computed once per publication and once per day, because months become final."""
    documents, catalogue, settings = service.documents, service.documents.catalogue, service.settings
    public_months = documents.get(layout.PUBLIC_MONTHS) if settings.public_url else None
    now, identity = clock.now(), documents.require(layout.MANIFEST).identity
    key = f"bulk {identity} {public_months and public_months.identity} {now // clock.DAY}"

    def build() -> dict[str, Any]:
        public = dict.fromkeys(public_months.json["sha256"], settings.public_url) if public_months else {}
        return list_files(documents, catalogue, settings.base_url, now, public)

    return catalogue.document.render(key, build)


def _file(service: Service, request: HttpRequest, _query: QueryValues, metric: str, zone: str, month: str) -> Response:
    whole = require_file(service, metric, zone, month)
    catalogue = service.documents.catalogue
    counted_as = _counted_as(service, METRICS[metric].value, zone, month, whole)
    with service.gate.enter(request, "bulk-file", "parquet", counted_as) as entry:
        headers = [
            *responses.caching(entry.method),
            *responses.marks(catalogue.simulated),
            ("Content-Disposition", f'attachment; filename="{zone}_{metric}_{month}.parquet"'),
        ]
        body, tag = whole.body, whole.sha256
        if entry.method == "sample":
            body = sample(body)
            tag = tag_of(body)
        response = responses.file(request, body, tag, MEDIA["parquet"], headers)
        # Only complete responses are charged, so a paid response is always complete.
        return entry.settle(response if entry.method == "payment" else responses.ranged(request, response))


def _counted_as(service: Service, stored: str, zone: str, month: str, whole: MonthBytes) -> bytes:
    """Return the hash under which a file is counted once per key and day.

    The final files of a series and calendar year share a hash, so that years of history use little of the quota. Other
    files are counted by their content.
    """
    manifest = service.documents.get(layout.MANIFEST)
    summary = manifest and manifest.decode(Manifest).series.get(f"{stored}/{zone}")
    if summary and clock.now() >= _final_at(stored_month(stored, zone, month), summary.final_after_days):
        return hashlib.sha256(f"{stored}/{zone}/{month[:4]}".encode()).digest()
    return bytes.fromhex(whole.sha256)


def _final_at(month: str, final_after_days: int) -> int:
    """Return the time after which no schedule fetches a UTC month again, in Unix seconds."""
    return clock.month_window(month).end + final_after_days * clock.DAY


def require_file(service: Service, metric: str, zone: str, month: str) -> MonthBytes:
    """Return the monthly file behind a path. Raises MetricNotAvailable, Withheld and Problem 404."""
    catalogue, stored = service.documents.catalogue, METRICS[metric].value
    catalogue.require_carried(zone, stored, metric)
    catalogue.require_rights(zone, stored, metric)
    lies_in = stored_month(stored, zone, month) if re.fullmatch(MONTH_PATTERN, month) else ""
    whole = read_month_file(service.storage, service.answers, stored, zone, lies_in) if lies_in else None
    if whole is None:
        raise Problem("not-found", f"No monthly file {metric}/{zone}/{month[:20]}. For all files, see /v1/bulk.")
    if sources := withheld(catalogue, whole.feeds):
        raise Withheld(zone, metric, sources)
    return whole


def sample(body: bytes) -> bytes:
    """Return the newest rows of a monthly file as Parquet; the metadata marks the sample and keeps the terms."""
    file = pq.ParquetFile(io.BytesIO(body))
    table, footer = file.read(use_threads=False), file.metadata.metadata
    metadata = {name: text for name, text in footer.items() if name in (b"source", b"license", b"attribution")}
    newest = np.sort(np.argsort(table.column("ts").to_numpy(), kind="stable")[-SAMPLE_ROWS:])
    out = io.BytesIO()
    pq.write_table(
        table.take(pa.array(newest)).replace_schema_metadata({**metadata, b"sample": b"true"}), out, compression="zstd"
    )
    return out.getvalue()


def selected(whole: Mapping[str, Any], query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the list with the files of the given zones and metrics whose bytes changed at or after `since`."""
    zones, metrics, since = query["zone"], query["metric"], query["since"]
    stored = {METRICS[metric].value for metric in metrics or METRICS}
    at = first_instant("since", since, zones or ZONES, clock.now()) or 0
    files = [
        file
        for file in whole["files"]
        if (zones is None or file["zone"] in zones) and file["metric"] in stored and file["changed_at"] >= at
    ]
    return {**whole, "count": len(files), "files": files}


def list_files(
    documents: DocumentCache, catalogue: Catalogue, base_url: str, now: int, public: Mapping[str, str]
) -> dict[str, Any]:
    """Return {as_of, docs, count, files} for the actual values that may be redistributed, by metric, zone and month.

    `public` maps the SHA-256 of a file to the public URL under which it is stored. Raises Problem 503 before the first
    publication.
    """
    manifest = documents.require(layout.MANIFEST).decode(Manifest)
    files = []
    for (metric, zone), summary in manifest.summaries.items():
        part = None if is_forecast(metric) else documents.get(layout.manifest(metric, zone))
        for month, stored in sorted(part.decode(CountedMonths).months.items()) if part else ():
            if not stored.rows or stored.first is None or withheld(catalogue, stored.feeds):
                continue
            # East of Greenwich, January begins in December UTC.
            label = clock.month_of(stored.first + clock.DAY) if metric in YEARLY else month
            file = {
                "zone": zone,
                "metric": metric,
                "month": label,
                **{name: getattr(stored, name) for name in _MEMBERS},
            }
            path = f"/v1/bulk/{metric.replace('_', '-')}/{zone}/{label}.parquet"
            address = public.get(file["sha256"])
            sources = sources_of(stored.feeds)
            file |= {
                "sources": sorted(sources),
                "url": f"{address}/{public_key(file)}" if address else base_url + path,
                **catalogue.terms(zone, metric, sources),
                "final": now >= _final_at(month, summary.final_after_days),
            }
            files.append(file)
    return {"as_of": manifest.as_of, "docs": "/docs/bulk", "count": len(files), "files": files}


def stored_month(metric: str, zone: str, month: str) -> str:
    """Return the UTC month of the file that is listed under `month`."""
    if metric not in YEARLY:
        return month
    return clock.month_of(clock.local_midnight(date.fromisoformat(f"{month}-01"), ZONES[zone].tz))


def public_key(entry: Mapping[str, Any]) -> str:
    """Return the key of a listed file below the public URL, which always holds the same bytes.

    The key begins with Hive partitions, as in a warehouse.
    """
    prefix = layout.series_prefix(entry["metric"], entry["zone"])
    return f"{prefix}{entry['month']}.{entry['sha256'][:8]}.parquet"


def withheld(catalogue: Catalogue, feeds: Iterable[str]) -> tuple[str, ...]:
    """Return the sources of the feeds whose rows must not be redistributed. Unknown sources are included."""
    codes = {feed: feed.partition(".")[0] for feed in sorted(feeds)}
    terms = {feed: catalogue.feeds.get(feed) or catalogue.sources.get(code) for feed, code in codes.items()}
    return tuple(dict.fromkeys(codes[feed] for feed, of in terms.items() if of is None or of.withheld))


class MonthBytes(NamedTuple):
    """The bytes of a monthly file at a single point in time."""

    body: bytes
    sha256: str
    feeds: frozenset[str]
    """The ids of the feeds of its rows."""


def read_month_file(storage: Storage, cache: LruCache, metric: str, zone: str, month: str) -> MonthBytes | None:
    """Read a monthly file through the cache; return None if it does not exist. Raises DamagedFile and StorageError."""
    key = layout.series(metric, zone, month)
    identity = storage.stat(key)

    def load() -> tuple[MonthBytes | None, int]:
        body = monthfile.whole(storage, key)
        if body is None:
            return None, 100
        feeds = pq.ParquetFile(io.BytesIO(body)).read(columns=["feed"], use_threads=False).column("feed").unique()
        return MonthBytes(body, hashlib.sha256(body).hexdigest(), frozenset(feeds.to_pylist())), len(body) + 500

    return None if identity is None else cache.get(("month file", key, identity), load)


VIEWS: dict[str, View] = {
    "bulk": _list,
    "bulk-file": _file,
    "bulk-datapackage": partial(_dataset, datasets.data_package),
    "bulk-croissant": partial(_dataset, datasets.croissant),
}
NOT_FOUND_FIRST = {"bulk-file": require_file}
