"""Test that paths served before Flask return the same responses, headers and log entries as through Flask."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import orjson
import pytest
from werkzeug.test import Client, TestResponse

from api import application
from api.http import failures, middleware
from api.http.messages import HttpRequest, Response

ID = {"X-Request-Id": "the-same"}
_TIME_LEFT = re.compile(r"\bt=\d+")
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("/v1/price/GB", {}),
    ("/v1/price/GB?sample=true", {}),
    ("/v1/price/GB?%73ample=true&time=local", {}),
    ("/v1/price/GB?limit=3&start=2026-03-29T00:00:00+01:00&order=desc", {"key": ""}),
    ("/v1/price/GB?limit=3&format=parquet", {"key": "", "Range": "bytes=0-3"}),
    ("/v1/price/GB?limit=3&format=parquet", {"key": "", "Range": "bytes=999999-"}),
    ("/v1/price/GB?limit=3", {"key": "", "Accept-Encoding": "gzip"}),
    ("/v1/price/GB?limit=3", {"key": "", "If-None-Match": "*"}),
    ("/v1/price/GB?limit=3", {"key": "", "Accept": "image/png"}),
    ("/v1/price/GB?limit=0&limit=1&wrong=%ff&=&x", {"key": ""}),
    ("/v1/price/GB?limit=", {}),
    ("/v1/price/GB", {"Authorization": "Bearer emds_nobody"}),
    ("/v1/price/US-PJM", {"key": ""}),
    ("/v1/generation/FR", {"key": ""}),
    ("/v1/price?zones=GB,DE-LU&limit=3", {"key": ""}),
    ("/v1/price", {}),
    ("/v1/latest/GB", {"key": ""}),
    ("/v1/brief/GB", {"key": ""}),
    ("/v1/map/snapshot?metric=price&zones=GB", {"key": ""}),
    ("/v1/zones", {"Accept-Encoding": "br"}),
    ("/v1/changes?since=nothing", {}),
    ("/catalog?wrong=1", {}),
    ("/v1/geo/plants.csv?min_mw=1", {}),
    ("/v1/geo/zones.geojson", {}),
    ("/healthz", {}),
    ("/readyz", {}),
    ("/metrics", {}),
]


def answers(app: Any, way: Any, key: dict[str, str]) -> list[tuple[str, list[tuple[str, str]], bytes, dict[str, Any]]]:
    """Return the response and log entry of each request, served in one way."""
    lines: list[bytes] = []
    client = Client(middleware.wrap(way, "http://emds.example", lines.append))
    found = []
    for path, headers in QUESTIONS:
        sent = (
            {name: value for name, value in headers.items() if name != "key"} | ID | (key if "key" in headers else {})
        )
        answer: TestResponse = client.get(path, headers=sent)
        logged = orjson.loads(lines.pop())
        entry = {name: logged[name] for name in ("route", "zone", "status", "method", "id")}
        # The time left in the day follows the real clock.
        listed = sorted((name, _TIME_LEFT.sub("t=", value)) for name, value in answer.headers.to_wsgi_list())
        found.append((answer.status[:3], listed, answer.data, entry))
    return found


def test_flask_would_answer_the_same(market: Any) -> None:
    client = market.client()
    app = client.application
    service = app.extensions["emds"]
    plain = lambda environ, start: type(app).wsgi_app(app, environ, start)  # noqa: E731
    failed = partial(failures.failed, service.settings.base_url)
    ours = application.exact_first(_never, application.routes(service), failed)
    by_flask = answers(app, plain, market.key(client))
    directly = answers(app, ours, market.key(client))
    for (path, headers), one, other in zip(QUESTIONS, by_flask, directly, strict=True):
        assert one == other, (path, headers)
    assert {status for status, *_ in directly} >= {"200", "206", "304", "400", "401", "402", "404", "406", "416"}


def _never(environ: dict[str, Any], _start: Any) -> Any:
    raise AssertionError(f"{environ['PATH_INFO']} went on to Flask")


def test_what_a_view_did_not_foresee_is_a_problem_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fails(request: HttpRequest) -> Response:
        raise ZeroDivisionError(request.path)

    failed = partial(failures.failed, "http://emds.example")
    app = application.exact_first(_never, [application.Route("broken", "/broken", ("GET",), fails)], failed)
    answer = Client(middleware.wrap(app, "http://emds.example", lambda _: None)).get("/broken", headers=ID)
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "application/problem+json")
    assert answer.get_json(force=True)["instance"] == "the-same"
    assert "request the-same failed" in caplog.text
    assert "ZeroDivisionError: /broken" in caplog.text


def test_arguments_of_a_query_are_read_as_a_form_is() -> None:
    """Check queries with and without escapes."""
    for query, pairs in (
        ("a=1&b=&c&&=d&e=f=g", [("a", "1"), ("b", ""), ("c", ""), ("", "d"), ("e", "f=g")]),
        ("a=%31&b=&c&&=d&e=f=g+h", [("a", "1"), ("b", ""), ("c", ""), ("", "d"), ("e", "f=g h")]),
        ("", []),
        ("n=\xc3\xa9&n=%C3%A9&n=%ff", [("n", "é"), ("n", "é"), ("n", "\N{REPLACEMENT CHARACTER}")]),
    ):
        assert list(HttpRequest({"QUERY_STRING": query}).args.items(multi=True)) == pairs
