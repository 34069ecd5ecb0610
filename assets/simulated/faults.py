"""Parse and apply the faults in EMDS_SIMULATED_FAULTS.

An example: `eia:503, aemo.dispatch:late=120@2026-11-21T10:00Z/2026-11-21T12:00Z`.

A fault is `source[.product][#day]:kind[=minutes][@from/to]`. `#day` limits it to requests for that market day, and
`@from/to` to a period. Kinds: `timeout`, `429`, `503`, `truncated` (half the body), `changed` (every column, field or
element renamed), `frozen` (the file is no longer updated), `late` (published that many minutes later).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from assets.fetch.session import Reply
from assets.parsing.body import is_zip, unzipped
from assets.simulated.answer import Answer
from assets.sources import codes, source
from warehouse.errors import BadWindow, FeedUnavailable
from warehouse.market import clock
from warehouse.market.feeds import Request

KINDS = ("timeout", "429", "503", "truncated", "changed", "frozen", "late")
_FORM = re.compile(
    r"(?P<feed>[a-z_]+(\.[a-z_]+)?)(#(?P<day>\d{4}-\d\d-\d\d))?:(?P<kind>[a-z0-9]+)(=(?P<minutes>\d+))?"
    r"(@(?P<start>[^/]+)/(?P<end>.+))?"
)


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """A fault of a source or a feed, from `start` until before `end` (Unix seconds)."""

    feed: str
    kind: str
    minutes: int = 60
    start: int = 0
    end: int = clock.LAST_INSTANT
    day: str = ""

    def concerns(self, request: Request, now: int) -> bool:
        """Return whether the fault affects a request at a time."""
        named = self.feed in (request.feed, request.feed.split(".")[0])
        return named and self.start <= now < self.end and (not self.day or self.day in map(str, request.days))


def parse(text: str) -> tuple[PlantedFault, ...]:
    """Return the faults of a setting. Raises BadWindow for an invalid fault."""
    return tuple(_fault(word.strip()) for word in text.split(",") if word.strip())


def _fault(word: str) -> PlantedFault:
    match = _FORM.fullmatch(word)
    if match is None or match["kind"] not in KINDS:
        raise BadWindow(
            f"EMDS_SIMULATED_FAULTS: {word!r} must be source[.product][#day]:kind[=minutes][@from/to]; "
            f"kinds are {', '.join(KINDS)}"
        )
    if not _is_known(match["feed"]):
        raise BadWindow(f"EMDS_SIMULATED_FAULTS: unknown publisher or feed {match['feed']!r}")
    span = (clock.instant(match["start"]), clock.instant(match["end"])) if match["start"] else (0, clock.LAST_INSTANT)
    return PlantedFault(match["feed"], match["kind"], int(match["minutes"] or 60), *span, match["day"] or "")


def _is_known(name: str) -> bool:
    code, _, product = name.partition(".")
    return code in codes() and (not product or name in (feed.id for feed in source(code).feeds))


def apply(fault: PlantedFault, request: Request, now: int, answer: Callable[[Request, int], Answer]) -> Reply:
    """Return the response under a fault. Raises FeedUnavailable for a time-out."""
    if fault.kind == "timeout":
        raise FeedUnavailable("timed out (simulated)")
    if fault.kind in ("429", "503"):
        return Reply(int(fault.kind), {"retry-after": "30"}, b"")
    when = {"frozen": min(now, fault.start or now - 86400), "late": now - 60 * fault.minutes}.get(fault.kind, now)
    reply = answer(request, when)
    body = {"truncated": _halved, "changed": _renamed}.get(fault.kind, bytes)(reply.body)
    return Reply(reply.status, dict(reply.headers), body)


def _halved(body: bytes) -> bytes:
    return body[: len(body) // 2]


def _renamed(body: bytes) -> bytes:
    """Return the body with every JSON field, XML element or CSV header column renamed, including those inside a zip."""
    if is_zip(body):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in unzipped(body):
                archive.writestr(name, _renamed(content))
        return out.getvalue()
    head = body.lstrip()[:1]
    if head in (b"{", b"["):
        return re.sub(rb'"([A-Za-z_][\w .-]*)"\s*:', rb'"\1_v2":', body)
    if head == b"<":
        return re.sub(rb"<(/?)([A-Za-z_])", rb"<\1v2_\2", body)
    return b"\n".join(_renamed_line(line, i == 0) for i, line in enumerate(body.split(b"\n")))


def _renamed_line(line: bytes, first: bool) -> bytes:
    return re.sub(rb"[A-Za-z_]{2,}", rb"\g<0>_V2", line) if first or line.startswith(b"I,") else line
