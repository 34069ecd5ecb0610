"""Who may pass, and by which method. No Flask here (`api.http.guard`), no protocol (`api.access.values`).

Sample first, which costs nothing and uses nothing up; then a key with calls left, whose call is already paid for; then
a payment, also beside a key that will not do; else what the key lacks, or the offer to pay. Calls that end with a
refusal, and payments, are limited by client address: a wrong guess and a bogus signature are cheap to make.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from api.access import api_key, sample
from api.access.accounts.database import Database
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.store import Accounts
from api.access.client_address import client_unit
from api.access.rate_limits import RateLimits, limits_path
from api.access.values import Answer, Call, Grant, Receipt, Refusal
from api.access.x402.resource_server import X402ResourceServer
from api.settings import Settings
from warehouse.clock import DAY

_LOG = logging.getLogger("emds.gate")
LIVE_MODES = frozenset({"live", "recorded"})
"""Warehouses whose figures may be sold; any other sells nothing but to a facilitator on loopback."""
_UNPAID = "unpaid"
UNKNOWN_PROXY = "unknown-proxy"
"""What calls are counted as, by day, that carry X-Forwarded-For from a peer outside EMDS_TRUSTED_PROXIES."""
_MINUTE = 60


class Gate:
    """Access control of one worker; any number of them, on any hosts, share the accounts database."""

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
        """Open a gate over the settings' database, whose tables it brings to this release.

        Where the database cannot be opened, free paths and samples are served all the same, and it is tried again.
        """
        accounts = Accounts(Database(settings.database_url))
        try:
            accounts.database.open()
        except AccountsUnavailable as fault:
            _LOG.error("keys and payments are out of service: %s", fault)
        return cls(settings, accounts, mode, clock)

    @property
    def now(self) -> int:
        """Return the true time in whole Unix seconds."""
        return int(self._clock())

    def admit(self, call: Call) -> Grant | Answer | Refusal:
        """Return a grant, an answer that was paid for before, or a refusal. `call` must be one that can be answered."""
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
            settings = self.settings
            entry = api_key.admit(key, self.accounts, self.limits, settings.key_calls_per_second, self.now)
            if isinstance(entry, Grant):
                return entry
            refusal = entry
        if limited := self._count_unpaid(call):
            return limited
        if call.payment and self.x402.open:
            return self._counted(self.x402.admit(call), call)
        return self.x402.offer(call) if refusal is None else self.x402.offer_beside(refusal, call)

    def _count_unpaid(self, call: Call) -> Refusal | None:
        """Count a call that shows no good key; 429 above as many a minute as there may be free calls."""
        limit = self.settings.free_calls_per_minute
        spent = self.limits.take(_UNPAID, client_unit(call.client), limit, _MINUTE, self.now)
        return sample.refused("unpaid", limit, _MINUTE, spent.wait) if spent else None

    def _counted(self, entry: Grant | Answer | Refusal, call: Call) -> Grant | Answer | Refusal:
        """Make a payment that is taken give back its own call, and the one that fetched its offer."""
        if not isinstance(entry, Grant):
            return entry
        settle = entry.settle

        def settle_and_give_back(made: Answer) -> Receipt | Refusal:
            outcome = settle(made)
            if isinstance(outcome, Receipt) and any(name.endswith("PAYMENT-RESPONSE") for name, _ in outcome.headers):
                self.limits.give_back(_UNPAID, client_unit(call.client), 2, _MINUTE, self.now)
            return outcome

        return replace(entry, settle=settle_and_give_back)

    def note_unknown_proxy(self) -> None:
        """Count a call that named a client by a proxy which is not trusted, for `emds doctor`."""
        self.limits.take(UNKNOWN_PROXY, "", 1 << 30, DAY, self.now)

    def close(self) -> None:
        """Close files and connections."""
        self.limits.close()
        self.accounts.close()
