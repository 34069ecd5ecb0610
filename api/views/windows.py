"""The view of `/v1/windows/{zone}`: when the next hours are cheapest or dearest, from prices already published."""

from __future__ import annotations

from functools import partial

import orjson

from api.access.values import Grant
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.guard import stated
from api.http.messages import Request, Response, View
from api.series import horizon
from api.series.horizon import WindowQuestion
from api.service import Service
from warehouse import clock
from warehouse.market import Metric

_JSON = "application/json"


def views(service: Service) -> dict[str, View]:
    """The view of this file's path, by operationId."""

    def windows(request: Request, zone: str) -> Response:
        values = parameters.values(ENDPOINTS["windows"].parameters, stated(request))
        question = WindowQuestion(zone, Metric(values["metric"]), values["hours"], values["within"], values["kind"])
        horizon.check(service.catalogue, question)
        return service.guarded(request, "windows", partial(_answer, service, request, question))

    return {"windows": windows}


def _answer(service: Service, request: Request, question: WindowQuestion, grant: Grant) -> tuple[Response, int]:
    """Nothing is charged where nothing is known."""
    answer = horizon.answer(service.reader, service.catalogue, question, clock.now(), service.documents)
    body = horizon.sample(answer.body) if grant.method == "sample" else answer.body
    headers = [*responses.caching(grant.method), *responses.marks(service.catalogue.simulated)]
    response = responses.body(request, orjson.dumps(body), _JSON, headers)
    return response, int(answer.available and response.status == 200)
