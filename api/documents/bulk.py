"""`/v1/bulk`, the free list of month files and what describes them, and each file: by hash, whole or by ranges."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from api.access.keys import SIGNED_S, sign
from api.access.values import NO_STORE
from api.documents import datasets
from api.documents.catalogue import Catalogue, Document, sources_of
from api.documents.month_files import METRICS, MonthBytes, list_files, read, stored_month, withheld
from api.http import responses
from api.http.messages import Request, Response, View
from api.http.problems import Problem
from api.http.responses import tag_of
from api.http.times import first_instant
from api.series.formats import ENVELOPE_FIELDS, MEDIA, PLAIN
from api.series.query import SAMPLE_ROWS
from api.service import Service
from warehouse.errors import Withheld
from warehouse.market import clock
from warehouse.market.zones import ZONES
from warehouse.store import layout

_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_KEY_HEADERS = ("HTTP_AUTHORIZATION", "HTTP_X_API_KEY")
_BY_KEY = [("Vary", "Authorization, X-API-Key")]


def _list(service: Service, request: Request, query: dict[str, Any]) -> Response:
    has_key = any(map(request.header, _KEY_HEADERS))
    with service.gate.enter(request) as entry:
        whole, simulated = _whole_list(service), service.documents.catalogue.simulated
        if not has_key and entry.method != "sample" and not any(query[name] for name in ("zone", "metric", "since")):
            return entry.document(whole, simulated).with_headers(_BY_KEY)
        body = selected(whole.json, query)
        if not has_key:
            return entry.json(body, simulated).with_headers(_BY_KEY)
        now, base = service.gate.now, service.settings.base_url
        (digest, usage), until = service.gate.require_key(request), now + SIGNED_S
        files = [
            {**file, "url": f"{file['url']}?signature={sign(path, usage.key, digest, until)}"}
            if (path := file["url"].removeprefix(base)).startswith("/")
            else file
            for file in body["files"]
        ]
        signed = entry.json({**body, "signed_until": until, "files": files}, simulated, caching=[NO_STORE])
        return replace(signed, headers=[pair for pair in signed.headers if pair[0] != "ETag"])  # nobody stores it


def _dataset(
    build: Callable[[Sequence[Mapping[str, Any]], int, Catalogue, str], dict[str, Any]],
    service: Service,
    request: Request,
    _query: dict[str, Any],
) -> Response:
    """Describe all files at once; computed once for each list."""
    with service.gate.enter(request) as entry:
        whole, catalogue, base = _whole_list(service), service.documents.catalogue, service.settings.base_url
        described = whole.render(
            build.__name__, lambda: build(whole.json["files"], whole.json["as_of"], catalogue, base)
        )
        return entry.document(described, catalogue.simulated)


def _whole_list(service: Service) -> Document:
    """Return the list of all files: computed once a publication, and once a day, since months become final."""
    documents, catalogue, settings = service.documents, service.documents.catalogue, service.settings
    public_months = documents.get(layout.PUBLIC_MONTHS) if settings.public_url else None
    public = dict.fromkeys(public_months.json["sha256"], settings.public_url) if public_months else {}
    now, identity = clock.now(), documents.require(layout.MANIFEST).identity
    key = f"bulk {identity} {public_months and public_months.identity} {now // clock.DAY}"
    return catalogue.document.render(key, lambda: list_files(documents, catalogue, settings.base_url, now, public))


def _file(service: Service, request: Request, _query: dict[str, Any], metric: str, zone: str, month: str) -> Response:
    whole = require_file(service, metric, zone, month)
    catalogue = service.documents.catalogue
    fields = catalogue.terms(zone, METRICS[metric].value, sources_of(whole.feeds))
    with service.gate.enter(request, "bulk-file", "parquet", bytes.fromhex(whole.sha256)) as entry:
        headers = [
            *responses.caching(entry.method),
            *responses.marks(catalogue.simulated),
            ("Content-Disposition", f'attachment; filename="{zone}_{metric}_{month}.parquet"'),
            *((ENVELOPE_FIELDS[name], quote(text, safe=PLAIN)) for name, text in fields.items()),
            ("Access-Control-Expose-Headers", ", ".join(ENVELOPE_FIELDS[name] for name in fields)),
        ]
        body, tag = whole.body, whole.sha256
        if entry.method == "sample":
            body = sample(body)
            tag = tag_of(body)
        response = responses.file(request, body, tag, MEDIA["parquet"], headers)
        # Only whole answers are charged for: one that is paid for is whole.
        return entry.settle(response if entry.method == "payment" else responses.ranged(request, response))


def require_file(service: Service, metric: str, zone: str, month: str) -> MonthBytes:
    """The month file behind a path. Raises MetricNotAvailable, Withheld, and Problem 404."""
    catalogue, stored = service.documents.catalogue, METRICS[metric].value
    catalogue.require_carried(zone, stored, metric)
    catalogue.require_rights(zone, stored, metric)
    lies_in = stored_month(stored, zone, month) if _MONTH.fullmatch(month) else ""
    whole = read(service.storage, service.answers, stored, zone, lies_in) if lies_in else None
    if whole is None:
        raise Problem("not-found", f"There is no month file {metric}/{zone}/{month[:20]}: /v1/bulk lists all.")
    if sources := withheld(catalogue, whole.feeds):
        raise Withheld(zone, metric, sources)
    return whole


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


def selected(whole: Mapping[str, Any], query: Mapping[str, Any]) -> dict[str, Any]:
    """The list's files of some zones and metrics, and of bytes that are new since an instant."""
    zones, metrics, since = query["zone"], query["metric"], query["since"]
    stored = {METRICS[metric].value for metric in metrics or METRICS}
    at = first_instant("since", since, zones or ZONES, clock.now()) or 0
    files = [
        file
        for file in whole["files"]
        if (zones is None or file["zone"] in zones) and file["metric"] in stored and file["changed_at"] >= at
    ]
    return {**whole, "count": len(files), "files": files}


VIEWS: dict[str, View] = {
    "bulk": _list,
    "bulk-file": _file,
    "bulk-datapackage": partial(_dataset, datasets.data_package),
    "bulk-croissant": partial(_dataset, datasets.croissant),
}
NOT_FOUND_FIRST = {"bulk-file": require_file}
