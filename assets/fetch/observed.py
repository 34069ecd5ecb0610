"""A transport that also reports every exchange, free of secrets: for `emds probe` and `emds record`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assets.fetch.credentials import TOKEN_SERVICES, Credentials, names_of, scrub
from assets.fetch.session import Reply, Transport
from warehouse.errors import FeedError
from warehouse.market import Request

EXCERPT = 160
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as it was sent once, and what came back. `status` None: no whole answer."""

    request: Request
    status: int | None
    headers: Mapping[str, str]
    body: bytes
    """Every echo of a secret replaced."""
    seconds: float
    scrubbed: bool = False
    """Whether a secret was replaced in the body."""

    @property
    def excerpt(self) -> str:
        """The first words of the body for a person: no markup, no control characters; "" for a binary body."""
        text = self.body[: 20 * EXCERPT].decode("utf-8", "replace")
        if text.count("\ufffd") > len(text) // 20:
            return ""
        words = " ".join(_TAGS.sub(" ", text).split())
        shown = "".join(letter if letter.isprintable() else " " for letter in words)
        return shown if len(shown) <= EXCERPT else shown[:EXCERPT] + "..."


class Observed:
    """Passes requests on to `transport` and each exchange to `tell`; the exchange for ERCOT's token is left out."""

    def __init__(self, transport: Transport, environ: Mapping[str, str], tell: Callable[[Exchange], None]) -> None:
        self._transport, self._environ, self._tell = transport, environ, tell

    def __call__(self, request: Request, credentials: Credentials) -> Reply:
        """The transport's reply. Raises what it raises."""
        begun = time.monotonic()
        try:
            reply = self._transport(request, credentials)
        except FeedError:
            self._tell(Exchange(request, None, {}, b"", time.monotonic() - begun))
            raise
        if request.url not in {service.url for service in TOKEN_SERVICES.values()}:
            body = scrub(reply.body, self._secrets(request, credentials))
            seconds = time.monotonic() - begun
            self._tell(Exchange(request, reply.status, reply.headers, body, seconds, body != reply.body))
        return reply

    def _secrets(self, request: Request, credentials: Credentials) -> list[str]:
        """Secrets as they are set and as they travel: a header's value also without `Bearer` or `Basic`."""
        sent = [part for value in credentials.values for part in (value, value.partition(" ")[2])]
        return [*sent, *(self._environ.get(name, "").strip() for name in names_of(request.secrets))]
