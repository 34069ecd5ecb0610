"""`/v1/bulk`, the free manifest of month files, and each month file byte for byte: by hash, whole or by ranges.

Every row's source decides what may leave, by the rights of now.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from api.documents import published
from api.documents.cache import Document, DocumentCache
from api.documents.catalogue import Catalogue
from api.http import responses
from api.http.messages import Request, Response, View
from api.http.problems import Problem
from api.series.formats import ENVELOPE_FIELDS, MEDIA, PLAIN
from api.series.query import SAMPLE_ROWS
from api.service import Service
from warehouse.caches import LruCache
from warehouse.documents.manifest import Place, Summary, summaries_of
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.market import clock
from warehouse.market.metrics import YEARLY, Metric, is_forecast
from warehouse.market.zones import ZONES
from warehouse.series import monthfile
from warehouse.series.reader import MonthFile
from warehouse.store import layout
from warehouse.store.storage import Storage

METRICS: dict[str, Metric] = {metric.value.replace("_", "-"): metric for metric in Metric}
"""As the paths spell them: `price-day-ahead`, `carbon-intensity`."""
_MEMBERS = ("zone", "metric", "month", "rows", "first", "last", "bytes", "sha256", "sources")
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


def _manifest(service: Service, request: Request, query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        document, catalogue = published.document(service.documents, layout.MANIFEST), service.catalogue
        whole = _manifest_of(service, document, catalogue)
        if query["zone"] is None and query["metric"] is None and entry.method != "sample":
            return entry.document(whole, catalogue.simulated)
        return entry.json(selected(whole.json, query["zone"], query["metric"]), catalogue.simulated)


def _manifest_of(service: Service, document: Document, catalogue: Catalogue) -> Document:
    """Computed once a publication of either document, and once a day, since months become final."""
    settings = service.settings
    public = PublicPlace.find(service.documents, settings.public_url)
    key = f"bulk {document.identity} {hash(public)} {clock.now() // clock.DAY}"

    def computed(_: Document) -> Document:
        files = month_files(service.documents, document, service.answers)
        body = orjson.dumps(manifest(document, files, catalogue, settings.base_url, clock.now(), public))
        return Document(key, body, document.identity)

    whole: Document = catalogue.document.derive(key, computed)
    return whole


def _file(service: Service, request: Request, _query: dict[str, Any], metric: str, zone: str, month: str) -> Response:
    whole = require_file(service, metric, zone, month)
    catalogue = service.catalogue
    terms = catalogue.terms(zone, METRICS[metric].value, whole.sources)
    fields = {"license": terms.license, "attribution": terms.attribution}
    with service.enter(request, "bulk-file", "parquet") as entry:
        headers = [
            *responses.caching(entry.method),
            *responses.marks(catalogue.simulated),
            ("Content-Disposition", f'attachment; filename="{zone}_{metric}_{month}.parquet"'),
            *((ENVELOPE_FIELDS[name], quote(text, safe=PLAIN)) for name, text in fields.items()),
            ("Access-Control-Expose-Headers", ", ".join(ENVELOPE_FIELDS[name] for name in fields)),
        ]
        if entry.method == "sample":
            rows = sample(whole.body)
            return entry.settle(responses.file(request, rows, responses.tag_of(rows), MEDIA["parquet"], headers))
        # Only whole answers are charged for: one that is paid for is whole.
        ranges = entry.method != "payment"
        return entry.settle(responses.file(request, whole.body, whole.sha256, MEDIA["parquet"], headers, ranges))


def require_file(service: Service, metric: str, zone: str, month: str) -> MonthBytes:
    """The month file behind a path. Raises MetricNotAvailable, Withheld, and Problem 404."""
    catalogue, stored = service.catalogue, METRICS[metric].value
    entry = catalogue.entry(zone, stored)
    if not entry:
        having = tuple(z for z in ZONES if catalogue.entry(z, stored))
        raise MetricNotAvailable(zone, metric, having)
    feeds = entry.get("feeds", [])
    if feeds and all(feed["withheld"] for feed in feeds):
        raise Withheld(zone, metric, tuple(dict.fromkeys(feed["source"] for feed in feeds)))
    lies_in = stored_month(stored, zone, month) if _MONTH.fullmatch(month) else ""
    file = find(service.storage, stored, zone, lies_in) if lies_in else None
    whole = read(service.storage, service.answers, file) if file else None
    if whole is None:
        raise Problem("not-found", f"There is no month file {metric}/{zone}/{month[:20]}: /v1/bulk lists all.")
    if sources := withheld(catalogue, whole.sources):
        raise Withheld(zone, metric, sources)
    return whole


class MonthBytes(NamedTuple):
    """A month file's bytes, all of one moment."""

    body: bytes
    sha256: str
    sources: frozenset[str]
    """Codes of the sources of its rows."""


def find(storage: Storage, metric: str, zone: str, month: str) -> MonthFile | None:
    """Find a month file; None where there is none."""
    key = layout.series(metric, zone, month)
    identity = storage.stat(key)
    return None if identity is None else MonthFile(month, key, identity)


def read(storage: Storage, cache: LruCache, file: MonthFile) -> MonthBytes | None:
    """Read a month file through the cache; None where it is gone. Raises DamagedFile and StorageError."""

    def load() -> tuple[MonthBytes | None, int]:
        body = monthfile.whole(storage, file.key)
        return (None, 100) if body is None else (_month_bytes(body, file.key), len(body) + 500)

    return cache.get(("month file", file), load)


def _month_bytes(body: bytes, key: str) -> MonthBytes:
    codes = {code for text in _sources(body, key) for code in text.split(", ")}
    return MonthBytes(body, hashlib.sha256(body).hexdigest(), frozenset(codes))


def _sources(body: bytes, key: str) -> set[str]:
    """What the rows of a file say in `source`; its end tells it where there are no rows but the net's."""
    parquet, net = pq.ParquetFile(io.BytesIO(body)), monthfile.layout_of_net(body, key)
    if net is not None and sum(run.length for run in net.runs) == parquet.metadata.num_rows:
        return {label.source for label in net.labels}
    return {*parquet.read(columns=["source"], use_threads=False).column("source").unique().to_pylist()}


def sample(body: bytes) -> bytes:
    """The newest rows of a month file as a Parquet file, marked in its metadata beside licence and attribution."""
    file = pq.ParquetFile(io.BytesIO(body))
    table, footer = file.read(use_threads=False), file.metadata.metadata
    metadata = {name: text for name, text in footer.items() if name in (b"source", b"license", b"attribution")}
    newest = np.sort(np.argsort(table.column("ts").to_numpy(), kind="stable")[-SAMPLE_ROWS:])
    out = io.BytesIO()
    pq.write_table(
        table.take(pa.array(newest)).replace_schema_metadata({**metadata, b"sample": b"true"}), out, compression="zstd"
    )
    return out.getvalue()


def path_of(metric: str, zone: str, month: str) -> str:
    """The path of a month file; `metric` as it is stored."""
    return f"/v1/bulk/{metric.replace('_', '-')}/{zone}/{month}.parquet"


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


def withheld(catalogue: Catalogue, sources: Iterable[str]) -> tuple[str, ...]:
    """Return the sources whose rows may not be passed on; an unknown source may not."""
    return tuple(s for s in sorted(sources) if catalogue.sources.get(s, {"withheld": True})["withheld"])


@dataclass(frozen=True, slots=True)
class PublicPlace:
    """The public address of month files, by hash."""

    url: str
    sha256: frozenset[str]

    @classmethod
    def find(cls, documents: DocumentCache, url: str) -> PublicPlace | None:
        """What was put there last; None where the owner named no address, or nothing was put."""
        record = documents.get(layout.PUBLIC_MONTHS) if url else None
        return None if record is None else cls(url, frozenset(record.json["sha256"]))


def month_files(documents: DocumentCache, document: Document, cache: LruCache) -> list[Mapping[str, Any]]:
    """The entry of every month file of readings that the manifest counts, in the order of metric, zone and month."""
    return [
        entry
        for place, summary in summaries_of(document.json).items()
        if not is_forecast(place[0])
        for entry in cache.get(
            ("manifest", place, summary.mark or document.identity), partial(_months_of, documents, place, summary)
        )
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
            **{name: entry[name] for name in ("rows", "first", "last", "bytes", "sha256", "sources")},
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
    public: PublicPlace | None = None,
) -> dict[str, Any]:
    """{as_of, count, files}: every month file that may be passed on, as of the document's publication."""
    open_to_all = [e for e in months if not withheld(catalogue, e["sources"])]
    files = [_entry(e, catalogue, base_url, now, public) for e in open_to_all]
    return {"as_of": document.json["as_of"], "docs": "/docs/bulk", "count": len(files), "files": files}


def _entry(
    entry: Mapping[str, Any], catalogue: Catalogue, base_url: str, now: int, public: PublicPlace | None
) -> dict[str, Any]:
    terms = catalogue.terms(entry["zone"], entry["metric"], frozenset(entry["sources"]))
    month = month_of(entry["metric"], entry["first"], entry["month"])
    url = base_url + path_of(entry["metric"], entry["zone"], month)
    if public is not None and entry["sha256"] in public.sha256:
        url = f"{public.url}/objects/{entry['sha256']}.parquet"
    return {
        **{name: entry[name] for name in _MEMBERS},
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


VIEWS: dict[str, View] = {"bulk": _manifest, "bulk-file": _file}
NOT_FOUND_FIRST = {"bulk-file": require_file}
