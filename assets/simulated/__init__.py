"""The simulated transport: answers in the publishers' own wire formats, made from a model grid.

Each source has a module of its own with `answer(request, now) -> Answer`; the request's feed names the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply
from assets.simulated.faults import PlantedFault, apply, parse
from warehouse.market import clock
from warehouse.market.feeds import Request


class Simulated:
    """Answers each request as its publisher would at the current instant, with the faults that are switched on."""

    def __init__(self, faults: tuple[PlantedFault, ...] = ()) -> None:
        self._faults = faults

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        """The reply. Raises FeedUnavailable for a simulated time-out."""
        now = clock.now()
        source = request.feed.split(".")[0]
        answer = import_module(f"{__name__}.{source}").answer
        for fault in self._faults:
            if fault.concerns(request, now):
                return apply(fault, request, now, answer)
        reply = answer(request, now)
        return Reply(reply.status, dict(reply.headers), reply.body)


def transport(environ: Mapping[str, str]) -> Simulated:
    """The simulated transport with the faults of EMDS_FAULTS (see `faults`). Raises BadWindow for a bad setting."""
    return Simulated(parse(environ.get("EMDS_FAULTS", "")))
