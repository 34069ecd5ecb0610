"""What passes between an endpoint and the gate: a call, a grant, an answer, a problem. Values only.

A call's life, of a REST endpoint (`api.access.gate.Admission`) as of an MCP tool: `gate.admit(call)` once its path and
parameters are good, so that an error costs nothing. It returns a Problem (401, 402, 429 ...), a WholeAnswer that was
paid for and lost on its way, or a Grant. Then the work that `grant.method` calls for, in memory, and
`grant.settle(answer)`, which counts or charges: the answer goes out with the headers that it returns, or a Problem in
its place. Where the work raises: `grant.settle(NO_ANSWER)`.
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
    """One call, and the credentials that came with it."""

    path: str
    """`/v1/latest/GB`, or `/mcp`: what an offer to pay names."""
    price: str
    """A key of `api.access.prices.PRICES`; empty for what is free."""
    client: str
    """The client's address (`api.access.limits`)."""
    sample: bool = False
    """`sample=true`, or an MCP call without credentials."""
    authorization: str = ""
    """The Authorization header, whole."""
    api_key: str = ""
    """A key by other ways: X-API-Key, or MCP's tool argument `api_key`. Goes before Authorization."""
    other_header: str = ""
    """The name of a header that holds a key and is neither of the two above; empty if there is one of them."""
    signature: str = ""
    """Of a signed address (`api.access.signed_addresses.sign`), where no key is shown."""
    file: bytes = b""
    """The hash by which the file that the call reads is counted: of its bytes, or of series and year of a final file.
    A key's later calls with the same hash on that day, and HEAD, count nothing."""
    head: bool = False
    payment: str = ""
    """PAYMENT-SIGNATURE or X-PAYMENT, still in base64; MCP's `_meta["x402/payment"]` in the same form."""
    fingerprint: str = ""
    """A hash of everything that the answer depends on: a payment buys this answer and no other."""


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A whole answer, before it is sent."""

    status: int
    rows: int
    """Rows, metrics or features to be paid for: 0 also for HEAD, 304 and figures that are overdue."""
    body: bytes = b""
    headers: Headers = ()


NO_ANSWER = WholeAnswer(500, 0)


def refuse_for(
    wait: int, kind: str, detail: str = "", headers: Headers = (), members: Mapping[str, Any] | None = None
) -> Problem:
    """Return a refusal after which another try makes sense, in `wait` seconds."""
    members = {**(members or {}), "retry_after": wait}
    return Problem(kind, detail, members=members, headers=(*headers, ("Retry-After", str(wait))))


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to answer. `settle` is called exactly once, in the same thread."""

    method: AccessMethod
    settle: Callable[[WholeAnswer], Headers | Problem]
    """Counts or charges where the answer is one that counts, and gives back what was reserved where it is not.

    Returns headers to add to the answer, or what goes out in its place.
    """
