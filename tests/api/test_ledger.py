"""Test the payments ledger on both databases: claims, stored values, and the order in which doubts are checked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.access.database import Database
from api.access.keys import Keys
from api.access.values import WholeAnswer
from api.access.x402.ledger import NONCE_USED, OWED_S, Ledger, LedgerEntry, PaymentTerms

NOW, LEASE = 1_800_000_000, 90
TERMS = PaymentTerms("eip155:8453", "0xaa", "0x1", 2, "0xcc", "0xbb", 1000, NOW + 120, "/v1/latest/GB", "f", "h")
ANSWER = WholeAnswer(200, 1, b"{}", (("Content-Type", "application/json"),))


@pytest.fixture
def ledger(accounts_url: str) -> Iterator[Ledger]:
    accounts = Keys(Database(accounts_url))
    yield Ledger(accounts.database)
    accounts.database.close()


def claimed(ledger: Ledger, nonce: str = "0x1", now: int = NOW) -> LedgerEntry:
    entry = ledger.claim(replace(TERMS, nonce=nonce), now, LEASE)
    assert entry
    return entry


def settling(ledger: Ledger, nonce: str = "0x1") -> LedgerEntry:
    entry = ledger.settling(claimed(ledger, nonce), NOW, "https://f.example", ANSWER)
    assert entry
    return entry


def test_a_payment_is_claimed_once_and_again_when_it_is_free(ledger: Ledger) -> None:
    first = claimed(ledger)
    assert (first.state, first.attempt, first.terms) == ("claimed", 1, TERMS)
    assert ledger.claim(TERMS, NOW + LEASE - 1, LEASE) is None, "under way"
    second = claimed(ledger, now=NOW + LEASE)
    assert (second.id, second.attempt, second.created) == (first.id, 2, NOW), "left by a dead worker"
    assert ledger.settling(first, NOW + LEASE, "", ANSWER) is None, "the dead worker's end no longer matches"
    assert ledger.released(second, NOW + LEASE)
    third = claimed(ledger, now=NOW + LEASE)
    assert third.attempt == 3
    taken = ledger.settling(third, NOW + LEASE, "", ANSWER)
    assert taken
    assert ledger.claim(TERMS, NOW + 9 * LEASE, LEASE) is None, "money may have moved"


def test_of_many_calls_at_once_one_claims(ledger: Ledger) -> None:
    entries: list[LedgerEntry | None] = []
    threads = [threading.Thread(target=lambda: entries.append(ledger.claim(TERMS, NOW, LEASE))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(entry is not None for entry in entries) == 1


def test_a_settled_answer_is_replayed_within_its_bounds(ledger: Ledger) -> None:
    settled = ledger.settled(settling(ledger), NOW, "0xt", 3, answered=True)
    assert settled
    assert [ledger.replay(settled, NOW + 1, 300, 2) for _ in range(3)] == [ANSWER, ANSWER, None]
    assert ledger.replay(settled, NOW + 301, 300, 9) is None


def test_a_doubt_stores_no_answer_and_a_transfer_pays_once(ledger: Ledger) -> None:
    first, second = (ledger.unknown(settling(ledger, f"0x{n}"), NOW) for n in range(2))
    assert first
    assert second
    settled = ledger.settled(first, NOW, "0xt", 1, answered=False)
    assert settled
    assert (ledger.replay(settled, NOW, 300, 3), settled.owed(NOW + 6)) == (None, True)
    taken = ledger.settled(second, NOW, "0xt", 1, answered=False)
    assert taken
    assert (taken.state, taken.error) == ("failed", NONCE_USED)
    assert not settled.owed(NOW + OWED_S)


def test_doubts_are_looked_at_round_by_round(ledger: Ledger) -> None:
    rows = [entry.id for n in range(5) if (entry := ledger.unknown(settling(ledger, f"0x{n}"), NOW))]
    assert [row.id for row in ledger.undecided(rows[2])] == [*rows[3:], *rows[:3]]
    assert [row.id for row in ledger.undecided(0, 2)] == rows[:2]
