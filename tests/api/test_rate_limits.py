"""Limits by client: workers share them, and nobody pushes his own counter out of the table."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.access import limits as rate_limits
from api.access.keys import digest_of, spell
from api.access.limits import RateLimits

NOW, MINUTE, LIMIT = 1_800_000_000, 60, 120


@pytest.fixture
def limits(tmp_path: Path) -> Iterator[RateLimits]:
    opened = RateLimits(tmp_path / "limits")
    yield opened
    opened.close()


def test_workers_share_a_client_s_window(limits: RateLimits, tmp_path: Path) -> None:
    other = RateLimits(tmp_path / "limits")
    taken = [each.take("free", "192.0.2.1", LIMIT, MINUTE, NOW) for each in [limits, other] * 61]
    assert taken[:LIMIT] == [0] * LIMIT
    assert all(taken[LIMIT:])
    assert other.count("free", "192.0.2.1", MINUTE, NOW) == LIMIT
    other.close()


def test_a_table_of_an_earlier_release_is_used_on(tmp_path: Path) -> None:
    (tmp_path / "limits").write_bytes(b"\0" * (1 << 16) * 16)
    limits = RateLimits(tmp_path / "limits")
    assert limits.take("free", "192.0.2.1", 1, MINUTE, NOW) == 0
    assert limits.take("free", "192.0.2.1", 1, MINUTE, NOW)
    limits.close()


def place(client: str) -> int:
    """Where a hash without a secret puts a client's counter, as anybody can compute."""
    digest = hashlib.blake2b(f"free\n{client}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % rate_limits._SLOTS


@pytest.mark.slow
def test_clients_who_share_his_place_do_not_push_a_client_s_counter_out(limits: RateLimits) -> None:
    """By eight other addresses that busier counters make room for, a client would start anew in every minute."""
    mine, taken = "192.0.2.1", 0
    numbered = (f"2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::" for number in itertools.count())
    others = list(itertools.islice((each for each in numbered if place(each) == place(mine)), rate_limits._PROBES))
    for _ in range(4):
        taken += sum(limits.take("free", mine, LIMIT, MINUTE, NOW) == 0 for _ in range(40))
        for client in others:
            for _ in range(60):
                limits.take("free", client, LIMIT, MINUTE, NOW)
    assert taken == LIMIT


def test_made_up_keys_take_no_place_in_the_table(market: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = market.client(key_calls_per_second=20)
    gate = client.application.extensions["emds"].gate
    counted: list[str] = []
    take: Callable[..., int] = gate.limits.take
    monkeypatch.setattr(gate.limits, "take", lambda what, *rest: counted.append(what) or take(what, *rest))
    for number in range(3):
        made_up = spell(number.to_bytes(32, "big"))
        assert client.get("/v1/latest/GB", headers={"X-API-Key": made_up}).status_code == 401
    assert "key" not in counted
    key = market.key(client)["Authorization"].removeprefix("Bearer ")
    assert client.get("/v1/price/GB?limit=1", headers={"X-API-Key": key}).status_code == 200
    assert counted.count("key") == 1
    assert gate.limits.count("key", digest_of(key).hex(), 1, gate.now) <= 1
