"""The tools that compute from rows: the best hours ahead (docs/windows.md) and statistics (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from api.documents.catalogue import SERIES, stored_metric
from api.http.parameters import to_unix
from api.mcp import derived_text
from api.mcp.answers import INSTANTS, ToolAnswer, ToolQuery, with_times
from api.mcp.arguments import BadArguments
from api.series import query as queries
from api.series import statistics, windows
from api.series.query import SeriesRequest
from api.series.windows import WindowQuestion
from api.service import Service
from warehouse import clock
from warehouse.errors import BadWindow
from warehouse.market import Metric


def find_window(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    """The call of `/v1/windows/{zone}`. Nothing is counted as a row where nothing is known ahead."""
    zone = given["zone"]
    question = WindowQuestion(zone, Metric(given["metric"]), given["hours"], given["within"], given["kind"])
    windows.check(service.catalogue, question)

    def work(sampled: bool) -> ToolAnswer:
        answer = windows.answer(service.reader, service.catalogue, question, clock.now())
        body = windows.sample(answer.body) if sampled else answer.body
        words = derived_text.window(body, zone)
        return ToolAnswer(words, orjson.dumps(with_times(dict(body), INSTANTS)), int(answer.available))

    return ToolQuery("windows", f"/v1/windows/{zone}", work, "the best block alone")


def get_statistics(service: Service, given: Mapping[str, Any]) -> ToolQuery:
    """The call of a series path with `stats=true`. Raises BadArguments."""
    zone, name = given["zone"], given["metric"]
    metric = SERIES[name]
    if metric is Metric.CAPACITY:
        raise BadArguments("metric: not capacity, whose rows are yearly")
    if given["market"] is not None and metric is not Metric.PRICE:
        raise BadArguments("market: only for price")
    day_ahead = given["market"] is not None
    stored = stored_metric(service.catalogue, zone, metric, day_ahead)
    query = SeriesRequest(
        metric,
        (zone,),
        (stored,),
        *window(given, zone),
        day_ahead=day_ahead,
        as_of=as_of(given, zone),
    )
    if query.end - query.start > statistics.LONGEST:
        raise BadArguments("start: statistics take at most ten years")

    def work(sampled: bool) -> ToolAnswer:
        of = query._replace(sample=sampled)
        answer = statistics.answer(service.reader, service.catalogue, of, given["above"], given["below"])
        body = {**answer.body, "sample": True} if sampled else answer.body
        words = derived_text.statistics(body)
        return ToolAnswer(words, orjson.dumps(with_times(dict(body), INSTANTS)), answer.rows)

    kept = f"statistics of the newest {queries.SAMPLE_ROWS} rows of the window"
    return ToolQuery(name, f"/v1/{name}/{zone}", work, kept)


def window(given: Mapping[str, Any], zone: str) -> tuple[int, int]:
    """The window that a call's `start` and `end` state, with the defaults of REST. Raises BadArguments."""
    try:
        return queries.window_of(to_unix(given["start"], zone), to_unix(given["end"], zone), clock.now())
    except BadWindow as fault:
        raise BadArguments(f"start: {fault}") from None


def as_of(given: Mapping[str, Any], zone: str) -> int | None:
    """The instant of knowledge that a call asks for, as REST takes it. Raises BadArguments for one to come."""
    try:
        return queries.settled(to_unix(given["as_of"], zone), clock.now())
    except BadWindow as fault:
        raise BadArguments(f"as_of: {fault}") from None
