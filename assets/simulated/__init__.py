"""The same wire formats as the publishers, written from a model grid: the transport of a simulated warehouse.

One file a source, each with `answer(request, now) -> Answer`; which one is asked follows from the request's feed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from assets.fetch.credentials import Credentials
from assets.fetch.session import Reply
from assets.simulated.faults import Fault, carried, parse
from warehouse import clock
from warehouse.market import Request


class Simulated:
    """Answers each question as its publisher would at the current instant, but for the faults that are switched on."""

    def __init__(self, faults: tuple[Fault, ...] = ()) -> None:
        self._faults = faults

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        """The reply. Raises FeedUnavailable for a simulated time-out."""
        now = clock.now()
        source = request.feed.split(".")[0]
        answer = import_module(f"{__name__}.{source}").answer
        for fault in self._faults:
            if fault.concerns(request, now):
                return carried(fault, request, now, answer)
        found = answer(request, now)
        return Reply(found.status, dict(found.headers), found.body)


def transport(environ: Mapping[str, str]) -> Simulated:
    """The transport of this environment; EMDS_FAULTS says what goes wrong, where and when. Raises BadWindow."""
    return Simulated(parse(environ.get("EMDS_FAULTS", "")))
