"""Pause payments to a failing facilitator by circuit breakers, for some payers or for everyone.

A client can make a facilitator fail, so a failure opens the circuit only for its payer. The circuit opens for everyone
if the facilitator cannot be reached, or if payments of two payers meet failures that no client can cause. After a
pause the circuit is half open: one payment per second passes, until the endpoint that failed returns a proper
response. If that endpoint is `settle`, only verified payments count, so that payers without money do not delay others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

PAUSE_S = 10.0
TRIAL_EVERY_S = 1.0
MOST_TRIALS = 60
"""The number of remembered trials: at one per second, more cannot be between `verify` and `settle`."""
EVERYONE = ""
"""Stands for all payers."""


@dataclass(frozen=True, slots=True)
class _Open:
    """The circuit of a facilitator that is open for everyone, and half open once `next_at` has passed."""

    verb: str
    """The endpoint that failed, `verify` or `settle`."""
    half_open_at: float
    """The end of the pause."""
    next_at: float
    """The time at which the next payment may pass."""
    trials: tuple[str, ...] = ()
    """The nonces of the payments that passed last, which may continue to `settle`."""


@dataclass(slots=True)
class Circuits:
    """The circuits of all facilitators, by URL. Times are seconds of `clock`."""

    clock: Callable[[], float]
    _for_payers: dict[tuple[str, str], tuple[float, bool]] = field(default_factory=dict)
    """By URL and payer, the end of the pause, and whether no client can cause the failure."""
    _for_everyone: dict[str, _Open] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, url: str, payer: str, nonce: str, verb: str) -> bool:
        """Return whether a payment may go to a facilitator's endpoint now. A half-open circuit counts its trials."""
        now = self.clock()
        with self._lock:
            if self._for_payers.get((url, payer), (now, False))[0] > now:
                return False
            circuit = self._for_everyone.get(url)
            if circuit is None or nonce in circuit.trials:
                return True
            if circuit.verb == "settle" and verb == "verify":
                return circuit.half_open_at <= now
            if circuit.next_at > now:
                return False
            trials = (*circuit.trials[1 - MOST_TRIALS :], nonce)
            self._for_everyone[url] = replace(circuit, next_at=now + TRIAL_EVERY_S, trials=trials)
            return True

    def open(self, url: str, verb: str, payer: str, own_fault: bool = False) -> None:
        """Open a facilitator's circuit for a payer, or for EVERYONE.

        `own_fault` means that no client can cause this failure. The circuit opens for everyone if a second payer has
        such a failure, or if the trial of a half-open circuit has it.
        """
        now = self.clock()
        with self._lock:
            self._for_payers = {key: each for key, each in self._for_payers.items() if each[0] > now}
            met = any(
                known == url and other != payer and fault for (known, other), (_, fault) in self._for_payers.items()
            )
            if payer == EVERYONE or (own_fault and (met or url in self._for_everyone)):
                self._for_everyone[url] = _Open(verb, now + PAUSE_S, now + PAUSE_S)
            if payer != EVERYONE:
                self._for_payers[url, payer] = now + PAUSE_S, own_fault

    def close(self, url: str, verb: str) -> None:
        """Close a facilitator's circuit for everyone, because the endpoint that failed returned a proper response."""
        with self._lock:
            circuit = self._for_everyone.get(url)
            if circuit is not None and circuit.verb == verb:
                del self._for_everyone[url]
