"""`/v1/bulk`, the free manifest of month files, and each month file as it lies: by hash, whole or by ranges."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson

from api.access.values import Grant
from api.documents import bulk, published
from api.documents.cache import Document
from api.documents.catalogue import Catalogue
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.guard import stated
from api.http.messages import Request, Response, View
from api.http.problems import Problem
from api.series import month_files
from api.series.formats import ENVELOPE_FIELDS, MEDIA, PLAIN
from api.series.month_files import Whole
from api.service import Service
from warehouse import clock, layout
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.zones import ZONES

_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


def views(service: Service) -> dict[str, View]:
    """The views of this file's paths, by operationId."""

    def manifest(request: Request) -> Response:
        values = parameters.values(ENDPOINTS["bulk"].parameters, request.args)
        return service.guarded(request, "", partial(_manifest, service, request, values))

    def file(request: Request, metric: str, zone: str, month: str) -> Response:
        whole = _found(service, metric, zone, month)
        parameters.values(ENDPOINTS["bulk-file"].parameters, stated(request))
        answer = partial(_file, service, request, metric, zone, month, whole)
        return service.guarded(request, "bulk-file", answer, "parquet")

    return {"bulk": manifest, "bulk-file": file}


def _manifest(service: Service, request: Request, values: dict[str, Any], entry: Grant) -> tuple[Response, int]:
    document, catalogue = published.document(service.documents, layout.BULK), service.catalogue
    made = _whole_manifest(service, document, catalogue)
    mark = {"sample": True} if entry.method == "sample" else {}
    headers = [*responses.caching(entry.method), *responses.marks(catalogue.simulated)]
    if values["zone"] is None and values["metric"] is None and not mark:
        return responses.document(request, made, "application/json", headers), 1
    part = bulk.selected(made.json, values["zone"], values["metric"]) | mark
    return responses.body(request, orjson.dumps(part), "application/json", headers), 1


def _whole_manifest(service: Service, document: Document, catalogue: Catalogue) -> Document:
    """Made once a publication of either document, and once a day, since months become final."""
    settings = service.settings
    public = bulk.PublicPlace.of(service.documents, settings.public_url)
    key = f"bulk {document.identity} {hash(public)} {clock.now() // clock.DAY}"

    def made(_: Document) -> Document:
        body = orjson.dumps(bulk.manifest(document, catalogue, settings.base_url, clock.now(), public))
        return Document(key, body, document.identity)

    whole: Document = catalogue.document.derive(key, made)
    return whole


def _found(service: Service, metric: str, zone: str, month: str) -> Whole:
    """The month file behind a path. Raises MetricNotAvailable, Withheld, and Problem 404."""
    catalogue, stored = service.catalogue, bulk.METRICS[metric].value
    entry = catalogue.entry(zone, stored)
    if not entry:
        having = tuple(z for z in ZONES if catalogue.entry(z, stored))
        raise MetricNotAvailable(zone, metric, having)
    feeds = entry.get("feeds", [])
    if feeds and all(feed["withheld"] for feed in feeds):
        raise Withheld(zone, metric, tuple(dict.fromkeys(feed["source"] for feed in feeds)))
    lies_in = bulk.stored_month(stored, zone, month) if _MONTH.fullmatch(month) else ""
    file = month_files.find(service.storage, stored, zone, lies_in) if lies_in else None
    whole = month_files.read(service.storage, service.answers, file) if file else None
    if whole is None:
        raise Problem("not-found", f"There is no month file {metric}/{zone}/{month[:20]}: /v1/bulk lists all.")
    if kept_in := bulk.withheld(catalogue, whole.sources):
        raise Withheld(zone, metric, kept_in)
    return whole


def _file(
    service: Service, request: Request, metric: str, zone: str, month: str, whole: Whole, entry: Grant
) -> tuple[Response, int]:
    catalogue = service.catalogue
    terms = catalogue.terms(zone, bulk.METRICS[metric].value, whole.sources)
    said = {"license": terms.license, "attribution": terms.attribution}
    headers = [
        *responses.caching(entry.method),
        *responses.marks(catalogue.simulated),
        ("Content-Disposition", f'attachment; filename="{zone}_{metric}_{month}.parquet"'),
        *((ENVELOPE_FIELDS[name], quote(text, safe=PLAIN)) for name, text in said.items()),
        ("Access-Control-Expose-Headers", ", ".join(ENVELOPE_FIELDS[name] for name in said)),
    ]
    if entry.method == "sample":
        part = month_files.sample(whole.body)
        return responses.file(request, part, responses.tag_of(part), MEDIA["parquet"], headers), 1
    # Only whole answers are charged for: one that is paid for is whole.
    ranges = entry.method != "payment"
    return responses.file(request, whole.body, whole.sha256, MEDIA["parquet"], headers, ranges), 1
