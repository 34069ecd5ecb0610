"""Define the values that pass between an endpoint and the gate: a call, a grant, a response, a problem.

REST endpoints (`api.access.gate.Admission`) and MCP tools treat a call alike. After the checks of path and parameters,
so that an error is free, they call `gate.admit(call)`. It returns a Problem (401, 402, 429 ...), a WholeAnswer
that was paid for and lost in transit, or a Grant. Then follow the work for `grant.method`, in memory, and
`grant.settle(answer)`, which counts or charges. It returns headers to add to the response, or a Problem to send
instead. If the work raises, they call `grant.settle(NO_ANSWER)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from api.http.problems import Problem

Headers = tuple[tuple[str, str], ...]
NO_STORE = ("Cache-Control", "no-store")
AccessMethod = Literal["free", "sample", "key", "payment"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and the credentials that came with it."""

    path: str
    """The path that an offer to pay names: `/v1/latest/GB`, or `/mcp`."""
    price: str
    """A key of `api.access.prices.PRICES`; empty for a free path."""
    client: str
    """The client's address (`api.access.limits`)."""
    sample: bool = False
    """Whether it requests a sample: `sample=true`, or an MCP call without credentials."""
    authorization: str = ""
    """The whole Authorization header."""
    api_key: str = ""
    """A key from X-API-Key, or from MCP's tool argument `api_key`. It precedes Authorization."""
    other_header: str = ""
    """The name of another header that contains a key; empty if either of the two above is present."""
    signature: str = ""
    """The signature of a signed URL (`api.access.signed_addresses.sign`), without a key."""
    file: bytes = b""
    """The hash by which a file is counted: of its bytes, or of the series and year of a final file. A key's later calls
    with the same hash on that day, and HEAD, are not counted."""
    head: bool = False
    payment: str = ""
    """PAYMENT-SIGNATURE or X-PAYMENT, still in base64, or MCP's `_meta["x402/payment"]` in the same form."""
    fingerprint: str = ""
    """A hash of everything that the response depends on; a payment buys this response and no other."""


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A whole response before it is sent."""

    status: int
    rows: int
    """The rows, metrics or features to pay for; 0 for HEAD, 304 and stale data."""
    body: bytes = b""
    headers: Headers = ()


NO_ANSWER = WholeAnswer(500, 0)


def refuse_for(
    wait: int, kind: str, detail: str = "", headers: Headers = (), members: Mapping[str, Any] | None = None
) -> Problem:
    """Return a refusal with Retry-After, for which a retry in `wait` seconds makes sense."""
    members = {**(members or {}), "retry_after": wait}
    return Problem(kind, detail, members=members, headers=(*headers, ("Retry-After", str(wait))))


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to respond. `settle` must be called exactly once, in the same thread."""

    method: AccessMethod
    settle: Callable[[WholeAnswer], Headers | Problem]
    """A function that counts or charges for a response that counts, and gives back the reservation for any other. It
    returns headers to add to the response, or a problem to send instead."""
