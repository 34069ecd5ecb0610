"""Simulate the publishers: return responses in their own wire formats, generated from a model grid.

Each source has its own module with `simulate_response(request, now) -> Answer`. The request's feed names the module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply
from assets.simulated.answer import Answer
from assets.simulated.faults import PlantedFault, apply, parse
from warehouse.errors import FeedUnavailable
from warehouse.market import clock
from warehouse.market.feeds import Request


class Simulated:
    """A transport that responds to each request as its publisher would at the current time, with the enabled faults."""

    def __init__(self, faults: tuple[PlantedFault, ...] = ()) -> None:
        self._faults = faults

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        """Return the response. Raises FeedUnavailable for a simulated time-out."""
        now = clock.now()
        answer = _twin(request.feed.split(".")[0])
        for fault in self._faults:
            if fault.concerns(request, now):
                return apply(fault, request, now, answer)
        reply = answer(request, now)
        return Reply(reply.status, dict(reply.headers), reply.body)


def _twin(source: str) -> Callable[[Request, int], Answer]:
    """Return the function of a source's module that responds. Raises FeedUnavailable if there is no module."""
    name = f"{__name__}.{source}"
    try:
        answer: Callable[[Request, int], Answer] = import_module(name).simulate_response
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise FeedUnavailable(
            f"{source} has no simulated twin: write assets/simulated/{source}.py, or try the source with "
            "EMDS_FEEDS=live",
            kind="rejected",
        ) from None
    return answer


def transport(environ: Mapping[str, str]) -> Simulated:
    """Return the simulated transport with the faults of EMDS_SIMULATED_FAULTS. Raises BadWindow for a bad setting."""
    return Simulated(parse(environ.get("EMDS_SIMULATED_FAULTS", "")))
