"""`emds keys`: who holds keys and how much they are used; ends one, or gives it another quota."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from api.access.accounts.key_listing import KeyUse, key_uses, set_quota
from api.access.accounts.store import CALLS_PER_DAY, Accounts
from api.settings import Settings
from warehouse.clock import DAY, iso

_HEAD = f"{'id':>6}  {'answers':>8} {'today':>6} {'full days':>9}  {'quota':>6}  {'last used':10}  {'state':11}  email"


def listed(days: int, top: int) -> int:
    """Prints the busiest live keys and those used least, over the last days."""
    accounts, now = _open()
    try:
        uses = key_uses(accounts.database, days, CALLS_PER_DAY, now)
    finally:
        accounts.close()
    live = [use for use in uses if use.revoked is None]
    answers = sum(use.answers for use in uses)
    print(f"{len(live)} live keys of {len(uses)}, {answers} answers in {days} days")
    _print_table("busiest", live[:top])
    _print_table("used least", sorted(live[top:], key=lambda use: (use.answers, use.last_day or 0))[:top])
    return 0


def shown(key: int) -> int:
    """Prints one key; 1 where there is none."""
    accounts, now = _open()
    try:
        use = next((use for use in key_uses(accounts.database, 30, CALLS_PER_DAY, now) if use.id == key), None)
    finally:
        accounts.close()
    if use is None:
        return _none(key)
    _print_table("last 30 days", [use])
    print(f"created {iso(use.created)}" + (f", revoked {iso(use.revoked)}" if use.revoked else ""))
    return 0


def revoked(key: int) -> int:
    """Ends a key at once; 1 where there is none."""
    accounts, now = _open()
    try:
        known = any(use.id == key for use in key_uses(accounts.database, 1, CALLS_PER_DAY, now))
        accounts.revoke(key, now)
    finally:
        accounts.close()
    if not known:
        return _none(key)
    print(f"key {key} is revoked")
    return 0


def quota(key: int, answers: int | None) -> int:
    """Gives a key its own quota of answers a day, or the usual one; 1 where there is no such key."""
    accounts, _ = _open()
    try:
        known = set_quota(accounts.database, key, answers)
    finally:
        accounts.close()
    if not known:
        return _none(key)
    print(f"key {key}: {CALLS_PER_DAY if answers is None else answers} answers a day, from its next call on")
    return 0


def _open() -> tuple[Accounts, int]:
    """The accounts database and the true time: keys and quotas never go by EMDS_NOW."""
    return Accounts.open(Settings.from_environ(os.environ).database_url), int(time.time())


def _print_table(title: str, uses: Sequence[KeyUse]) -> None:
    if not uses:
        return
    print(f"\n{title}\n{_HEAD}")
    for use in uses:
        last = "never" if use.last_day is None else iso(use.last_day * DAY)[:10]
        quota = CALLS_PER_DAY if use.quota is None else use.quota
        numbers = f"{use.id:>6}  {use.answers:>8} {use.today:>6} {use.days_full:>9}  {quota:>6}"
        print(f"{numbers}  {last:10}  {_state(use):11}  {use.email}")


def _state(use: KeyUse) -> str:
    if use.revoked is not None:
        return "revoked"
    return "live" if use.confirmed is not None else "unconfirmed"


def _none(key: int) -> int:
    print(f"there is no key {key}")
    return 1
