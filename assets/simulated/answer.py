"""What a simulated publisher sends back: a status, a body, headers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """Header names in lower case, as the live transport hands them on."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
