"""Access without credentials: free paths, and `sample=true` on any path. Counted by client address."""

from __future__ import annotations

from api.access.client_address import SITE, client_unit
from api.access.rate_limits import RateLimits
from api.access.values import Answer, Call, Grant, Headers, Receipt, Refusal
from warehouse.clock import DAY

MINUTE = 60
_SAMPLE: Headers = (("X-Sample", "true"),)
_COUNTED = {
    "minute": "free and sample calls a minute",
    "sample-day": "samples a day",
    "unpaid": "calls a minute without a good key or a payment that is taken",
}


def admit(call: Call, limits: RateLimits, per_minute: int, per_day: int, now: int) -> Grant | Refusal:
    """A grant for a free or sample call; `per_minute` holds for both together, `per_day` for samples.

    0 is unlimited.
    """
    client = client_unit(call.client)
    if spent := limits.take("calls", client, per_minute, MINUTE, now):
        return refused("minute", per_minute, MINUTE, spent.wait)
    if not call.sample:
        return Grant("free", _settle_free, _release)
    if spent := limits.take("samples", client_unit(call.client, SITE), per_day, DAY, now):
        return refused("sample-day", per_day, DAY, spent.wait)
    return Grant("sample", _settle_sample, _release)


def refused(policy: str, limit: int, window: int, wait: int) -> Refusal:
    """429 of one of the limits by client address; `window` and `wait` in seconds."""
    headers = (
        ("Retry-After", str(wait)),
        ("RateLimit-Policy", f'"{policy}";q={limit};w={window}'),
        ("RateLimit", f'"{policy}";r=0;t={wait}'),
        ("Cache-Control", "no-store"),
    )
    detail = (
        f"At most {limit} {_COUNTED[policy]} from one address; the next is answered in {wait} s. "
        "A free key's calls are counted apart."
    )
    return Refusal(429, "too-many-calls", "Too many calls", detail, headers, (("retry_after", wait),))


def _settle_free(_made: Answer) -> Receipt:
    return Receipt()


def _settle_sample(_made: Answer) -> Receipt:
    return Receipt(_SAMPLE)


def _release() -> None:
    """Nothing was reserved."""
