"""Views as Flask calls them, and their failures as it answers them: the one place where Flask meets plain messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask
from flask.globals import request_ctx

from api.http import problem_responses
from api.http.messages import Request, View


def request_at_hand() -> Request:
    """The request that Flask is answering in this thread."""
    return Request(request_ctx.request.environ)


def for_flask(view: View) -> Callable[..., Any]:
    """A view as Flask calls it: the request is the one at hand."""
    return lambda **named: view(request_at_hand(), **named)


def answer_failures(app: Flask, base_url: str) -> None:
    """Turns whatever an endpoint or Flask raises into problems."""
    failed = partial(problem_responses.failed, base_url)
    app.register_error_handler(Exception, lambda error: failed(error, request_at_hand()))
