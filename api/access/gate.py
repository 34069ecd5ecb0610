"""Who may pass: tries each door in turn (API.md section 5). No Flask here (`api.http.guard`), no protocol (`api.access.values`).

Sample first, which costs nothing and uses nothing up; then a key with calls left, whose call is already paid for; then a
payment, also beside a key that will not do; else what the key lacks, or the offer to pay.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from api.access import api_key, sample
from api.access.accounts.store import Accounts
from api.access.accounts.tables import AccountsUnavailable
from api.access.rate_limits import RateLimits, limits_path
from api.access.values import Answer, Call, Grant, Refusal
from api.access.x402.resource_server import X402ResourceServer
from api.settings import Settings

_LOG = logging.getLogger("emds.gate")
LIVE_MODES = frozenset({"live", "recorded"})
"""Warehouses whose figures may be sold; any other sells nothing but to a facilitator on loopback."""


class Gate:
    """The doors of one worker; any number of them, on any hosts, share the accounts' database."""

    def __init__(
        self, settings: Settings, accounts: Accounts, mode: str, clock: Callable[[], float] = time.time
    ) -> None:
        """`mode` is the warehouse's. `clock` is the true time, never EMDS_NOW."""
        self.settings = settings
        self.accounts = accounts
        self.limits = RateLimits(limits_path(settings))
        self.x402 = X402ResourceServer(settings, accounts.ledger, mode in LIVE_MODES, clock)
        self._clock = clock

    @classmethod
    def open(cls, settings: Settings, mode: str, clock: Callable[[], float] = time.time) -> Gate:
        """A gate over the settings' database, whose tables it brings to this release."""
        return cls(settings, Accounts.open(settings.database_url), mode, clock)

    @property
    def now(self) -> int:
        """The true time in whole Unix seconds."""
        return int(self._clock())

    def admit(self, call: Call) -> Grant | Answer | Refusal:
        """A pass, or an answer that was paid for before, or a refusal. `call` must be one that can be answered."""
        if call.sample or not call.price:
            settings = self.settings
            return sample.admit(
                call, self.limits, settings.free_calls_per_minute, settings.sample_calls_per_day, self.now
            )
        try:
            return self._admit_paid(call)
        except AccountsUnavailable as fault:
            _LOG.error("the accounts do not answer: %s", fault)
            return api_key.unavailable()

    def _admit_paid(self, call: Call) -> Grant | Answer | Refusal:
        refusal: Refusal | None = None
        key = api_key.shown(call)
        if key is not None:
            entry = api_key.admit(key, self.accounts, self.now)
            if isinstance(entry, Grant):
                return entry
            refusal = entry
        if call.payment and self.x402.open:
            return self.x402.admit(call)
        return self.x402.offer(call) if refusal is None else self.x402.offer_beside(refusal, call)

    def close(self) -> None:
        self.limits.close()
        self.accounts.close()
