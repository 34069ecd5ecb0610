"""What passes between an endpoint and the gate: a call, a grant, an answer, a receipt, a refusal. Values only.

The life of a call, whoever makes it (a REST endpoint or an MCP tool):

    entry = gate.admit(call)            # after paths and parameters were found good: an error costs nothing
    if isinstance(entry, Refusal): ...  # 401, 402, 429 ...: give it out
    if isinstance(entry, Answer): ...   # an answer that was paid for and lost on its way: give it out again
    made = ...                          # else it is a Grant: do the work that `entry.method` calls for, in memory
    receipt = entry.settle(made)        # counts or charges; a Refusal here means that the answer must not go out
    ...                                 # add receipt.headers and send. Where the work raises: entry.release()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call, and the credentials that came with it."""

    path: str
    """`/v1/latest/GB`, or `/mcp`: what an offer to pay names."""
    price: str
    """A key of `api.access.prices.PRICES`; empty for what is free."""
    client: str
    """The client's address (`api.access.client_address`)."""
    sample: bool = False
    """`sample=true`, or an MCP call without credentials."""
    authorization: str = ""
    """The Authorization header, whole."""
    api_key: str = ""
    """A key by other ways: X-API-Key, or MCP's tool argument `api_key`. Goes before Authorization."""
    payment: str = ""
    """PAYMENT-SIGNATURE or X-PAYMENT, still in base64; MCP's `_meta["x402/payment"]` in the same form."""
    fingerprint: str = ""
    """A hash of everything that the answer depends on: a payment buys this answer and no other."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, before it is sent."""

    status: int
    rows: int
    """Rows, metrics or features to be paid for: 0 also for HEAD, 304 and figures that are overdue."""
    body: bytes = b""
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer may go out, with these headers added."""

    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the caller gets instead of an answer: a problem, or for 402 the offer (`body`, JSON)."""

    status: int
    kind: str
    """The last part of the problem's `type`: `invalid-key`, `quota-exceeded`."""
    title: str
    detail: str
    headers: Headers = ()
    members: tuple[tuple[str, str | int | bool], ...] = ()
    """Further members of the problem: `charged`, `retry_after`."""
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to answer. `settle` or `release` is called exactly once, in the same thread."""

    method: Literal["free", "sample", "key", "payment"]
    settle: Callable[[Answer], Receipt | Refusal]
    """Counts or charges where the answer is one that counts, and gives back what was reserved where it is not."""
    release: Callable[[], None]
    """No answer came about: gives back what was reserved."""
