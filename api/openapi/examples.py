"""Collect examples for the description from this service's current responses, cut to a few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import orjson

from api.access import keys
from api.access.key_spelling import spell
from api.access.values import Call
from api.documents import bulk, changes, published
from api.documents.catalogue_reader import stored_metric
from api.documents.status import status
from api.endpoints.endpoint import FORECAST
from api.endpoints.table import ENDPOINTS, listing
from api.geo.parameters import MEDIA, PARAMETERS
from api.geo.views import layer_of
from api.http.problems import Problem
from api.series import formats
from api.series import page as pages
from api.series.page import Page
from api.series.query import SeriesRequest
from api.service import Service
from warehouse.errors import CallerError, StorageError
from warehouse.market import clock
from warehouse.market.clock import DAY
from warehouse.market.metrics import BY_PATH
from warehouse.rows.forecasts import Pick
from warehouse.series.change_log import UnknownCursor
from warehouse.store import layout

_FEW = 2
_LISTS = ("zones", "sources", "feeds", "endpoints", "files", "publishers", "scores")
"""The fields of response bodies with long lists or maps."""
_JSON = "application/json"


def collect(service: Service) -> dict[str, Any]:
    """Return examples by operationId and media type (`price text/csv`), or by status (`402`).

    If a file is missing or damaged, its example is left out, because a description does not depend on data.
    """
    builders: dict[str, Callable[[], Any]] = {
        f"{name} {_JSON}": partial(_few, build) for name, build in _documents(service).items()
    }
    for layer in PARAMETERS:
        builders |= {f"geo-{layer}{file} {MEDIA['geojson']}": partial(_layer, service, layer) for file in ("", "-file")}
    for name in BY_PATH:
        builders |= {f"{name} {formats.MEDIA[kind]}": partial(_rows, service, name, kind) for kind in ("json", "csv")}
        if BY_PATH[name] in FORECAST:
            builders[f"{name} {_JSON} forecast"] = partial(_rows, service, name, "json", forecast=True)
    examples = {}
    for name, build in builders.items():
        with suppress(StopIteration, Problem, CallerError, StorageError, UnknownCursor):
            examples[name] = build()
    return {
        **{f"{name} {_JSON}": body for name, body in _keys(service).items()},
        **_parameters(service, examples.get(f"bulk {_JSON}")),
        **examples,
        "402": orjson.loads(service.gate.x402.offer(Call("/v1/latest/GB", "latest", "")).body or b"null"),
    }


def _few(build: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a body in which lists are cut to a few entries."""
    body = build()
    few = {
        name: dict([*part.items()][:_FEW]) if isinstance(part, dict) else part[:_FEW]
        for name, part in body.items()
        if name in _LISTS
    }
    count = {"count": len(next(iter(few.values())))} if few and "count" in body else {}
    return {**body, **few, **count}


def _documents(service: Service) -> dict[str, Callable[[], Any]]:
    """Return a function per operation that returns its example, if its response is a document."""
    documents, base_url = service.documents, service.settings.base_url

    def first(name: str, key: Callable[[str], str]) -> Any:
        return next(filter(None, (documents.get(key(zone)) for zone in ENDPOINTS[name].zones))).json

    return {
        "latest": lambda: published.sample_latest(first("latest", layout.latest)),
        "brief": lambda: published.sample_brief(first("brief", layout.brief)),
        "snapshot": lambda: published.sample_snapshot(documents.require(layout.SNAPSHOT).json),
        "bulk": lambda: bulk.list_files(documents, documents.catalogue, base_url, documents.catalogue.generated, {}),
        "changes": lambda: changes.page(service.storage, None, _FEW, changes.ChangeFilter(), 0),
        "publishers": lambda: published.publishers_of(
            documents.require(layout.PUBLISHERS), dict.fromkeys(("source", "feed", "month"))
        ),
        "healthz": lambda: {"status": "ok"},
        "readyz": lambda: {"status": "ready", "catalogue": service.documents.catalogue.generated},
        "zones": lambda: published.zone_list(service.documents.catalogue),
        "status": lambda: status(documents, service.documents.catalogue, service.documents.catalogue.generated),
        "catalogue": lambda: listing(service.documents.catalogue, base_url),
    }


def _parameters(service: Service, bulk: dict[str, Any] | None) -> dict[str, Any]:
    """Return parameter values by operation, taken from this service's data so that together they return rows."""
    of_operation: dict[str, Any] = {}
    with suppress(StorageError):
        feed = next(iter(service.documents.catalogue.feeds.values()))
        own = {"feed": feed.id, "source": feed.source}
        of_operation |= {"parameters of changes": own, "parameters of publishers": own}
    for file in (bulk or {}).get("files", [])[:1]:
        own = {name: file[name].replace("_", "-") for name in ("metric", "zone", "month")}
        of_operation["parameters of bulk-file"] = own
    return of_operation


def _keys(service: Service) -> dict[str, Any]:
    """Return a sign-up and the usage of its key. The key itself is invalid."""
    now = clock.now() // DAY * DAY  # so that every worker returns the same description
    quota = {"limit": keys.CALLS_PER_DAY, "window": "day", "resets_at": keys.resets_at(now)}
    person = {"email": "someone@example.org", "docs": f"{service.settings.base_url}/docs"}
    return {
        "sign-up": {"api_key": spell(bytes(32)), "email": person["email"], "quota": quota, "docs": person["docs"]},
        "confirm": {"confirmed": True, **person},
        "rotate": {"api_key": spell(bytes(32)), "previous_valid_until": now + DAY},
        "usage": {"quota": {**quota, "used": 0, "remaining": keys.CALLS_PER_DAY}, "created": now},
    }


def _layer(service: Service, layer: str) -> Any:
    """Return a layer with only its first feature."""
    detail = "low" if layer == "zones" else ""
    index = layer_of(service.documents.require(layout.geo(layer, "geojson", detail)))
    return orjson.loads(index.collection(index.select({}, 1), {}))


def _rows(service: Service, name: str, answer_format: str, forecast: bool = False) -> Any:
    """Return the newest rows of the first zone with rows, as JSON or CSV. Raises StopIteration without rows."""
    now, pick, ahead = service.documents.catalogue.generated, Pick() if forecast else None, DAY if forecast else 0

    def pages_of_zones() -> Iterator[Page]:
        for zone in ENDPOINTS[name].zones:
            with suppress(CallerError):
                stored = stored_metric(service.documents.catalogue, zone, BY_PATH[name], forecast=forecast)
                window = (now - 7 * DAY, now + ahead)
                asked = SeriesRequest(BY_PATH[name], (zone,), (stored,), *window, _FEW, "desc", pick=pick)
                yield pages.read_page(service.reader, service.documents.catalogue, asked)

    body = formats.encode(answer_format, next(page for page in pages_of_zones() if len(page.rows)))[0]
    return orjson.loads(body) if answer_format == "json" else body.decode()
