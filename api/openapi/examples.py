"""Examples for the description: answers that this service gives at the moment, cut to a few rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson

from api.access import keys
from api.access.keys import spell
from api.access.usage import CALLS_PER_DAY
from api.access.values import Call
from api.documents import changes, month_files, published
from api.documents.catalogue import Catalogue, stored_metric, zone_list
from api.documents.status import status
from api.endpoints.endpoint import FORECAST
from api.endpoints.table import ENDPOINTS, listing
from api.geo.parameters import MEDIA, PARAMETERS
from api.openapi.document import FEATURES
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

_ROWS = 2
_DAYS = 7
_SAMPLES = {"latest": published.sample_latest, "brief": published.sample_brief}
_NAMES = {"latest": layout.latest, "brief": layout.brief}
_JSON = "application/json"
_FEATURES = '"features":['


def collect(service: Service) -> dict[str, Any]:
    """Return examples by operationId and media type (`price text/csv`), or by status (`402`), where there is data."""
    json_examples = {
        **_where_readable(lambda: _documents(service)),
        **_keys(service),
        "healthz": {"status": "ok"},
        **_where_readable(lambda: _catalogue(service, service.catalogue)),
    }
    return {
        **_where_readable(lambda: _parameters(service, json_examples)),
        **{f"{name} {_JSON}": example for name, example in json_examples.items()},
        **_where_readable(lambda: _layers(service)),
        **_where_readable(lambda: _series(service)),
        "402": orjson.loads(service.gate.x402.offer(Call("/v1/latest/GB", "latest", "")).body or b"null"),
    }


def _where_readable(build: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what `build` gives; nothing where a file is missing or damaged: a description does not depend on data."""
    try:
        return build()
    except (StorageError, UnknownCursor):
        return {}


def _documents(service: Service) -> dict[str, Any]:
    examples: dict[str, Any] = {}
    for name in _NAMES:
        document = next(
            (d for zone in ENDPOINTS[name].zones if (d := service.documents.get(_NAMES[name](zone))) is not None), None
        )
        if document is not None:
            examples[name] = _SAMPLES[name](document.json)
    snapshot = service.documents.get(layout.SNAPSHOT)
    if snapshot is not None:
        whole = published.sample_snapshot(snapshot.json)
        examples["snapshot"] = {**whole, "zones": _few(whole["zones"])}
    listed = service.documents.get(layout.MANIFEST)
    if listed is not None:
        catalogue = service.catalogue
        months = month_files.list_files(service.documents, listed, service.answers, catalogue)
        whole = month_files.manifest(listed, months, catalogue, service.settings.base_url, catalogue.generated)
        examples["bulk"] = {**whole, "count": len(whole["files"][:_ROWS]), "files": whole["files"][:_ROWS]}
    examples["changes"] = changes.page(service.storage, None, _ROWS, changes.Wanted(), 0)
    measured = service.documents.get(layout.PUBLISHERS)
    if measured is not None:
        entries = published.publishers_of(measured, {"source": None, "feed": None, "month": None})
        examples["publishers"] = {**entries, "count": _ROWS, "publishers": entries["publishers"][:_ROWS]}
    return examples


def _catalogue(service: Service, catalogue: Catalogue) -> dict[str, Any]:
    freshness = status(service.documents, catalogue, catalogue.generated)
    whole = listing(catalogue, service.settings.base_url)
    return {
        "zones": {"zones": zone_list(catalogue)["zones"][:_ROWS]},
        "status": {**freshness, "sources": freshness["sources"][:_ROWS]},
        "readyz": {"status": "ready", "catalogue": catalogue.generated},
        "catalogue": {
            **whole,
            **{name: _few(whole[name]) for name in ("zones", "sources", "feeds")},
            "endpoints": whole["endpoints"][:_ROWS],
        },
    }


def _parameters(service: Service, answers: dict[str, Any]) -> dict[str, Any]:
    """Return values of parameters that this service's own data take, by operation: together they name something."""
    feed = next(iter(service.catalogue.feeds.values()))
    of_feed = {"feed": feed["id"], "source": feed["source"]}
    files = answers.get("bulk", {}).get("files", [])
    of_file = {name: files[0][name].replace("_", "-") for name in ("metric", "zone", "month")} if files else {}
    return {
        "parameters of changes": of_feed,
        "parameters of publishers": of_feed,
        "parameters of bulk-file": of_file,
        **{f"parameters of ogc-{name}-item": {"feature": feature} for name, feature in FEATURES.items()},
    }


def _few(members: dict[str, Any]) -> dict[str, Any]:
    return dict(list(members.items())[:_ROWS])


def _keys(service: Service) -> dict[str, Any]:
    """A sign-up and the usage of its key; the key itself is invalid."""
    now = clock.now() // DAY * DAY  # so that the description is the same on every worker
    quota = {"limit": CALLS_PER_DAY, "window": "day", "resets_at": keys.resets_at(now)}
    person = {"email": "someone@example.org", "docs": f"{service.settings.base_url}/docs"}
    return {
        "sign-up": {"api_key": spell(bytes(32)), "email": person["email"], "quota": quota, "docs": person["docs"]},
        "confirm": {"confirmed": True, **person},
        "rotate": {"api_key": spell(bytes(32)), "previous_valid_until": now + DAY},
        "usage": {"quota": {**quota, "used": 0, "remaining": CALLS_PER_DAY}, "created": now},
    }


def _layers(service: Service) -> dict[str, Any]:
    """Each layer's first feature, for both its paths; a layer decoded whole would stay in a worker's memory."""
    examples: dict[str, Any] = {}
    for layer in PARAMETERS:
        low, only = layout.geo(layer, "geojson", "low"), layout.geo(layer, "geojson")
        document = service.documents.get(low) or service.documents.get(only)
        if document is not None:
            text = document.body.decode()
            head, opening, _ = text.partition(_FEATURES)
            first, _ = json.JSONDecoder().raw_decode(text, len(head + opening))
            example = {**orjson.loads(head + opening + "]}"), "features": [first]}
            examples |= {f"geo-{layer}{file} {MEDIA['geojson']}": example for file in ("", "-file")}
    return examples


def _series(service: Service) -> dict[str, Any]:
    """Of each series the newest rows of the first zone that has any."""
    examples: dict[str, Any] = {}
    for name in BY_PATH:
        page = _page(service, name)
        forecast = _page(service, name, forecast=True) if BY_PATH[name] in FORECAST else None
        if forecast is not None:
            examples[f"{name} {_JSON} forecast"] = orjson.loads(formats.encode("json", forecast)[0])
        if page is not None:
            examples[f"{name} {_JSON}"] = orjson.loads(formats.encode("json", page)[0])
            examples[f"{name} {formats.MEDIA['csv']}"] = formats.encode("csv", page)[0].decode()
    return examples


def _page(service: Service, name: str, forecast: bool = False) -> Page | None:
    now, pick, ahead = service.catalogue.generated, Pick() if forecast else None, DAY if forecast else 0
    for zone in ENDPOINTS[name].zones:
        try:
            stored = stored_metric(service.catalogue, zone, BY_PATH[name], forecast=forecast)
            asked = SeriesRequest(
                BY_PATH[name], (zone,), (stored,), now - _DAYS * DAY, now + ahead, _ROWS, "desc", pick=pick
            )
            page = pages.answer(service.reader, service.catalogue, asked)
        except CallerError:
            continue
        if page.count:
            return page
    return None
